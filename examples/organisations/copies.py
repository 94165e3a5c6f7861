"""Denormalised copies, kept right in three ways.

In the write: a source and all its copies change in one transaction, up to 99 of them. A copy that is begun meanwhile
raises the source's `copies`, which the change holds as it read it: none is missed. On read: `refresh` compares a copy
with its source and rewrites it where it differs, under its old value as condition. By changes: `rename` writes an
organisation alone, and `changes` carries its name to any number of copies, each under the version that it has.

| source | its copies |
|---|---|
| User: names, phone, spelling, createdAt | the organisationMember records of the user |
| Organisation: its name | the userOrganisation records of its members and of those invited |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from examples.organisations.access import check_owner, raise_for_organisation
from examples.organisations.errors import Contended, NoSuchOrganisation, TooManyCopies
from examples.organisations.model import (
    Organisation,
    OrganisationDetails,
    OrganisationMember,
    User,
    UserDetails,
    UserOrganisation,
)
from singletable import (
    AlreadyExists,
    Condition,
    ConditionFailed,
    Database,
    NotFound,
    TransactionCancelled,
    Update,
    attr,
)

MAX_COPIES = 99
"""A transaction takes 100 items, one of them the source."""
TRIES = 10


@dataclass(frozen=True)
class Given:
    """What a user may say of themself."""

    email: str
    first_name: str
    last_name: str
    phone: str
    shown_as: str | None


# --- in the write -----------------------------------------------------------------------------------------------------
def put_user(db: Database, now: datetime, given: Given) -> User:
    """Register, or change what is there; `createdAt` stays. The partition says where the copies are."""
    for _ in range(TRIES):
        details = db.get(UserDetails.by_email(given.email).consistent())
        assert details is not None  # every part of it may be absent
        joined = [m for m in details.memberships if m.accepted_at is not None]
        if len(joined) > MAX_COPIES:
            raise TooManyCopies("a user's details", len(joined), MAX_COPIES)
        user = _changed(now, details.user, given)
        try:
            _write_user(db, details.user, user, joined)
        except (TransactionCancelled, AlreadyExists, ConditionFailed, NotFound):
            continue
        return user
    raise Contended(f"the user {given.email!r}")


def put_organisation(db: Database, organisation_id: str, name: str, by: str | None) -> Organisation:
    """Change the name, and its copy with every member and everybody invited."""
    for _ in range(TRIES):
        details = db.get(OrganisationDetails.by_id(organisation_id).consistent())
        if details is None:
            raise NoSuchOrganisation(organisation_id)
        check_owner(details.organisation, details.members, by)
        if len(details.members) > MAX_COPIES:
            raise TooManyCopies("an organisation's name", len(details.members), MAX_COPIES)
        try:
            _write_organisation(db, details, name)
        except TransactionCancelled:
            continue
        return replace(details.organisation, organisation_name=name)
    raise Contended(f"the organisation {organisation_id!r}")


def rename(db: Database, organisation_id: str, name: str, by: str | None) -> Organisation:
    """Change the name alone; the copies follow by the table's stream."""
    key = Organisation.by_id(organisation_id)
    where = None if by is None else attr(Organisation.owners).contains(by)
    try:
        return db.update(key, attr(Organisation.organisation_name).set(name), where=where)
    except (NotFound, ConditionFailed) as error:
        raise_for_organisation(db, organisation_id, by, error)
        raise


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
    sources = {u.email: u for u in db.get_many([User.by_email(m.email) for m in members], consistent=True)}
    return [_fresh_member(db, member, sources.get(member.email)) for member in members]


def refresh_names(db: Database, memberships: Sequence[UserOrganisation]) -> list[UserOrganisation]:
    """The memberships and invitations with the organisations' names of now; what differs is written back."""
    keys = [Organisation.by_id(m.organisation_id) for m in memberships]
    names = {o.organisation_id: o.organisation_name for o in db.get_many(keys, consistent=True)}
    return [_fresh_name(db, m, names.get(m.organisation_id, m.organisation_name)) for m in memberships]


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


def _changed(now: datetime, user: User | None, given: Given) -> User:
    created_at, copies = (now, 0) if user is None else (user.created_at, user.copies)
    return User(
        email=given.email,
        first_name=given.first_name,
        last_name=given.last_name,
        phone=given.phone,
        shown_as=given.shown_as,
        created_at=created_at,
        copies=copies,
    )


def _write_user(db: Database, old: User | None, user: User, joined: Sequence[UserOrganisation]) -> None:
    """The record and its copies; alone, for half the units, where there are none."""
    if not joined:
        if old is None:
            return db.create(user)
        db.update(User.by_email(user.email), *_as_updates(user), where=attr(User.copies) == old.copies)
        return None
    with db.transaction() as tx:
        if old is None:
            tx.create(user)
        else:
            tx.update(User.by_email(user.email), *_as_updates(user), where=attr(User.copies) == old.copies)
        for m in joined:
            tx.update(OrganisationMember.of_organisation(m.organisation_id, user.email), *copied(user))
    return None


def _as_updates(user: User) -> tuple[Update, ...]:
    return (
        attr(User.first_name).set(user.first_name),
        attr(User.last_name).set(user.last_name),
        attr(User.phone).set(user.phone),
        attr(User.shown_as).set(user.shown_as),
    )


def _write_organisation(db: Database, details: OrganisationDetails, name: str) -> None:
    organisation = details.organisation
    id, unchanged = organisation.organisation_id, attr(Organisation.copies) == organisation.copies
    with db.transaction() as tx:
        tx.update(Organisation.by_id(id), attr(Organisation.organisation_name).set(name), where=unchanged)
        for member in details.members:
            tx.update(UserOrganisation.of_user(member.email, id), attr(UserOrganisation.organisation_name).set(name))
