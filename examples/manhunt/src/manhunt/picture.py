"""The published picture of the table, drawn from the live one: each item a row, each of its keys the name of the field
over the value. A key's columns mean something else in each row, which is what the picture is for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from manhunt.model import ContactDetails, IncidentDetails, SearchDetails, manhunt
from manhunt.service import Service
from singletable import Entity

FEW = 3
"""Of each kind: as many as fit on a page."""
MOST_ROWS = 200
COLUMNS = ("PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")


@dataclass(frozen=True)
class Cell:
    """One attribute of one item: what it holds, and what that is in this row."""

    field: str
    value: str


@dataclass(frozen=True)
class Row:
    """An item, by the attributes that it can be found by."""

    kind: str
    cells: dict[str, Cell]
    """By column; an item that is not in an index has none for it."""


def picture(app: Service, domain_id: str) -> list[Row]:
    """Some of a domain's items with all that lies in their partitions, in the order of their keys. A query for each
    kind and for each partition, 30 at most."""
    rows = [row_of(entity) for entity in _some(app, domain_id)]
    return sorted(rows, key=lambda row: (row.cells["PK"].value, row.cells["SK"].value))[:MOST_ROWS]


def _some(app: Service, domain_id: str) -> Iterator[Entity]:
    """The first contacts, each with its last searches; the last incidents; the first rotas and policies."""
    for contact in app.contacts_of_domain(domain_id, limit=FEW).items:
        yield from _contact(app.contact_with_methods(domain_id, contact.contact_id))
        found = app.searches_of_contact(domain_id, contact.contact_id, newest_first=True, limit=FEW)
        for search in found.items:
            yield from _search(app.search_with_attempts(domain_id, search.search_id))
    for incident in app.incidents_of_domain(domain_id, limit=FEW).items:
        yield from _incident(app.incident_with_all(domain_id, incident.incident_id))
    yield from app.rotas_of_domain(domain_id, limit=FEW).items
    yield from app.policies_of_domain(domain_id, limit=FEW).items


def _contact(found: ContactDetails) -> Iterator[Entity]:
    yield found.contact
    yield from found.methods


def _search(found: SearchDetails) -> Iterator[Entity]:
    yield found.search
    yield from found.attempts


def _incident(found: IncidentDetails) -> Iterator[Entity]:
    yield found.incident
    for owned in (found.searches, found.people, found.resources, found.reactions):
        yield from owned


def row_of(entity: Entity) -> Row:
    """By what the entity's key functions say: their fields, and what they make of its values."""
    cells: dict[str, Cell] = {}
    kind = ""
    for pattern in _patterns(type(entity)):
        captured = pattern.captured
        kind = captured.model.type
        query = pattern(*(getattr(entity, name) for name in captured.parameters))
        columns = ("PK", "SK") if captured.index is None else manhunt.definition.index_keys(captured.index)
        for column, template, value in zip(columns, captured.templates, (query.partition, query.low), strict=True):
            cells[column] = Cell(_fields(template), value)
    return Row(kind, cells)


def _patterns(kind: type[Entity]) -> Iterator[Any]:
    """Its key, and its place in each index."""
    named = (getattr(kind, name) for name in vars(kind))
    return (pattern for pattern in named if hasattr(pattern, "captured"))


def _fields(template: Any) -> str:
    """The fields that a key is made of; `entityType` where it is a word that stands for the kind of item."""
    return "#".join(template.names) or manhunt.definition.type_attribute
