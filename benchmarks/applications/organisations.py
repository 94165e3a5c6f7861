"""An organisation with its members, groups and services."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.applications.case import Ask
from benchmarks.applications.data import MEMBERS, SIZES, organisation_id
from organisations.model import (
    Organisation,
    OrganisationDetails,
    OrganisationMember,
    OrganisationService,
    User,
)
from organisations.service import Service
from singletable import Database
from singletable.records import flows

ITEMS_AN_ORGANISATION = 20


class OrganisationPage:
    """Eight members: one query of the organisation's partition."""

    name = "organisation details"
    data = "organisations"
    sizes: Sequence[int] = SIZES

    def page(self, db: Database, items: int) -> Ask:
        service = Service(db)

        def ask(number: int) -> int:
            found = service.organisation_details(_some(number, items))
            assert len(found.members) == MEMBERS, found
            return len(found.members)

        return ask

    def operations(self, db: Database, items: int) -> Ask:
        def ask(number: int) -> None:
            key = OrganisationDetails.by_id(_some(number, items)).consistent()
            assert db.run(flows.get_any(db.port, key))

        return ask

    def naive(self, db: Database, items: int) -> Ask:
        """As from tables of one kind of record each, without copies: the organisation, its lists, then each user."""

        def ask(number: int) -> int:
            id = _some(number, items)
            assert db.get(Organisation.by_id(id).consistent())
            members = db.all(OrganisationMember.of_organisation(id).consistent())
            db.all(OrganisationService.of_organisation(id).consistent())
            users = [db.get(User.by_email(member.email).consistent()) for member in members]
            assert all(users), id
            return len(users)

        return ask


def _some(number: int, items: int) -> str:
    return organisation_id(number * 7919 % (items // ITEMS_AN_ORGANISATION))
