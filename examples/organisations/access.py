"""Who may do what: members read, owners change.

A read is checked on what it read, and a write that reads nothing holds the caller's ownership as a condition: neither
costs a request more. Only a refusal is looked into, to tell a member from a stranger.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from examples.organisations.errors import ApplicationError, NoSuchOrganisation, NotAnOwner
from examples.organisations.model import Organisation, OrganisationMember
from singletable import Condition, Database, SingletableError, TransactionCancelled, attr


def owned_by(by: str | None) -> Condition | None:
    """The condition on an organisation that `by` is one of its owners; none for the operator."""
    return None if by is None else attr(Organisation.owners).contains(by)


def all_of(conditions: Iterable[Condition | None]) -> Condition | None:
    given = [condition for condition in conditions if condition is not None]
    return reduce(lambda one, other: one & other, given) if given else None


def is_member(member: OrganisationMember | None) -> bool:
    """Whether somebody's record is that of a member: an invitation is none."""
    return member is not None and member.accepted_at is not None


def check_reader(organisation_id: str, members: Iterable[OrganisationMember], by: str | None) -> None:
    """That `by` is among the members that were read; to all others there is no such organisation."""
    if by is not None and not any(m.email == by and is_member(m) for m in members):
        raise NoSuchOrganisation(organisation_id)


def check_owner(organisation: Organisation, members: Iterable[OrganisationMember], by: str | None) -> None:
    """That `by` is an owner, and a member in the first place."""
    check_reader(organisation.organisation_id, members, by)
    if by is not None and by not in organisation.owners:
        raise NotAnOwner(organisation.organisation_id, by)


def not_an_owner(db: Database, organisation_id: str, by: str) -> ApplicationError:
    """What the caller of a refused write is told. One request: a read."""
    member = db.get(OrganisationMember.of_organisation(organisation_id, by).consistent())
    return NotAnOwner(organisation_id, by) if is_member(member) else NoSuchOrganisation(organisation_id)


def raise_for_organisation(db: Database, organisation_id: str, by: str | None, error: SingletableError) -> None:
    """Raise what the refusal of a write on the organisation means, where it means that `by` may not do it."""
    stored: Organisation | None = getattr(error, "stored", None)
    if by is not None and (stored is None or by not in stored.owners):
        raise not_an_owner(db, organisation_id, by) from error
    if stored is None:
        raise NoSuchOrganisation(organisation_id) from error


def errors_by_class(cancelled: TransactionCancelled) -> dict[type[Any], SingletableError]:
    """Why a transaction was cancelled, by the class of the item: no two items of a class stand in one of ours, but for
    services and copies, of which the first counts."""
    found: dict[type[Any], SingletableError] = {}
    for failure in cancelled.failures:
        found.setdefault(failure.key.kinds[0], failure.error)
    return found
