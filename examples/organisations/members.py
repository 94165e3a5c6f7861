"""Members in and out of groups, and out of the organisation: nothing is read first, conditions hold what must be true.

The owners stand twice: as members of the group `owner`, and as a set on the organisation. Both change in one
transaction, and the set is never emptied: of two owners who remove each other at the same time, the second to reach
the organisation's record finds that it would be the last one it takes out, and fails.
"""

from __future__ import annotations

from collections.abc import Collection

from examples.organisations.access import all_of, errors_by_class, owned_by, raise_for_organisation
from examples.organisations.errors import BeingDeleted, Invalid, LastOwner, NoSuchMember, NoSuchService
from examples.organisations.groups import OWNERS, Group, services_of, texts_of
from examples.organisations.model import (
    MEMBER_ACCEPTED,
    SERVICE_KEPT,
    Organisation,
    OrganisationMember,
    OrganisationService,
    UserOrganisation,
)
from singletable import Condition, ConditionFailed, Database, NotFound, TransactionCancelled, Update, attr
from singletable.records import Transaction


def add_to_groups(db: Database, organisation_id: str, email: str, groups: Collection[Group], by: str | None) -> None:
    """One update; a transaction where the caller, an owner or a service must be held too."""
    change = attr(OrganisationMember.groups).include(_texts(groups))
    services = services_of(groups)
    if by is None and not services and OWNERS not in groups:
        return _update_alone(db, organisation_id, email, change)
    try:
        with db.transaction() as tx:
            if OWNERS in groups:
                more = attr(Organisation.owners).include({email})
                tx.update(Organisation.by_id(organisation_id), more, where=owned_by(by))
            elif by is not None:
                tx.check(Organisation.by_id(organisation_id), where=owned_by(by))
            check_services(tx, organisation_id, services)
            tx.update(OrganisationMember.of_organisation(organisation_id, email), change, where=MEMBER_ACCEPTED)
    except TransactionCancelled as cancelled:
        raise_refusal(db, organisation_id, email, by, cancelled)


def remove_from_groups(
    db: Database, organisation_id: str, email: str, groups: Collection[Group], by: str | None
) -> None:
    """One update; a transaction where the caller or the owners must be held too."""
    change = attr(OrganisationMember.groups).exclude(_texts(groups))
    if by is None and OWNERS not in groups:
        return _update_alone(db, organisation_id, email, change)
    try:
        with db.transaction() as tx:
            if OWNERS in groups:
                _leave_owners(tx, organisation_id, email, by)
            else:
                tx.check(Organisation.by_id(organisation_id), where=owned_by(by))
            tx.update(OrganisationMember.of_organisation(organisation_id, email), change, where=MEMBER_ACCEPTED)
    except TransactionCancelled as cancelled:
        raise_refusal(db, organisation_id, email, by, cancelled)


def remove_user(db: Database, organisation_id: str, email: str, by: str | None) -> None:
    """Both sides, and the owners' set, in one transaction; an invitation is withdrawn by the same."""
    there = attr(OrganisationMember.email).exists()
    try:
        with db.transaction() as tx:
            _leave_owners(tx, organisation_id, email, by)
            tx.delete(UserOrganisation.of_user(email, organisation_id))
            tx.delete(OrganisationMember.of_organisation(organisation_id, email), where=there)
    except TransactionCancelled as cancelled:
        raise_refusal(db, organisation_id, email, by, cancelled)


def check_services(tx: Transaction, organisation_id: str, services: Collection[str]) -> None:
    """That the services are there, and stay: one check each."""
    for service_id in services:
        tx.check(OrganisationService.of_organisation(organisation_id, service_id), where=SERVICE_KEPT)


def raise_refusal(
    db: Database, organisation_id: str, email: str, by: str | None, cancelled: TransactionCancelled
) -> None:
    """Raise what a cancelled transaction on a member means: first what concerns the caller, then the target."""
    errors = errors_by_class(cancelled)
    if (on_organisation := errors.get(Organisation)) is not None:
        raise_for_organisation(db, organisation_id, by, on_organisation)
    if OrganisationMember in errors:
        raise NoSuchMember(organisation_id, email) from cancelled
    if on_organisation is not None:
        raise LastOwner(organisation_id, email) from cancelled
    if OrganisationService in errors:
        raise_for_service(organisation_id, cancelled)
    raise cancelled


def raise_for_service(organisation_id: str, cancelled: TransactionCancelled) -> None:
    """Raise what the refusal of a service means: there is none, or it is on its way out."""
    for failure in cancelled.failures:
        if failure.key.kinds[0] is OrganisationService:
            service: OrganisationService | None = getattr(failure.error, "stored", None)
            if service is not None:
                raise BeingDeleted(organisation_id, service.service_id) from cancelled
            raise NoSuchService(organisation_id, failure.key.low.partition("/")[2]) from cancelled


def _leave_owners(tx: Transaction, organisation_id: str, email: str, by: str | None) -> None:
    """Out of the owners' set, unless that empties it; a member who is no owner is in nobody's way."""
    owners = attr(Organisation.owners)
    another_stays: Condition = (owners.size() > 1) | ~owners.contains(email)
    tx.update(Organisation.by_id(organisation_id), owners.exclude({email}), where=all_of((another_stays, owned_by(by))))


def _update_alone(db: Database, organisation_id: str, email: str, change: Update) -> None:
    try:
        db.update(OrganisationMember.of_organisation(organisation_id, email), change, where=MEMBER_ACCEPTED)
    except (NotFound, ConditionFailed) as error:
        raise NoSuchMember(organisation_id, email) from error


def _texts(groups: Collection[Group]) -> set[str]:
    if not groups:
        raise Invalid("at least one group is wanted")
    return texts_of(groups)
