"""Whether a caller may: `roles` says who may what, this module holds requests to it.

A read is checked on what it read, and a write that reads nothing holds the caller's role as a condition: neither costs
a request more. Only a refusal is looked into, to tell a member from a stranger. An organisation that is being deleted
is missing, for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from organisations.errors import ApplicationError, NoSuchOrganisation, NotAllowed
from organisations.model import ORGANISATION_KEPT, Organisation, OrganisationMember
from organisations.roles import CAPABILITIES, Capability, Role, roles_with
from singletable import Condition, Database, SingletableError, TransactionCancelled, attr

_HOLDERS = {Role.OWNER: attr(Organisation.owners), Role.ADMIN: attr(Organisation.admins)}


def allowed(by: str | None, capability: Capability) -> Condition:
    """The condition on an organisation that it is there and `by` may. Who only has to be a member is held elsewhere."""
    roles = roles_with(capability)
    if by is None or Role.MEMBER in roles:
        return ORGANISATION_KEPT
    return ORGANISATION_KEPT & reduce(lambda one, other: one | other, (_HOLDERS[role].contains(by) for role in roles))


def role_in(organisation: Organisation, email: str) -> Role:
    """The role of somebody who is a member."""
    if email in organisation.owners:
        return Role.OWNER
    return Role.ADMIN if email in organisation.admins else Role.MEMBER


def may_as(organisation: Organisation, by: str | None, capability: Capability) -> bool:
    return by is None or capability in CAPABILITIES[role_in(organisation, by)]


def is_member(member: OrganisationMember | None) -> bool:
    """Whether somebody's record is that of a member: an invitation is none."""
    return member is not None and member.accepted_at is not None


def check_there(organisation: Organisation | None, organisation_id: str) -> Organisation:
    """The organisation, unless it is missing or being deleted."""
    if organisation is None or organisation.deleted_at is not None:
        raise NoSuchOrganisation(organisation_id)
    return organisation


def check_caller(
    organisation: Organisation, members: Iterable[OrganisationMember], by: str | None, capability: Capability
) -> None:
    """That `by` is among the members that were read, and may; to all others there is no such organisation."""
    if by is not None and not any(m.email == by and is_member(m) for m in members):
        raise NoSuchOrganisation(organisation.organisation_id)
    if not may_as(organisation, by, capability):
        raise NotAllowed(organisation.organisation_id, by, capability)


def raise_for_organisation(
    db: Database, organisation_id: str, by: str | None, capability: Capability, error: SingletableError
) -> None:
    """Raise what the refusal of a write on the organisation means, where it means that `by` may not do it."""
    stored: Organisation | None = getattr(error, "stored", None)
    if stored is None or stored.deleted_at is not None:
        raise NoSuchOrganisation(organisation_id) from error
    if not may_as(stored, by, capability):
        raise _refusal(db, organisation_id, str(by), capability) from error


def _refusal(db: Database, organisation_id: str, by: str, capability: Capability) -> ApplicationError:
    """What the caller of a refused write is told. One request: a read."""
    member = db.get(OrganisationMember.of_organisation(organisation_id, by).consistent())
    return NotAllowed(organisation_id, by, capability) if is_member(member) else NoSuchOrganisation(organisation_id)


def errors_by_class(cancelled: TransactionCancelled) -> dict[type[Any], SingletableError]:
    """Why a transaction was cancelled, by the class of the item: no two items of a class stand in one of ours, but for
    services, copies and groups' members, of which the first counts."""
    found: dict[type[Any], SingletableError] = {}
    for failure in cancelled.failures:
        found.setdefault(failure.key.kinds[0], failure.error)
    return found
