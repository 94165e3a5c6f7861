"""Every action of the application, with what it guarantees and costs.

`by` is who asks: an owner for changes, a member for reads. Without it the operator asks, who may do all. Requests are
those of a call that succeeds without meeting another writer; units are DynamoDB's, for items of up to 1 KB written and
4 KB read (W: write units, R: read units).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from examples.organisations import copies, invitations, members, services
from examples.organisations.access import check_reader
from examples.organisations.addresses import address, spelling
from examples.organisations.errors import Contended, IdTaken, NoSuchOrganisation, NoSuchUser, NotRegistered
from examples.organisations.groups import OWNERS, Group
from examples.organisations.model import (
    Organisation,
    OrganisationDetails,
    OrganisationMember,
    User,
    UserDetails,
    UserOrganisation,
)
from examples.organisations.views import Person, Profile, Roster, person, profile, roster
from singletable import Database, Entity, TransactionCancelled, attr


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Service:
    """The actions over a database. The clock and the source of organisation ids are arguments."""

    db: Database
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id

    # --- users --------------------------------------------------------------------------------------------------------
    def put_user(self, email: str, *, first_name: str = "", last_name: str = "", phone: str = "") -> User:
        """Register a user, or change their details; `createdAt` stays as it was. Copies change in the same write.

        2 requests: R by the size of the partition, then 1 W, or 2 W + 2 W for each organisation the user is in.
        TooManyCopies beyond 99 of them; nothing is written then.
        """
        given = copies.Given(address(email), first_name, last_name, phone, spelling(email))
        return copies.put_user(self.db, self.now(), given)

    def get_user(self, email: str) -> User:
        """1 request, 1 R. NoSuchUser."""
        user = self.db.get(User.by_email(address(email)).consistent())
        if user is None:
            raise NoSuchUser(email)
        return user

    def user_details(self, email: str) -> Profile:
        """A user, registered or only invited, with organisations and invitations. 1 request: a consistent query; 1 R
        for each 4 KB of the partition. NoSuchUser where there is none of it."""
        key = address(email)
        details = self.db.get(UserDetails.by_email(key).consistent())
        if details is None or (details.user is None and not details.memberships):
            raise NoSuchUser(email)
        return profile(key, details)

    # --- invitations --------------------------------------------------------------------------------------------------
    def invite(
        self, organisation_id: str, email: str, groups: Collection[Group] = (), *, by: str | None = None
    ) -> None:
        """Invite an address, registered or not, and offer it groups. They mean nothing until it accepts. An open
        invitation gets the groups added to those it offers; a member gets them at once; nothing else of either changes.

        2 requests: 2 R (3 with `by`), then 6 W (an open invitation: 4; a member: as add_to_groups), and 2 W for each
        service. NoSuchOrganisation, NotAnOwner, NoSuchService, BeingDeleted.
        """
        invitations.invite(self.db, self.now(), organisation_id, address(email), groups, by)

    def accept(self, organisation_id: str, email: str) -> None:
        """Become a member, with the groups that waited. Both sides and the user's record hold, in one transaction.

        2 requests: 3 R, then 6 W (8 for a future owner). NoOpenInvitation, AlreadyAccepted, NotRegistered.
        """
        invitations.accept(self.db, self.now(), organisation_id, address(email))

    def decline(self, organisation_id: str, email: str) -> None:
        """Both sides of an open invitation go in one transaction. 1 request, 4 W. NoOpenInvitation, AlreadyAccepted."""
        invitations.decline(self.db, organisation_id, address(email))

    # --- organisations ------------------------------------------------------------------------------------------------
    def create_organisation(self, name: str, *, owner: str) -> Organisation:
        """A new organisation under a random id, its creator its owner. One transaction that overwrites nothing.

        2 requests: 1 R, then 8 W. NotRegistered; IdTaken, where the source of ids repeats itself.
        """
        email = address(owner)
        for _ in range(copies.TRIES):
            user = self.db.get(User.by_email(email).consistent())
            if user is None:
                raise NotRegistered(owner)
            if (made := self._create(self.new_id(), name, user)) is not None:
                return made
        raise Contended(f"the user {email!r}")

    def put_organisation(self, organisation_id: str, name: str, *, by: str | None = None) -> Organisation:
        """Change the name, and its copy with each member and everybody invited, in one transaction.

        2 requests: 1 R for each 4 KB of the organisation, then 2 W + 2 W a copy. NoSuchOrganisation, NotAnOwner;
        TooManyCopies beyond 99, and nothing is written.
        """
        return copies.put_organisation(self.db, organisation_id, name, by)

    def rename_organisation(self, organisation_id: str, name: str, *, by: str | None = None) -> Organisation:
        """Change the name, whatever the number of its copies: they follow by the changes, and are old until then.

        1 request, 1 W; each copy takes a read and a write of whoever runs `changes`. NoSuchOrganisation, NotAnOwner.
        """
        return copies.rename(self.db, organisation_id, name, by)

    def get_organisation(self, organisation_id: str, *, by: str | None = None) -> Organisation:
        """1 request: 1 R, 2 with `by`. NoSuchOrganisation, for those outside of it too."""
        keys = [Organisation.by_id(organisation_id)]
        own = [] if by is None else [OrganisationMember.of_organisation(organisation_id, by)]
        found: list[Entity] = self.db.get_many([*keys, *own], consistent=True)
        organisation = next((e for e in found if isinstance(e, Organisation)), None)
        if organisation is None:
            raise NoSuchOrganisation(organisation_id)
        check_reader(organisation_id, [e for e in found if isinstance(e, OrganisationMember)], by)
        return organisation

    def organisation_details(self, organisation_id: str, *, by: str | None = None) -> Roster:
        """Members, groups with users, services with groups with users; those invited are left out.

        1 request for each MB: a consistent query, 1 R for each 4 KB. NoSuchOrganisation, for those outside of it too.
        """
        return roster(self._details(organisation_id, by))

    # --- services -----------------------------------------------------------------------------------------------------
    def put_service(self, organisation_id: str, service_id: str, name: str, *, by: str | None = None) -> None:
        """A new service: 1 request, 4 W. One that is there gets the name: 2 requests, 8 W. NoSuchOrganisation,
        NotAnOwner, BeingDeleted."""
        services.put_service(self.db, organisation_id, service_id, name, by)

    def delete_service(self, organisation_id: str, service_id: str, *, by: str | None = None) -> None:
        """Nobody sees the service or its groups from the first write on; where the rest is broken off, a second call
        finishes it. 3 requests: 4 W, R for all members, 1 W; and where it has groups one more for every 99 people in
        them, invited ones too: 2 W + 2 W each. NoSuchOrganisation, NotAnOwner, NoSuchService.
        """
        services.delete_service(self.db, self.now(), organisation_id, service_id, by)

    # --- members ------------------------------------------------------------------------------------------------------
    def add_to_groups(
        self, organisation_id: str, email: str, groups: Collection[Group], *, by: str | None = None
    ) -> None:
        """Nothing is read first. 1 request: 1 W; a transaction, at 2 W, and 2 W each for the owner who asks (or the
        group `owner`) and every service. NoSuchMember for somebody who has not accepted; NoSuchOrganisation,
        NotAnOwner, NoSuchService, BeingDeleted."""
        members.add_to_groups(self.db, organisation_id, address(email), groups, by)

    def remove_from_groups(
        self, organisation_id: str, email: str, groups: Collection[Group], *, by: str | None = None
    ) -> None:
        """As add_to_groups, without a look at services: 1 request, 1 W or 4 W. LastOwner, NoSuchMember."""
        members.remove_from_groups(self.db, organisation_id, address(email), groups, by)

    def remove_user(self, organisation_id: str, email: str, *, by: str | None = None) -> None:
        """Both sides of a membership, or of an invitation, in one transaction: 1 request, 6 W. Nothing is read first.
        NoSuchOrganisation, NotAnOwner, NoSuchMember, LastOwner."""
        members.remove_user(self.db, organisation_id, address(email), by)

    # --- copies on read -----------------------------------------------------------------------------------------------
    def refresh_user(self, email: str) -> Profile:
        """user_details, with the organisations' names read from their source and written back where they differ, under
        the copy's old value. 2 round trips: the query and 1 R an organisation; then 1 W for each that differs."""
        found = self.user_details(email)
        fresh = copies.refresh_names(self.db, [*found.organisations, *found.invitations])
        joined = len(found.organisations)
        return replace(found, organisations=tuple(fresh[:joined]), invitations=tuple(fresh[joined:]))

    def refresh_organisation(self, organisation_id: str, *, by: str | None = None) -> Roster:
        """organisation_details, with every member's details read from the user and written back where they differ.
        2 round trips: the query, and 1 R a member, 100 a request; then 1 W for each that differs."""
        details = self._details(organisation_id, by)
        accepted = [m for m in details.members if m.accepted_at is not None]
        return roster(replace(details, members=copies.refresh_members(self.db, accepted)))

    def message(
        self, organisation_id: str, group: Group, send: Callable[[Person], None], *, by: str | None = None
    ) -> int:
        """Send a message to everybody in a group, at their details of this moment; gives how many there were.

        `send` is called after the copies are refreshed, as refresh_organisation does it for these members alone.
        """
        details = self._details(organisation_id, by)
        found = [m for m in details.members if m.accepted_at is not None and group.text in m.groups]
        for member in copies.refresh_members(self.db, found):
            send(person(member))
        return len(found)

    def _details(self, organisation_id: str, by: str | None) -> OrganisationDetails:
        details = self.db.get(OrganisationDetails.by_id(organisation_id).consistent())
        if details is None:
            raise NoSuchOrganisation(organisation_id)
        check_reader(organisation_id, details.members, by)
        return details

    def _create(self, organisation_id: str, name: str, user: User) -> Organisation | None:
        """The organisation, or None where the user's details changed since they were read."""
        now, email = self.now(), user.email
        made = Organisation(organisation_id=organisation_id, organisation_name=name, owners={email}, copies=1)
        try:
            with self.db.transaction() as tx:
                tx.create(made)
                tx.create(
                    UserOrganisation(
                        email=email,
                        organisation_id=organisation_id,
                        organisation_name=name,
                        invited_at=now,
                        accepted_at=now,
                    )
                )
                tx.create(copies.member_of(organisation_id, user, {OWNERS.text}, now))
                tx.update(User.by_email(email), attr(User.copies).add(1), where=copies.details_are(user))
        except TransactionCancelled as cancelled:
            if any(failure.verb == "create" for failure in cancelled.failures):
                raise IdTaken(organisation_id) from cancelled
            return None
        return made
