"""Invitations: made, accepted, declined, each in one transaction on both sides.

An invitation is a pair of records without `acceptedAt`. The groups it offers lie in `waiting` on the organisation's
side, so that whoever deletes a service finds them there; `groups` is absent until the transaction that accepts. Its
mail is a task of the transaction that invites: it is sent once there is an invitation, and only then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from organisations.access import allowed, errors_by_class, is_member
from organisations.addresses import address
from organisations.base import TRIES, first_of, read_parties
from organisations.copies import copied, details_are
from organisations.errors import (
    AlreadyAccepted,
    Contended,
    Invalid,
    NoOpenInvitation,
    NotRegistered,
)
from organisations.groups import ADMINS, OWNERS, Group, parse, services_of, texts_of
from organisations.jobs import LATER
from organisations.members import Member, Members, check_services, give, raise_for_service
from organisations.model import (
    INVITATION_OPEN,
    MEMBER_INVITED,
    ORGANISATION_KEPT,
    Departure,
    Organisation,
    OrganisationMember,
    OrganisationService,
    User,
    UserOrganisation,
    tasks,
)
from organisations.roles import Capability
from singletable import Entity, Page, TransactionCancelled, attr

MAX_OFFERED = 45
"""Groups of one invitation: accepting writes a record for each, and may meet a service for each."""


@dataclass(frozen=True)
class OpenInvitation:
    """As the organisation sees it."""

    side: UserOrganisation
    groups: Sequence[Group]


@dataclass(frozen=True)
class Invitations(Members):
    def invite(
        self, organisation_id: str, email: str, groups: Collection[Group] = (), *, by: str | None = None
    ) -> bool:
        """Invite an address, registered or not, and offer it groups. They mean nothing until it accepts. An open
        invitation gets the groups added to those it offers; a member gets them at once; nothing else of either changes.
        False for a member, who has no open invitation.

        2 requests: 2 R (3 with `by`), then 10 W with the task that sends the mail (an open invitation: 4; a member: as
        add_to_groups), and 2 W for each service. NoSuchOrganisation, NotAllowed, NoSuchService, BeingDeleted; Invalid
        for more than 45 groups.
        """
        key = address(email)
        for _ in range(TRIES):
            found = read_parties(self.db, organisation_id, [key], by, Capability.INVITE)
            member = found.members.get(key)
            if is_member(member):
                if groups:
                    self.add_to_groups(organisation_id, key, groups, by=by)
                return False
            offered = texts_of(groups) | (member.waiting if member is not None else set[str]())
            if len(offered) > MAX_OFFERED:
                raise Invalid(f"an invitation offers at most {MAX_OFFERED} groups")
            try:
                if member is None:
                    self._invite_anew(found.organisation, key, groups, by)
                elif not offered <= member.waiting:
                    self._offer_more(member, groups, by)
            except TransactionCancelled as cancelled:
                if OrganisationService in errors_by_class(cancelled):
                    raise_for_service(organisation_id, cancelled)
            else:
                return True
        raise Contended(f"the invitation of {key!r}")

    def accept(self, organisation_id: str, email: str) -> None:
        """Become a member, with the groups that waited. Both sides, the user's record and the organisation hold, in one
        transaction.

        2 requests: 3 R, then 10 W, and 2 W for each group. NoOpenInvitation, AlreadyAccepted, NotRegistered.
        """
        key = address(email)
        for _ in range(TRIES):
            user, member = self._read_for_accept(organisation_id, key)
            if user is None:
                raise NotRegistered(key)
            try:
                self._accept(user, member)
            except TransactionCancelled as cancelled:
                if Organisation in errors_by_class(cancelled):
                    raise NoOpenInvitation(organisation_id, key) from cancelled  # it is being deleted
                continue
            return
        raise Contended(f"the invitation of {key!r}")

    def decline(self, organisation_id: str, email: str) -> None:
        """Both sides of an open invitation go in one transaction. 1 request, 7 W. NoOpenInvitation, AlreadyAccepted."""
        key = address(email)
        gone = attr(Organisation.departure).set(Departure(key, key, self.now(), was_invited=True))
        try:
            with self.db.transaction() as tx:
                tx.update(Organisation.by_id(organisation_id), gone, where=ORGANISATION_KEPT)
                tx.delete(UserOrganisation.of_user(key, organisation_id), where=INVITATION_OPEN)
                tx.delete(OrganisationMember.of_organisation(organisation_id, key), where=MEMBER_INVITED)
        except TransactionCancelled as cancelled:
            stored: Any = getattr(errors_by_class(cancelled).get(UserOrganisation), "stored", None)
            if stored is not None:
                raise AlreadyAccepted(organisation_id, key) from cancelled
            raise NoOpenInvitation(organisation_id, key) from cancelled

    def open_invitations(
        self, organisation_id: str, *, limit: int = 25, after: str | None = None, by: str | None = None
    ) -> Page[OpenInvitation]:
        """A page of the open invitations, oldest first, with what they offer; from the index, a moment old.

        3 requests: the caller's record and the organisation's; the page; 1 R for each invitation on it. NotAllowed.
        """
        read_parties(self.db, organisation_id, [], by, Capability.INVITE)
        page = self.db.page(UserOrganisation.open_of_organisation(organisation_id), limit=limit, after=after)
        keys = [OrganisationMember.of_organisation(organisation_id, side.email) for side in page.items]
        offers = {m.email: m.waiting for m in self.db.get_many(keys, consistent=True) if not is_member(m)}
        found = [
            OpenInvitation(side, [parse(text) for text in sorted(offers[side.email])])
            for side in page.items
            if side.email in offers
        ]
        return Page(found, page.position)

    # --- writes -------------------------------------------------------------------------------------------------------
    def _invite_anew(self, organisation: Organisation, email: str, groups: Collection[Group], by: str | None) -> None:
        """The name is copied, so the organisation must still have it, and must know of the copy."""
        organisation_id, name, now = organisation.organisation_id, organisation.organisation_name, self.now()
        as_read = (attr(Organisation.organisation_name) == name) & allowed(by, Capability.INVITE)
        side = UserOrganisation(
            email=email,
            organisation_id=organisation_id,
            organisation_name=name,
            invited_at=now,
            invited_by=by,
            open_since=now,
        )
        member = OrganisationMember(
            organisation_id=organisation_id, email=email, waiting=texts_of(groups), changed_by=by
        )
        with self.db.transaction() as tx:
            tx.update(Organisation.by_id(organisation_id), attr(Organisation.copies).add(1), where=as_read)
            check_services(tx, organisation_id, services_of(groups))
            tx.create(side)
            tx.create(member)
            tx.add(tasks.after(timedelta(0), LATER.invitation_mail(organisation_id, email, now)))

    def _offer_more(self, member: OrganisationMember, groups: Collection[Group], by: str | None) -> None:
        """More groups for an invitation that is open: nothing else of it changes."""
        waiting, organisation_id = attr(OrganisationMember.waiting), member.organisation_id
        with self.db.transaction() as tx:
            tx.check(Organisation.by_id(organisation_id), where=allowed(by, Capability.INVITE))
            check_services(tx, organisation_id, services_of(groups))
            tx.update(
                OrganisationMember.of_organisation(organisation_id, member.email),
                waiting.include(texts_of(groups)),
                attr(OrganisationMember.changed_by).set(by),
                where=MEMBER_INVITED & (waiting == member.waiting),
            )

    def _read_for_accept(self, organisation_id: str, email: str) -> tuple[User | None, OrganisationMember]:
        found: list[Entity] = self.db.get_many(
            [
                User.by_email(email),
                UserOrganisation.of_user(email, organisation_id),
                OrganisationMember.of_organisation(organisation_id, email),
            ],
            consistent=True,
        )
        invitation, member = first_of(found, UserOrganisation), first_of(found, OrganisationMember)
        if invitation is None or member is None:
            raise NoOpenInvitation(organisation_id, email)
        if invitation.accepted_at is not None or is_member(member):
            raise AlreadyAccepted(organisation_id, email)
        return first_of(found, User), member

    def _accept(self, user: User, member: OrganisationMember) -> None:
        organisation_id, email, now = member.organisation_id, member.email, self.now()
        groups = [parse(text) for text in sorted(member.waiting)]
        roles = [attr(Organisation.owners).include({email})] if OWNERS in groups else []
        roles += [attr(Organisation.admins).include({email})] if ADMINS in groups else []
        with self.db.transaction() as tx:
            if roles:
                tx.update(Organisation.by_id(organisation_id), *roles, where=ORGANISATION_KEPT)
            else:
                tx.check(Organisation.by_id(organisation_id), where=ORGANISATION_KEPT)
            tx.update(User.by_email(email), attr(User.copies).add(1), where=details_are(user))
            tx.update(
                UserOrganisation.of_user(email, organisation_id),
                attr(UserOrganisation.accepted_at).set(now),
                attr(UserOrganisation.open_since).set(None),
                where=INVITATION_OPEN,
            )
            tx.update(
                OrganisationMember.of_organisation(organisation_id, email),
                attr(OrganisationMember.accepted_at).set(now),
                attr(OrganisationMember.groups).set(member.waiting),
                attr(OrganisationMember.waiting).set(set[str]()),
                *copied(user),
                where=MEMBER_INVITED & (attr(OrganisationMember.waiting) == member.waiting),
            )
            give(tx, Member(organisation_id, email, member.changed_by, now), groups)
