"""Services of an organisation. Deleting one takes several requests, and is resumed by asking for it again.

First the record is marked: from then on nobody sees the service or its groups, and nobody gets into them. Then its
groups go from every member and every invitation; last the record goes. Stopped anywhere in between, the mark says what
is left to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from examples.organisations.access import errors_by_class, owned_by, raise_for_organisation
from examples.organisations.errors import Contended, NoSuchOrganisation, NoSuchService
from examples.organisations.groups import service_prefix
from examples.organisations.members import raise_for_service
from examples.organisations.model import SERVICE_KEPT, Organisation, OrganisationMember, OrganisationService
from singletable import AlreadyExists, Condition, ConditionFailed, Database, NotFound, TransactionCancelled, attr

HOLDERS_AT_ONCE = 99
"""A transaction takes 100 items, one of them the service."""
TRIES = 10


def put_service(db: Database, organisation_id: str, service_id: str, name: str, by: str | None) -> None:
    """Create it; where it is there already, give it the name."""
    service = OrganisationService(organisation_id=organisation_id, service_id=service_id, service_name=name)
    try:
        with db.transaction() as tx:
            tx.check(Organisation.by_id(organisation_id), where=owned_by(by))
            tx.create(service)
    except TransactionCancelled as cancelled:
        errors = errors_by_class(cancelled)
        if Organisation in errors:
            _raise_for_organisation(db, organisation_id, by, cancelled)
        if not isinstance(errors.get(OrganisationService), AlreadyExists):
            raise
        _rename(db, service, by)


def delete_service(db: Database, now: datetime, organisation_id: str, service_id: str, by: str | None) -> None:
    """Mark, take the groups away, delete: each step may be repeated, and holds the mark. A mark that is not ours any
    more is that of somebody who goes on with the work, or has finished it: the service may be there anew by then."""
    _mark(db, now, organisation_id, service_id, by)
    marked = attr(OrganisationService.deleted_at) == now
    try:
        _empty(db, organisation_id, service_id, marked)
        db.delete(OrganisationService.of_organisation(organisation_id, service_id), where=marked)
    except (_TakenOver, ConditionFailed):
        return


class _TakenOver(Exception):
    """The mark is not ours any more."""


def _empty(db: Database, organisation_id: str, service_id: str, marked: Condition) -> None:
    """Nobody gets into the groups any more: those found here are all. Read again only where somebody left meanwhile."""
    for _ in range(TRIES):
        holders = list(_holders(db, organisation_id, service_id))
        try:
            for start in range(0, len(holders), HOLDERS_AT_ONCE):
                _take_away(db, organisation_id, service_id, marked, holders[start : start + HOLDERS_AT_ONCE])
        except TransactionCancelled as cancelled:
            if OrganisationService in errors_by_class(cancelled):
                raise _TakenOver from cancelled
        else:
            return
    raise Contended(f"the service {service_id!r}")


def _take_away(
    db: Database,
    organisation_id: str,
    service_id: str,
    marked: Condition,
    holders: Sequence[tuple[OrganisationMember, set[str]]],
) -> None:
    """From both sets, whichever they were read in: an invitation may have been accepted meanwhile."""
    with db.transaction() as tx:
        tx.check(OrganisationService.of_organisation(organisation_id, service_id), where=marked)
        for member, texts in holders:
            changes = attr(OrganisationMember.groups).exclude(texts), attr(OrganisationMember.waiting).exclude(texts)
            tx.update(OrganisationMember.of_organisation(organisation_id, member.email), *changes)


def _rename(db: Database, service: OrganisationService, by: str | None) -> None:
    organisation_id = service.organisation_id
    try:
        with db.transaction() as tx:
            tx.check(Organisation.by_id(organisation_id), where=owned_by(by))
            tx.update(
                OrganisationService.of_organisation(organisation_id, service.service_id),
                attr(OrganisationService.service_name).set(service.service_name),
                where=SERVICE_KEPT,
            )
    except TransactionCancelled as cancelled:
        if Organisation in errors_by_class(cancelled):
            _raise_for_organisation(db, organisation_id, by, cancelled)
        if isinstance(errors_by_class(cancelled).get(OrganisationService), NotFound):  # gone between our two writes
            raise Contended(f"the service {service.service_id!r}") from cancelled
        raise_for_service(organisation_id, cancelled)
        raise


def _mark(db: Database, now: datetime, organisation_id: str, service_id: str, by: str | None) -> None:
    mark = attr(OrganisationService.deleted_at).set(now)
    try:
        with db.transaction() as tx:
            tx.check(Organisation.by_id(organisation_id), where=owned_by(by))
            tx.update(OrganisationService.of_organisation(organisation_id, service_id), mark)
    except TransactionCancelled as cancelled:
        if Organisation in errors_by_class(cancelled):
            _raise_for_organisation(db, organisation_id, by, cancelled)
        raise NoSuchService(organisation_id, service_id) from cancelled


def _holders(db: Database, organisation_id: str, service_id: str) -> Iterator[tuple[OrganisationMember, set[str]]]:
    """Those who are in a group of the service, or are offered one, with its texts."""
    prefix = service_prefix(service_id)
    for member in db.iter(OrganisationMember.of_organisation(organisation_id).consistent()):
        texts = {text for text in member.groups | member.waiting if text.startswith(prefix)}
        if texts:
            yield member, texts


def _raise_for_organisation(
    db: Database, organisation_id: str, by: str | None, cancelled: TransactionCancelled
) -> None:
    raise_for_organisation(db, organisation_id, by, errors_by_class(cancelled)[Organisation])
    raise NoSuchOrganisation(organisation_id) from cancelled
