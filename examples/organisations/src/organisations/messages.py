"""Messages to groups, as mails: a task for each member, which commits with the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from organisations.access import allowed, errors_by_class, is_member, raise_for_organisation
from organisations.base import Actions
from organisations.copies import refresh_members
from organisations.errors import Invalid
from organisations.groups import Group
from organisations.jobs import LATER
from organisations.model import GroupMember, Job, JobKind, Organisation, OrganisationMember, tasks
from organisations.roles import Capability
from organisations.views import Person, person
from singletable import TransactionCancelled

MAX_CHARACTERS = 20_000


@dataclass(frozen=True)
class Messages(Actions):
    def send_message(self, organisation_id: str, group: Group, text: str, *, by: str | None = None) -> Job:
        """Send everybody in a group a mail, by tasks; the job says how many have left. Its first line is the subject.

        1 request: 7 W; then 3 W for each member to list them, and 4 requests to send to each. NoSuchOrganisation,
        NotAllowed.
        """
        if not text.strip() or len(text) > MAX_CHARACTERS:
            raise Invalid(f"a message has 1 to {MAX_CHARACTERS} characters", "text")
        job = Job(
            job_id=self.new_id(),
            organisation_id=organisation_id,
            kind=JobKind.MESSAGE,
            started_at=self.now(),
            started_by=by,
            text=text,
            group=group.text,
        )
        try:
            with self.db.transaction() as tx:
                tx.check(Organisation.by_id(organisation_id), where=allowed(by, Capability.SEND_MESSAGES))
                tx.create(job)
                tx.add(tasks.after(timedelta(0), LATER.message(job.job_id)))
        except TransactionCancelled as cancelled:
            if (error := errors_by_class(cancelled).get(Organisation)) is not None:
                raise_for_organisation(self.db, organisation_id, by, Capability.SEND_MESSAGES, error)
            raise
        return job

    def recipients(self, organisation_id: str, group: Group, show: Callable[[Person], None]) -> int:
        """Show everybody in a group, at their details of this moment; returns their number. 1 R for each 4 KB of the
        group's records, then 2 R a member."""
        people = self.db.all(GroupMember.of_scope(organisation_id, group.scope, group.key).consistent())
        keys = [OrganisationMember.of_organisation(organisation_id, found.email) for found in people]
        members = [m for m in self.db.get_many(keys, consistent=True) if is_member(m)]
        for member in sorted(refresh_members(self.db, members), key=lambda found: found.shown_as or found.email):
            show(person(member))
        return len(members)
