"""What is done later, by tasks: each commits with the write that it follows from, and runs in a worker.

`LATER` has no worker's means: its attributes schedule calls. A worker makes a `Later` of its own, with a database and a
way for mails to leave; from then on the tasks of its process run there.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from organisations.copies import refresh_names
from organisations.deletion import finish_deletion
from organisations.groups import parse
from organisations.mail import Post, send_invitation, send_message
from organisations.model import (
    GroupMember,
    Job,
    Organisation,
    OrganisationMember,
    User,
    UserOrganisation,
    tasks,
)
from singletable import Database, Page, TransactionCancelled, after, attr
from singletable.tasks import Backoff

MAIL_TRIES = 20
"""Over some hours; then the mail is a dead letter."""
MAIL_BACKOFF = Backoff(first_seconds=2.0, longest_seconds=1800.0)
WORK_TRIES = 1000
"""Work on an organisation's records is not given up within days."""
RENAMED_AT_ONCE = 100
MAILED_AT_ONCE = 25


class Later:
    """The tasks of the application."""

    def __init__(
        self, db: Database | None = None, post: Post | None = None, now: Callable[[], datetime] | None = None
    ) -> None:
        self._db, self._post, self._now = db, post, now
        mail: dict[str, Any] = {"tries": MAIL_TRIES, "backoff": MAIL_BACKOFF}
        whose = {"email": User.email, "organisation_id": Organisation.organisation_id}
        self.invitation_mail = tasks.task(name="invitation-mail", **mail, belongs_to=whose)(self._invitation_mail)
        whose = {"email": User.email, "job_id": Job.job_id}
        self.message_mail = tasks.task(name="message-mail", **mail, belongs_to=whose)(self._message_mail)
        work = Backoff(longest_seconds=60.0)
        of_job: dict[str, Any] = {"tries": WORK_TRIES, "backoff": work, "belongs_to": {"job_id": Job.job_id}}
        self.message = tasks.task(name="message", **of_job)(self._message)
        self.rename = tasks.task(name="rename", **of_job)(self._rename)
        self.delete = tasks.task(name="delete", **of_job)(self._delete)

    def _invitation_mail(self, organisation_id: str, email: str, invited_at: datetime) -> None:
        send_invitation(self.db, self.post, self.time(), organisation_id, email, invited_at)

    def _message_mail(self, job_id: str, email: str) -> None:
        if (job := self._open(job_id)) is not None:
            send_message(self.db, self.post, job, email)

    def _message(self, job_id: str) -> None:
        """A task for each member of the group; a page of them commits together with the place where it ends."""
        while (job := self._open(job_id)) is not None and job.total is None:
            group = parse(job.group)
            past = {"email": after(job.position)} if job.position else {}
            query = GroupMember.of_scope(job.organisation_id, group.scope, group.key, **past)
            page = self.db.page(query.consistent(), limit=MAILED_AT_ONCE)
            listed = job.listed + len(page)
            updates = [attr(Job.listed).set(listed), attr(Job.position).set(_position(job, page))]
            updates += [attr(Job.total).set(listed)] if page.position is None else []
            as_read = (attr(Job.position) == job.position) & (attr(Job.listed) == job.listed)
            try:
                with self.db.transaction() as tx:
                    tx.update(Job.by_id(job_id), *updates, where=as_read)
                    for person in page:
                        tx.add(tasks.after(timedelta(0), self.message_mail(job_id, person.email)))
            except TransactionCancelled:
                continue  # another worker had this page: go on after it

    def _rename(self, job_id: str) -> None:
        """A page of the copies of an organisation's name after the other. The sides are read before the name: whatever
        is written is at least as new as what it replaces."""
        while (job := self._open(job_id)) is not None:
            past = {"email": after(job.position)} if job.position else {}
            query = OrganisationMember.of_organisation(job.organisation_id, **past)
            page = self.db.page(query.consistent(), limit=RENAMED_AT_ONCE)
            sides = [UserOrganisation.of_user(member.email, job.organisation_id) for member in page]
            refresh_names(self.db, self.db.get_many(sides, consistent=True))
            updates = [attr(Job.done).set(job.done + len(page)), attr(Job.position).set(_position(job, page))]
            updates += [attr(Job.ended_at).set(self.time())] if page.position is None else []
            self.db.update(Job.by_id(job_id), *updates)

    def _delete(self, job_id: str) -> None:
        finish_deletion(self.db, self.time(), job_id)

    def _open(self, job_id: str) -> Job | None:
        job = self.db.get(Job.by_id(job_id).consistent())
        return None if job is None or job.is_done else job

    # --- a worker's means ---------------------------------------------------------------------------------------------
    @property
    def db(self) -> Database:
        return _given(self._db)

    @property
    def post(self) -> Post:
        return _given(self._post)

    @property
    def time(self) -> Callable[[], datetime]:
        return _given(self._now)


T = TypeVar("T")


def _position(job: Job, page: Page[Any]) -> str:
    """Where a job goes on after a page; none after the last one."""
    if page.position is None:
        return ""
    return page.items[-1].email if page.items else job.position


def _given(means: T | None) -> T:
    if means is None:
        raise RuntimeError("this process schedules tasks: only a worker runs them")
    return means


LATER = Later()
