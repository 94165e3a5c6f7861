"""Services of an organisation. Deleting one takes several requests, and is resumed by asking for it again.

First the record is marked: from then on nobody sees the service or its groups, and nobody gets into them. Then its
groups go from every member and every invitation; last the record goes. Stopped anywhere in between, the mark says what
is left to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from organisations.access import allowed, errors_by_class, raise_for_organisation
from organisations.base import TRIES, Actions
from organisations.errors import Changed, Contended, Difference, NoSuchService, Refused
from organisations.groups import parse, service_prefix
from organisations.members import raise_for_service, take
from organisations.model import SERVICE_KEPT, Organisation, OrganisationMember, OrganisationService
from organisations.roles import Capability
from singletable import AlreadyExists, Condition, ConditionFailed, NotFound, TransactionCancelled, attr

HELD_AT_ONCE = 49
"""A transaction takes 100 items, one of them the service: each membership of a group is a record, and the member's."""

Held = tuple[str, str]
"""Somebody's address, and the text of a group of the service that they are in or are offered."""


class _TakenOver(Exception):
    """The mark is not ours any more."""


@dataclass(frozen=True)
class Services(Actions):
    def put_service(
        self, organisation_id: str, service_id: str, name: str, *, by: str | None = None, is_new: bool = False
    ) -> None:
        """A new service: 1 request, 4 W. One that is there gets the name: 2 requests, 8 W; where it is to be new,
        Refused. NoSuchOrganisation, NotAllowed, BeingDeleted."""
        service = OrganisationService(
            organisation_id=organisation_id, service_id=service_id, service_name=name, changed_by=by
        )
        try:
            with self.db.transaction() as tx:
                tx.check(Organisation.by_id(organisation_id), where=allowed(by, Capability.MANAGE_SERVICES))
                tx.create(service)
        except TransactionCancelled as cancelled:
            self._raise_for_caller(organisation_id, by, cancelled)
            if not isinstance(errors_by_class(cancelled).get(OrganisationService), AlreadyExists):
                raise
            if is_new:
                raise Refused(f"there is a service {service_id!r} already: rename it on its page") from cancelled
            self._rename_service(service, by, SERVICE_KEPT)

    def rename_service(self, organisation_id: str, service_id: str, name: str, *, was: str, by: str | None) -> None:
        """Where its name is `was`: 2 requests, 1 R and 8 W. Changed, NoSuchService, NoSuchOrganisation, NotAllowed,
        BeingDeleted."""
        stored = self.db.get(OrganisationService.of_organisation(organisation_id, service_id).consistent())
        if stored is None:
            raise NoSuchService(organisation_id, service_id)
        if stored.service_name not in (was, name):
            raise Changed("the service", {"name": Difference(was, stored.service_name, name)})
        held = SERVICE_KEPT & (attr(OrganisationService.service_name) == stored.service_name)
        self._rename_service(replace(stored, service_name=name), by, held)

    def delete_service(self, organisation_id: str, service_id: str, *, by: str | None = None) -> None:
        """Nobody sees the service or its groups from the first write on; where the rest is broken off, a second call
        finishes it. 3 requests: 4 W, R for all members, 1 W; and one more for every 49 memberships of its groups: 2 W,
        3 W a person (2 W an invited one) and 2 W a membership. NoSuchOrganisation, NotAllowed, NoSuchService.

        A mark that is not ours any more is that of somebody who goes on with the work, or has finished it: the service
        may be there anew by then.
        """
        now = self.now()
        self._mark(now, organisation_id, service_id, by)
        marked = attr(OrganisationService.deleted_at) == now
        try:
            self._empty(organisation_id, service_id, marked, by)
            self.db.delete(OrganisationService.of_organisation(organisation_id, service_id), where=marked)
        except (_TakenOver, ConditionFailed):
            return

    # --- parts of a deletion ------------------------------------------------------------------------------------------
    def _mark(self, now: datetime, organisation_id: str, service_id: str, by: str | None) -> None:
        mark = attr(OrganisationService.deleted_at).set(now), attr(OrganisationService.changed_by).set(by)
        try:
            with self.db.transaction() as tx:
                tx.check(Organisation.by_id(organisation_id), where=allowed(by, Capability.MANAGE_SERVICES))
                tx.update(OrganisationService.of_organisation(organisation_id, service_id), *mark)
        except TransactionCancelled as cancelled:
            self._raise_for_caller(organisation_id, by, cancelled)
            raise NoSuchService(organisation_id, service_id) from cancelled

    def _empty(self, organisation_id: str, service_id: str, marked: Condition, by: str | None) -> None:
        """Nobody gets into the groups any more: those found here are all. Read again where somebody left meanwhile."""
        for _ in range(TRIES):
            held = list(self._held(organisation_id, service_id))
            try:
                for start in range(0, len(held), HELD_AT_ONCE):
                    self._take_away(organisation_id, service_id, marked, held[start : start + HELD_AT_ONCE], by)
            except TransactionCancelled as cancelled:
                if OrganisationService in errors_by_class(cancelled):
                    raise _TakenOver from cancelled
            else:
                return
        raise Contended(f"the service {service_id!r}")

    def _held(self, organisation_id: str, service_id: str) -> Iterator[Held]:
        """Who is in the groups of the service, or is offered them; by person."""
        prefix = service_prefix(service_id)
        for member in self.db.iter(OrganisationMember.of_organisation(organisation_id).consistent()):
            for text in sorted(member.groups | member.waiting):
                if text.startswith(prefix):
                    yield member.email, text

    def _take_away(
        self, organisation_id: str, service_id: str, marked: Condition, held: Sequence[Held], by: str | None
    ) -> None:
        """From both sets, whichever they were read in: an invitation may have been accepted meanwhile."""
        groups, waiting = attr(OrganisationMember.groups), attr(OrganisationMember.waiting)
        with self.db.transaction() as tx:
            tx.check(OrganisationService.of_organisation(organisation_id, service_id), where=marked)
            for email, found in groupby(held, key=lambda one: one[0]):
                texts = {text for _, text in found}
                key = OrganisationMember.of_organisation(organisation_id, email)
                changed = attr(OrganisationMember.changed_by).set(by)
                tx.update(key, groups.exclude(texts), waiting.exclude(texts), changed)
                take(tx, organisation_id, email, [parse(text) for text in sorted(texts)])

    def _rename_service(self, service: OrganisationService, by: str | None, held: Condition) -> None:
        organisation_id, service_id = service.organisation_id, service.service_id
        try:
            with self.db.transaction() as tx:
                tx.check(Organisation.by_id(organisation_id), where=allowed(by, Capability.MANAGE_SERVICES))
                tx.update(
                    OrganisationService.of_organisation(organisation_id, service_id),
                    attr(OrganisationService.service_name).set(service.service_name),
                    attr(OrganisationService.changed_by).set(by),
                    where=held,
                )
        except TransactionCancelled as cancelled:
            self._raise_for_caller(organisation_id, by, cancelled)
            if isinstance(errors_by_class(cancelled).get(OrganisationService), NotFound):  # gone between our two writes
                raise Contended(f"the service {service_id!r}") from cancelled
            raise_for_service(organisation_id, cancelled)
            raise

    def _raise_for_caller(self, organisation_id: str, by: str | None, cancelled: TransactionCancelled) -> None:
        """Raise what a refusal of the organisation's record means, where it was refused."""
        if (error := errors_by_class(cancelled).get(Organisation)) is not None:
            raise_for_organisation(self.db, organisation_id, by, Capability.MANAGE_SERVICES, error)
