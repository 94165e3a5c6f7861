"""People and their groups as a table that can be read: a page of people, and the services that any of them is in.

It reads a page of members and the list of services, never the whole organisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from organisations.access import is_member, role_in
from organisations.base import read_parties
from organisations.groups import parse
from organisations.model import Organisation, OrganisationMember, OrganisationService
from organisations.roles import Capability, Role
from organisations.service import Service
from organisations.views import Person, person
from singletable import Page, starting_with


@dataclass(frozen=True)
class Seen:
    """An organisation as the caller may see it."""

    organisation: Organisation
    caller: str
    role: Role


@dataclass(frozen=True)
class Row:
    person: Person
    role: Role
    groups: Sequence[str]
    """Of the organisation itself."""
    cells: Sequence[Sequence[str]]
    """The groups in each service of the matrix."""


@dataclass(frozen=True)
class Matrix:
    services: Sequence[OrganisationService]
    """The columns: those that somebody on this page is in."""
    rows: Sequence[Row]
    after: str | None


def seen_by(app: Service, organisation_id: str, caller: str) -> Seen:
    """1 request: 2 R. NoSuchOrganisation."""
    organisation = read_parties(app.db, organisation_id, [], caller, Capability.READ).organisation
    return Seen(organisation, caller, role_in(organisation, caller))


def services_of(app: Service, organisation_id: str) -> list[OrganisationService]:
    """1 request: 1 R for each 4 KB. Those that are being deleted are left out."""
    found = app.db.all(OrganisationService.of_organisation(organisation_id).consistent())
    return [service for service in found if service.deleted_at is None]


def matrix(
    app: Service, organisation: Organisation, *, begins: str = "", limit: int = 40, after: str | None = None
) -> Matrix:
    """A page of the members whose addresses begin with a text. 2 requests: 1 R for each 4 KB of the page, and of the
    services."""
    id = organisation.organisation_id
    everybody = OrganisationMember.of_organisation(id)
    query = OrganisationMember.of_organisation(id, email=starting_with(begins.lower())) if begins else everybody
    page: Page[OrganisationMember] = app.db.page(query.consistent(), limit=limit, after=after)
    members = [member for member in page if is_member(member)]
    held = [_held(member) for member in members]
    used = {service for groups in held for service in groups}
    columns = [service for service in services_of(app, id) if service.service_id in used]
    rows = [
        Row(
            person(member),
            role_in(organisation, member.email),
            groups.get(None, []),
            [groups.get(service.service_id, []) for service in columns],
        )
        for member, groups in zip(members, held, strict=True)
    ]
    return Matrix(columns, rows, page.cursor)


def _held(member: OrganisationMember) -> dict[str | None, list[str]]:
    """The names of their groups by service; None for the organisation's own."""
    found: dict[str | None, list[str]] = {}
    for text in sorted(member.groups):
        group = parse(text)
        found.setdefault(group.service_id, []).append(group.name)
    return found
