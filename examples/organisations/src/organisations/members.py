"""Members in and out of groups, and out of the organisation.

Whether somebody may is decided by one record: the set of groups on theirs. Each membership of a group has a record of
its own besides, `GroupMember`, by which a group finds its members and which says who gave it and when. The owners and
the admins stand once more, as sets on the organisation, so that a write can hold the role of whoever asks. All of them
change in one transaction.

The owners' set is never emptied: of two owners who remove each other at the same time, the second to reach the
organisation's record finds that it would be the last one it takes out, and fails.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from organisations.access import allowed, errors_by_class, is_member, raise_for_organisation
from organisations.addresses import address
from organisations.base import TRIES, Actions, Parties, read_parties
from organisations.errors import (
    BeingDeleted,
    Contended,
    Invalid,
    LastOwner,
    NoOpenInvitation,
    NoSuchMember,
    NoSuchService,
    NotAccepted,
)
from organisations.groups import ADMINS, OWNERS, Group, parse, services_of, texts_of
from organisations.model import (
    MEMBER_ACCEPTED,
    SERVICE_KEPT,
    Departure,
    GroupMember,
    Organisation,
    OrganisationMember,
    OrganisationService,
    UserOrganisation,
)
from organisations.roles import APPOINTED, Capability, wanted_for
from singletable import AlreadyExists, Condition, Database, KeyOf, TransactionCancelled, Update, attr
from singletable.records import Transaction

MAX_GROUPS = 45
"""Of one call: a transaction takes 100 items, and a group may bring a service along."""
MOST_AT_ONCE = 90
"""Groups that go with somebody in one transaction."""


@dataclass(frozen=True)
class Members(Actions):
    def add_to_groups(
        self, organisation_id: str, email: str, groups: Collection[Group], *, by: str | None = None
    ) -> None:
        """Put a member into groups; in those that they are in already nothing changes. Nothing is read first.

        1 request: 5 W, and 2 W for each group and each service; one request more where some of the groups are held.
        NotAccepted for somebody invited, NoSuchMember; NoSuchOrganisation, NotAllowed, NoSuchService, BeingDeleted;
        Invalid for more than 45 groups.
        """
        new, asked = _checked(groups), wanted_for(groups)
        member = Member(organisation_id, address(email), by, self.now())
        while new:
            try:
                with self.db.transaction() as tx:
                    _hold_organisation(tx, member, asked, _appoint(member.email, new))
                    check_services(tx, organisation_id, services_of(new))
                    member.change(tx, attr(OrganisationMember.groups).include(texts_of(new)))
                    give(tx, member, new)
            except TransactionCancelled as cancelled:
                raise_refusal(self.db, member, asked, cancelled)
                new = _not_held(member, new, cancelled)
            else:
                return

    def remove_from_groups(
        self, organisation_id: str, email: str, groups: Collection[Group], *, by: str | None = None
    ) -> None:
        """Take a member out of groups; of those that they are not in nothing changes. Nothing is read first.

        1 request: 5 W, and 2 W for each group. LastOwner, and as add_to_groups.
        """
        gone, asked = _checked(groups), wanted_for(groups)
        self._take(Member(organisation_id, address(email), by, self.now()), gone, asked)

    def remove_user(self, organisation_id: str, email: str, *, by: str | None = None) -> None:
        """A member, or an invitation, goes: both sides, and every group, in one transaction.

        2 requests: 2 R (3 with `by`), then 7 W, and 2 W for each group. NoSuchOrganisation, NotAllowed, NoSuchMember,
        LastOwner.
        """
        self._remove(organisation_id, address(email), by, Capability.REMOVE_MEMBERS)

    def leave(self, organisation_id: str, email: str) -> None:
        """As remove_user, by the member themself. NoSuchOrganisation for somebody who is none; LastOwner."""
        self._remove(organisation_id, address(email), address(email), Capability.LEAVE)

    def withdraw(self, organisation_id: str, email: str, *, by: str | None = None) -> None:
        """As remove_user, where the invitation is open; NoOpenInvitation where it is not, for members too."""
        self._remove(organisation_id, address(email), by, Capability.INVITE, only_invited=True)

    def _remove(
        self, organisation_id: str, email: str, by: str | None, capability: Capability, only_invited: bool = False
    ) -> None:
        tries = 0
        while tries < TRIES:
            found = read_parties(self.db, organisation_id, [email], by, capability)
            member = found.members.get(email)
            if only_invited and (member is None or is_member(member)):
                raise NoOpenInvitation(organisation_id, email)
            if member is None:
                raise NoSuchMember(organisation_id, email)
            leaver = Member(organisation_id, email, by, self.now())
            groups = [parse(text) for text in sorted(member.groups)]
            if len(groups) > MOST_AT_ONCE:
                self._take(leaver, [g for g in groups if g not in APPOINTED][:MOST_AT_ONCE], capability)
                continue
            if self._removed(found, leaver, member, groups, capability):
                return
            tries += 1
        raise Contended(f"the membership of {email!r}")

    def _removed(
        self,
        found: Parties,
        leaver: Member,
        member: OrganisationMember,
        groups: Sequence[Group],
        capability: Capability,
    ) -> bool:
        """Whether they are gone; not where their groups changed since they were read."""
        owners, admins = attr(Organisation.owners), attr(Organisation.admins)
        gone = Departure(leaver.email, leaver.by, leaver.now, was_invited=not is_member(member))
        updates = [attr(Organisation.departure).set(gone)]
        updates += [owners.exclude({leaver.email})] if leaver.email in found.organisation.owners else []
        updates += [admins.exclude({leaver.email})] if leaver.email in found.organisation.admins else []
        accepted = MEMBER_ACCEPTED if is_member(member) else ~MEMBER_ACCEPTED
        try:
            with self.db.transaction() as tx:
                _hold_organisation(tx, leaver, capability, updates, another_owner_stays(leaver.email))
                tx.delete(UserOrganisation.of_user(leaver.email, leaver.organisation_id))
                tx.delete(leaver.key, where=accepted & (attr(OrganisationMember.groups) == member.groups))
                take(tx, leaver.organisation_id, leaver.email, groups)
        except TransactionCancelled as cancelled:
            if (refused := errors_by_class(cancelled).get(Organisation)) is None:
                return False
            raise_for_organisation(self.db, leaver.organisation_id, leaver.by, capability, refused)
            raise LastOwner(leaver.organisation_id, leaver.email) from cancelled
        return True

    def _take(self, member: Member, groups: Sequence[Group], asked: Capability) -> None:
        stays = another_owner_stays(member.email) if OWNERS in groups else None
        try:
            with self.db.transaction() as tx:
                _hold_organisation(tx, member, asked, _dismiss(member.email, groups), stays)
                member.change(tx, attr(OrganisationMember.groups).exclude(texts_of(groups)))
                take(tx, member.organisation_id, member.email, groups)
        except TransactionCancelled as cancelled:
            raise_refusal(self.db, member, asked, cancelled)


@dataclass(frozen=True)
class Member:
    """Whose groups change, by whom, and when."""

    organisation_id: str
    email: str
    by: str | None
    now: datetime

    @property
    def key(self) -> KeyOf[OrganisationMember]:
        return OrganisationMember.of_organisation(self.organisation_id, self.email)

    def change(self, tx: Transaction, *updates: Update) -> None:
        """The record of somebody who has accepted, with who changed it."""
        tx.update(self.key, *updates, attr(OrganisationMember.changed_by).set(self.by), where=MEMBER_ACCEPTED)


# --- parts of transactions --------------------------------------------------------------------------------------------
def give(tx: Transaction, member: Member, groups: Collection[Group]) -> None:
    """The records of memberships of groups that begin: 2 W each. They overwrite nothing: who gave a group, and when,
    stays as it is."""
    for group in groups:
        tx.create(group_member(member.organisation_id, member.email, group, member.by, member.now))


def take(tx: Transaction, organisation_id: str, email: str, groups: Collection[Group]) -> None:
    """The records of memberships of groups that end: 2 W each."""
    for group in groups:
        tx.delete(GroupMember.of_scope(organisation_id, group.scope, group.key, email))


def group_member(organisation_id: str, email: str, group: Group, by: str | None, at: datetime) -> GroupMember:
    return GroupMember(
        organisation_id=organisation_id, scope=group.scope, group=group.key, email=email, given_by=by, given_at=at
    )


def check_services(tx: Transaction, organisation_id: str, services: Collection[str]) -> None:
    """That the services are there, and stay: one check each."""
    for service_id in services:
        tx.check(OrganisationService.of_organisation(organisation_id, service_id), where=SERVICE_KEPT)


def another_owner_stays(email: str) -> Condition:
    """That the owners' set is not emptied by their going; a member who is not an owner is in nobody's way."""
    owners = attr(Organisation.owners)
    return (owners.size() > 1) | ~owners.contains(email)


# --- what a refusal means ---------------------------------------------------------------------------------------------
def raise_refusal(db: Database, member: Member, asked: Capability, cancelled: TransactionCancelled) -> None:
    """Raise what a cancelled transaction on a member means: first what concerns the caller, then the target. Nothing
    where only groups stood in its way that they hold already."""
    errors, organisation_id = errors_by_class(cancelled), member.organisation_id
    if (on_organisation := errors.get(Organisation)) is not None:
        raise_for_organisation(db, organisation_id, member.by, asked, on_organisation)
    if (on_member := errors.get(OrganisationMember)) is not None:
        invited = getattr(on_member, "stored", None) is not None
        raise (NotAccepted if invited else NoSuchMember)(organisation_id, member.email) from cancelled
    if on_organisation is not None:
        raise LastOwner(organisation_id, member.email) from cancelled
    if OrganisationService in errors:
        raise_for_service(organisation_id, cancelled)
    if GroupMember not in errors:
        raise cancelled


def raise_for_service(organisation_id: str, cancelled: TransactionCancelled) -> None:
    """Raise what the refusal of a service means: there is none, or it is on its way out."""
    for failure in cancelled.failures:
        if failure.key.kinds[0] is OrganisationService:
            service: OrganisationService | None = getattr(failure.error, "stored", None)
            if service is not None:
                raise BeingDeleted(organisation_id, service.service_id) from cancelled
            raise NoSuchService(organisation_id, failure.key.low.partition("/")[2]) from cancelled


def _not_held(member: Member, groups: Sequence[Group], cancelled: TransactionCancelled) -> list[Group]:
    """The groups, without those whose records are there already."""
    held = {(f.key.partition, f.key.low) for f in cancelled.failures if isinstance(f.error, AlreadyExists)}
    return [group for group in groups if _place(member, group) not in held]


def _place(member: Member, group: Group) -> tuple[str, str]:
    key = GroupMember.of_scope(member.organisation_id, group.scope, group.key, member.email)
    return key.partition, key.low


# --- the organisation's record ----------------------------------------------------------------------------------------
def _hold_organisation(
    tx: Transaction, member: Member, asked: Capability, updates: Sequence[Update] = (), where: Condition | None = None
) -> None:
    """A check that the organisation is there and the caller may; a change of it, where its owners or admins change."""
    key, may = Organisation.by_id(member.organisation_id), allowed(member.by, asked)
    if not updates:
        return tx.check(key, where=may)
    by = attr(Organisation.changed_by).set(member.by)
    return tx.update(key, *updates, by, where=may if where is None else may & where)


def _appoint(email: str, groups: Collection[Group]) -> list[Update]:
    owners = [attr(Organisation.owners).include({email})] if OWNERS in groups else []
    return owners + ([attr(Organisation.admins).include({email})] if ADMINS in groups else [])


def _dismiss(email: str, groups: Collection[Group]) -> list[Update]:
    owners = [attr(Organisation.owners).exclude({email})] if OWNERS in groups else []
    return owners + ([attr(Organisation.admins).exclude({email})] if ADMINS in groups else [])


def _checked(groups: Collection[Group]) -> list[Group]:
    if not 0 < len(groups) <= MAX_GROUPS:
        raise Invalid(f"at least one group is wanted, and at most {MAX_GROUPS} at a time")
    return list(dict.fromkeys(groups))
