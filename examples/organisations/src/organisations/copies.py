"""Denormalised copies, kept right in three ways.

In the write: a source and all its copies change in one transaction, up to 99 of them. A copy that is begun meanwhile
raises the source's `copies`, which the change holds as it read it: none is missed. On read: `refresh` compares a copy
with its source and rewrites it where it differs, under its old value as condition. By changes: the table's stream
brings a user's details and an organisation's name to copies, however many they are.

| source | its copies |
|---|---|
| User: names, phone, spelling, createdAt | the organisationMember records of the user |
| Organisation: its name | the userOrganisation records of its members and of those invited |
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from organisations.model import Organisation, OrganisationMember, User, UserOrganisation
from singletable import Condition, ConditionFailed, Database, NotFound, Update, attr

MAX_COPIES = 99
"""A transaction takes 100 items, one of them the source."""


# --- beginning a copy -------------------------------------------------------------------------------------------------
def copied(user: User) -> tuple[Update, ...]:
    """The changes that make a member's record a copy of the user's details."""
    return (
        attr(OrganisationMember.first_name).set(user.first_name),
        attr(OrganisationMember.last_name).set(user.last_name),
        attr(OrganisationMember.phone).set(user.phone),
        attr(OrganisationMember.created_at).set(user.created_at),
        attr(OrganisationMember.shown_as).set(user.shown_as),
    )


def member_of(organisation_id: str, user: User, groups: set[str], accepted_at: datetime) -> OrganisationMember:
    """A member's record with its copy."""
    return OrganisationMember(
        organisation_id=organisation_id,
        email=user.email,
        first_name=user.first_name,
        last_name=user.last_name,
        phone=user.phone,
        created_at=user.created_at,
        shown_as=user.shown_as,
        groups=groups,
        accepted_at=accepted_at,
    )


def details_are(user: User) -> Condition:
    """The condition on a user's record that its details are those that were read."""
    return (
        (attr(User.first_name) == user.first_name)
        & (attr(User.last_name) == user.last_name)
        & (attr(User.phone) == user.phone)
        & (attr(User.shown_as) == user.shown_as)
    )


# --- on read ----------------------------------------------------------------------------------------------------------
def refresh_members(db: Database, members: Sequence[OrganisationMember]) -> list[OrganisationMember]:
    """The members with their details as the users have them now; what differs is written back."""
    keys = [User.by_email(email) for email in dict.fromkeys(m.email for m in members)]
    sources = {u.email: u for u in db.get_many(keys, consistent=True)}
    return [_fresh_member(db, member, sources.get(member.email)) for member in members]


def refresh_names(db: Database, memberships: Sequence[UserOrganisation]) -> list[UserOrganisation]:
    """The memberships and invitations with the organisations' names of now; what differs is written back. Those of
    organisations that are missing or being deleted are left out."""
    keys = [Organisation.by_id(id) for id in dict.fromkeys(m.organisation_id for m in memberships)]
    there = {o.organisation_id: o.organisation_name for o in db.get_many(keys, consistent=True) if o.deleted_at is None}
    return [_fresh_name(db, m, there[m.organisation_id]) for m in memberships if m.organisation_id in there]


def refresh_user_copies(db: Database, email: str) -> None:
    """Bring a user's details to the members' records that copy them, however many. What is written is at least as new
    as what it replaces: the copies are read before their source."""
    sides = [side for side in db.iter(UserOrganisation.of_user(email).consistent()) if side.accepted_at is not None]
    keys = [OrganisationMember.of_organisation(side.organisation_id, email) for side in sides]
    members = [member for member in db.get_many(keys, consistent=True) if member.accepted_at is not None]
    refresh_members(db, members)


def _fresh_member(db: Database, member: OrganisationMember, source: User | None) -> OrganisationMember:
    if source is None or _details(member) == _details(source):
        return member
    key = OrganisationMember.of_organisation(member.organisation_id, member.email)
    try:
        return db.update(key, *copied(source), where=_copy_is(member))
    except ConditionFailed as changed:  # by somebody who knows better, a moment ago
        return changed.stored or member
    except NotFound:
        return member


def _fresh_name(db: Database, membership: UserOrganisation, name: str) -> UserOrganisation:
    if membership.organisation_name == name:
        return membership
    stored_name = attr(UserOrganisation.organisation_name)
    key = UserOrganisation.of_user(membership.email, membership.organisation_id)
    try:
        return db.update(key, stored_name.set(name), where=stored_name == membership.organisation_name)
    except ConditionFailed as changed:
        return changed.stored or membership
    except NotFound:
        return membership


def _copy_is(member: OrganisationMember) -> Condition:
    return (
        (attr(OrganisationMember.first_name) == member.first_name)
        & (attr(OrganisationMember.last_name) == member.last_name)
        & (attr(OrganisationMember.phone) == member.phone)
        & (attr(OrganisationMember.created_at) == member.created_at)
        & (attr(OrganisationMember.shown_as) == member.shown_as)
    )


def _details(copy: User | OrganisationMember) -> tuple[object, ...]:
    return copy.first_name, copy.last_name, copy.phone, copy.created_at, copy.shown_as
