"""Organisations: created, renamed with every copy of their name, read whole, deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from organisations.access import allowed, check_caller, check_there, is_member, raise_for_organisation
from organisations.addresses import address
from organisations.base import TRIES, Actions, read_parties
from organisations.copies import MAX_COPIES, details_are, member_of, refresh_members
from organisations.errors import Contended, IdTaken, NoSuchJob, NoSuchOrganisation, NotRegistered
from organisations.groups import OWNERS
from organisations.jobs import LATER
from organisations.members import group_member
from organisations.model import (
    Job,
    JobKind,
    Organisation,
    OrganisationDetails,
    OrganisationMember,
    TrailEntry,
    User,
    UserOrganisation,
    tasks,
)
from organisations.roles import Capability
from organisations.views import Roster, roster
from singletable import ConditionFailed, NotFound, Page, TransactionCancelled, attr


@dataclass(frozen=True)
class Renamed:
    """An organisation with its new name; with a job, where a task brings the name to its copies."""

    organisation: Organisation
    job: Job | None = None


@dataclass(frozen=True)
class Organisations(Actions):
    def create_organisation(self, name: str, *, owner: str) -> Organisation:
        """A new organisation under a random id, its creator its owner. One transaction that overwrites nothing.

        2 requests: 1 R, then 11 W. NotRegistered; IdTaken, where the source of ids repeats itself.
        """
        email = address(owner)
        for _ in range(TRIES):
            user = self.db.get(User.by_email(email).consistent())
            if user is None:
                raise NotRegistered(owner)
            if (made := self._create(self.new_id(), name, user)) is not None:
                return made
        raise Contended(f"the user {email!r}")

    def get_organisation(self, organisation_id: str, *, by: str | None = None) -> Organisation:
        """1 request: 1 R, 2 with `by`. NoSuchOrganisation, for those outside of it too."""
        return read_parties(self.db, organisation_id, [], by, Capability.READ).organisation

    def organisation_details(self, organisation_id: str, *, by: str | None = None) -> Roster:
        """Members, groups with users, services with groups with users; those invited are left out.

        1 request for each MB: a consistent query, 1 R for each 4 KB. NoSuchOrganisation, for those outside of it too.
        """
        return roster(self._details(organisation_id, by, Capability.READ))

    def refresh_organisation(self, organisation_id: str, *, by: str | None = None) -> Roster:
        """organisation_details, with every member's details read from the user and written back where they differ.
        2 round trips: the query, and 1 R a member, 100 a request; then 2 W for each that differs."""
        details = self._details(organisation_id, by, Capability.READ)
        accepted = [m for m in details.members if is_member(m)]
        return roster(replace(details, members=refresh_members(self.db, accepted)))

    # --- the name -----------------------------------------------------------------------------------------------------
    def put_organisation(
        self,
        organisation_id: str,
        name: str,
        *,
        by: str | None = None,
        check: Callable[[Organisation], object] | None = None,
    ) -> Renamed:
        """Change the name, and its copy with each member and everybody invited: in one transaction where there are up
        to 99, otherwise by a task, whose job says how far it is. Until then `refresh` reads names as they are. `check`
        sees the organisation as it is stored, and raises where it is not to be changed.

        2 requests: 1 R for each 4 KB of the organisation; then 2 W + 2 W a copy, or 7 W, and for each copy 3 R and 1 W
        of the task. An open invitation takes 1 W more. NoSuchOrganisation, NotAllowed.
        """
        for _ in range(TRIES):
            details = self._details(organisation_id, by, Capability.RENAME)
            if check is not None:
                check(details.organisation)
            try:
                return self._rename(details, name, by)
            except TransactionCancelled:
                continue
        raise Contended(f"the organisation {organisation_id!r}")

    def rename_organisation(self, organisation_id: str, name: str, *, by: str | None = None) -> Organisation:
        """Change the name alone: its copies follow by the table's stream, and are old until then.

        1 request, 1 W; each copy takes a read and a write of whoever runs `changes`. NoSuchOrganisation, NotAllowed.
        """
        updates = attr(Organisation.organisation_name).set(name), attr(Organisation.changed_by).set(by)
        may = allowed(by, Capability.RENAME)
        try:
            return self.db.update(Organisation.by_id(organisation_id), *updates, where=may)
        except (NotFound, ConditionFailed) as error:
            raise_for_organisation(self.db, organisation_id, by, Capability.RENAME, error)
            raise

    # --- the end ------------------------------------------------------------------------------------------------------
    def delete_organisation(self, organisation_id: str, *, by: str | None = None) -> Job:
        """Hide the organisation, for everybody and at once, and delete it by a task; the job says how far that is.

        1 request: 7 W. The operator may ask again, which begins the rest once more. NoSuchOrganisation, NotAllowed.
        """
        job = self._job(organisation_id, JobKind.DELETE, by)
        mark = attr(Organisation.deleted_at).set(job.started_at), attr(Organisation.changed_by).set(by)
        where = None if by is None else allowed(by, Capability.DELETE)
        try:
            with self.db.transaction() as tx:
                tx.update(Organisation.by_id(organisation_id), *mark, where=where)
                tx.create(job)
                tx.add(tasks.after(timedelta(0), LATER.delete(job.job_id)))
        except TransactionCancelled as cancelled:
            error = cancelled.failures[0].error
            raise_for_organisation(self.db, organisation_id, by, Capability.DELETE, error)
            raise NoSuchOrganisation(organisation_id) from cancelled
        return job

    def job(self, job_id: str, *, by: str | None = None) -> Job:
        """How far a job is. 1 request, 1 R, for whoever started it; for members of its organisation 2 requests, 3 R.
        NoSuchJob, for all others too."""
        job = self.db.get(Job.by_id(job_id).consistent())
        if job is None:
            raise NoSuchJob(job_id)
        if by is not None and job.started_by != by:
            try:
                read_parties(self.db, job.organisation_id, [], by, Capability.READ)
            except NoSuchOrganisation as error:
                raise NoSuchJob(job_id) from error
        return job

    def trail(
        self, organisation_id: str, *, limit: int = 50, after: str | None = None, by: str | None = None
    ) -> Page[TrailEntry]:
        """A page of what happened, newest first, as the stream's worker wrote it. 2 requests with `by`: 2 R and 1 R for
        each 4 KB. What happened before a deletion stays, for the operator. NoSuchOrganisation, NotAllowed."""
        if by is not None:
            read_parties(self.db, organisation_id, [], by, Capability.SEE_TRAIL)
        query = TrailEntry.of_organisation(organisation_id).newest_first()
        return self.db.page(query.consistent(), limit=limit, after=after)

    # --- reads and writes ---------------------------------------------------------------------------------------------
    def _details(self, organisation_id: str, by: str | None, capability: Capability) -> OrganisationDetails:
        details = self.db.get(OrganisationDetails.by_id(organisation_id).consistent())
        if details is None:
            raise NoSuchOrganisation(organisation_id)
        check_caller(check_there(details.organisation, organisation_id), details.members, by, capability)
        return details

    def _job(self, organisation_id: str, kind: JobKind, by: str | None) -> Job:
        return Job(
            job_id=self.new_id(), organisation_id=organisation_id, kind=kind, started_at=self.now(), started_by=by
        )

    def _rename(self, details: OrganisationDetails, name: str, by: str | None) -> Renamed:
        organisation, copies = details.organisation, len(details.members)
        id = organisation.organisation_id
        same_name = attr(Organisation.organisation_name) == organisation.organisation_name
        unchanged = (attr(Organisation.copies) == organisation.copies) & same_name
        updates = attr(Organisation.organisation_name).set(name), attr(Organisation.changed_by).set(by)
        job = replace(self._job(id, JobKind.RENAME, by), total=copies) if copies > MAX_COPIES else None
        with self.db.transaction() as tx:
            tx.update(Organisation.by_id(id), *updates, where=unchanged & allowed(by, Capability.RENAME))
            if job is not None:
                tx.create(job)
                tx.add(tasks.after(timedelta(0), LATER.rename(job.job_id)))
            for member in details.members if job is None else ():
                key = UserOrganisation.of_user(member.email, id)
                tx.update(key, attr(UserOrganisation.organisation_name).set(name))
        return Renamed(replace(organisation, organisation_name=name), job)

    def _create(self, organisation_id: str, name: str, user: User) -> Organisation | None:
        """The organisation, or None where the user's details changed since they were read."""
        now: datetime = self.now()
        email = user.email
        made = Organisation(
            organisation_id=organisation_id, organisation_name=name, owners={email}, copies=1, changed_by=email
        )
        side = UserOrganisation(
            email=email,
            organisation_id=organisation_id,
            organisation_name=name,
            invited_at=now,
            invited_by=email,
            accepted_at=now,
        )
        member: OrganisationMember = replace(member_of(organisation_id, user, {OWNERS.text}, now), changed_by=email)
        try:
            with self.db.transaction() as tx:
                tx.create(made)
                tx.create(side)
                tx.create(member)
                tx.create(group_member(organisation_id, email, OWNERS, email, now))
                tx.update(User.by_email(email), attr(User.copies).add(1), where=details_are(user))
        except TransactionCancelled as cancelled:
            if any(failure.verb == "create" for failure in cancelled.failures):
                raise IdTaken(organisation_id) from cancelled
            return None
        return made
