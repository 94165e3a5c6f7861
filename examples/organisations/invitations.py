"""Invitations: made, accepted, declined, each in one transaction on both sides.

An invitation is a pair of records without `acceptedAt`. The groups it offers lie in `waiting` on the organisation's
side, so that whoever deletes a service finds them there; `groups` is absent until the transaction that accepts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, TypeVar

from examples.organisations.access import all_of, check_owner, errors_by_class, is_member, owned_by
from examples.organisations.copies import copied, details_are
from examples.organisations.errors import (
    AlreadyAccepted,
    Contended,
    NoOpenInvitation,
    NoSuchOrganisation,
    NotRegistered,
)
from examples.organisations.groups import OWNERS, Group, services_of, texts_of
from examples.organisations.members import add_to_groups, check_services, raise_for_service
from examples.organisations.model import (
    INVITATION_OPEN,
    MEMBER_INVITED,
    Organisation,
    OrganisationMember,
    OrganisationService,
    User,
    UserOrganisation,
)
from singletable import Database, Entity, TransactionCancelled, attr

E = TypeVar("E", bound=Entity)

TRIES = 10


def invite(
    db: Database, now: datetime, organisation_id: str, email: str, groups: Collection[Group], by: str | None
) -> None:
    """One read of what there is, one write by it; again from the start where it changed in between."""
    for _ in range(TRIES):
        organisation, member = _read_for_invite(db, organisation_id, email, by)
        if is_member(member):
            if groups:
                add_to_groups(db, organisation_id, email, groups, by)
            return
        try:
            if member is None:
                _invite_anew(db, now, organisation, email, groups, by)
            elif groups:
                _offer_more(db, organisation_id, email, groups, by)
        except TransactionCancelled as cancelled:
            if OrganisationService in errors_by_class(cancelled):
                raise_for_service(organisation_id, cancelled)
        else:
            return
    raise Contended(f"the invitation of {email!r}")


def accept(db: Database, now: datetime, organisation_id: str, email: str) -> None:
    """One read of both sides and the user, one transaction over them as they were read."""
    for _ in range(TRIES):
        user, member = _read_for_accept(db, organisation_id, email)
        if user is None:
            raise NotRegistered(email)
        try:
            _accept(db, now, user, member)
        except TransactionCancelled:
            continue
        return
    raise Contended(f"the invitation of {email!r}")


def decline(db: Database, organisation_id: str, email: str) -> None:
    """Both sides go, where neither is accepted."""
    try:
        with db.transaction() as tx:
            tx.delete(UserOrganisation.of_user(email, organisation_id), where=INVITATION_OPEN)
            tx.delete(OrganisationMember.of_organisation(organisation_id, email), where=MEMBER_INVITED)
    except TransactionCancelled as cancelled:
        stored: Any = getattr(errors_by_class(cancelled).get(UserOrganisation), "stored", None)
        if stored is not None:
            raise AlreadyAccepted(organisation_id, email) from cancelled
        raise NoOpenInvitation(organisation_id, email) from cancelled


def _read_for_invite(
    db: Database, organisation_id: str, email: str, by: str | None
) -> tuple[Organisation, OrganisationMember | None]:
    people = dict.fromkeys([email] if by is None else [email, by])
    found: list[Entity] = db.get_many(
        [
            Organisation.by_id(organisation_id),
            *(OrganisationMember.of_organisation(organisation_id, person) for person in people),
        ],
        consistent=True,
    )
    members = list(_all_of(found, OrganisationMember))
    organisation = _one_of(found, Organisation)
    if organisation is None:
        raise NoSuchOrganisation(organisation_id)
    check_owner(organisation, members, by)
    return organisation, next((m for m in members if m.email == email), None)


def _invite_anew(
    db: Database, now: datetime, organisation: Organisation, email: str, groups: Collection[Group], by: str | None
) -> None:
    """The name is copied, so the organisation must still have it, and must know of the copy."""
    organisation_id, name = organisation.organisation_id, organisation.organisation_name
    as_read = all_of((attr(Organisation.organisation_name) == name, owned_by(by)))
    with db.transaction() as tx:
        tx.update(Organisation.by_id(organisation_id), attr(Organisation.copies).add(1), where=as_read)
        check_services(tx, organisation_id, services_of(groups))
        tx.create(
            UserOrganisation(email=email, organisation_id=organisation_id, organisation_name=name, invited_at=now)
        )
        tx.create(OrganisationMember(organisation_id=organisation_id, email=email, waiting=texts_of(groups)))


def _offer_more(db: Database, organisation_id: str, email: str, groups: Collection[Group], by: str | None) -> None:
    """More groups for an invitation that is open: nothing else of it changes."""
    more = attr(OrganisationMember.waiting).include(texts_of(groups))
    with db.transaction() as tx:
        tx.check(Organisation.by_id(organisation_id), where=owned_by(by))
        check_services(tx, organisation_id, services_of(groups))
        tx.update(OrganisationMember.of_organisation(organisation_id, email), more, where=MEMBER_INVITED)


def _read_for_accept(db: Database, organisation_id: str, email: str) -> tuple[User | None, OrganisationMember]:
    found: list[Entity] = db.get_many(
        [
            User.by_email(email),
            UserOrganisation.of_user(email, organisation_id),
            OrganisationMember.of_organisation(organisation_id, email),
        ],
        consistent=True,
    )
    invitation, member = _one_of(found, UserOrganisation), _one_of(found, OrganisationMember)
    if invitation is None or member is None:
        raise NoOpenInvitation(organisation_id, email)
    if invitation.accepted_at is not None or is_member(member):
        raise AlreadyAccepted(organisation_id, email)
    return _one_of(found, User), member


def _accept(db: Database, now: datetime, user: User, member: OrganisationMember) -> None:
    organisation_id, email = member.organisation_id, member.email
    with db.transaction() as tx:
        tx.update(User.by_email(email), attr(User.copies).add(1), where=details_are(user))
        tx.update(
            UserOrganisation.of_user(email, organisation_id),
            attr(UserOrganisation.accepted_at).set(now),
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
        if OWNERS.text in member.waiting:
            tx.update(Organisation.by_id(organisation_id), attr(Organisation.owners).include({email}))


def _one_of(found: Iterable[Entity], kind: type[E]) -> E | None:
    return next(iter(_all_of(found, kind)), None)


def _all_of(found: Iterable[Entity], kind: type[E]) -> list[E]:
    return [entity for entity in found if isinstance(entity, kind)]
