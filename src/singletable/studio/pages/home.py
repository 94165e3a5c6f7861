"""Home: the tables, their classes with sampled counts and sizes, which class is in which index, health and costs."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from singletable.foundation import (
    Finding,
    Model,
    Table,
    captured_of,
    class_summary,
    collections_of,
    entity_name,
)
from singletable.reports import ClassShape
from singletable.studio.health import check_health, health_of
from singletable.studio.page import Action, Page, Section
from singletable.studio.samples import Sample, sample_of
from singletable.studio.site import colour_of
from singletable.studio.view import PageCost, View
from singletable.studio.visit import Visit

_OF_BLOBS = "blob."
_OF_CONSUMERS = ("change.", "dead-letter.", "lease.", "try.")
"""The codes of findings whose key is not an item's: a shard and a position in it."""


class ClassKeyCell(Struct, frozen=True):
    """The key of a class in the table, or in one of its indexes."""

    pattern: str
    partition: str
    sort: str
    address: str


class ClassRow(Struct, frozen=True):
    """A class of a table."""

    name: str
    type: str
    colour: str
    address: str
    """The page of the class; empty for the library's own."""
    about: str
    is_own: bool
    """Whether it is a class of the application, and not the library's."""
    items: int | None
    """The number in a sample, scaled to the table; None if nothing was sampled."""
    bytes: int | None
    mean: float | None
    largest: int | None
    cells: tuple[ClassKeyCell | None, ...]
    """Its key in the table, then in each index; None if it is not in it."""
    patterns: int


class CollectionRow(Struct, frozen=True):
    name: str
    about: str
    partition: str
    address: str


class SampleNote(Struct, frozen=True):
    """The basis of the counts."""

    at: datetime
    seen: int | None
    """Items; None for who may not read every class."""
    share: float


class FindingRow(Struct, frozen=True):
    """The finding of a check at one item."""

    code: str
    what: str
    key: str
    address: str
    """Its item, or the page of work for the state of a consumer; empty for a blob."""


class HealthNote(Struct, frozen=True):
    """The result of the last check of a sample."""

    at: datetime
    part: float
    found: int
    rows: tuple[FindingRow, ...]
    left_out: tuple[str, ...]
    """The omitted checks, in words."""


class TableCard(Struct, frozen=True):
    """One table."""

    name: str
    status: str
    items: int | None
    bytes: int | None
    sample: SampleNote | None
    indexes: tuple[str, ...]
    rows: tuple[ClassRow, ...]
    collections: tuple[CollectionRow, ...]
    unknown: tuple[str, ...]
    """Types of items that no class of the program has."""
    has_stream: bool
    sample_action: str
    health: HealthNote | None
    """The last check; None before the first one."""
    check_action: str
    """Empty for who may not read every class."""


class Home(View, frozen=True, kw_only=True):
    """The page."""

    tables: tuple[TableCard, ...]
    began: datetime
    pages: int
    """Pages that were made since then, this one not among them."""
    total: PageCost
    """Their cost."""
    writes: bool


async def load_home(visit: Visit) -> Home:
    """Two requests and one page of a scan for each table, the first time; nothing after that."""
    site = visit.site
    cards = [_card(visit, table, await sample_of(site, table)) for table in site.tables]
    return Home(
        title="Home",
        tables=tuple(cards),
        began=site.totals.began,
        pages=site.totals.pages,
        total=site.totals.cost,
        writes=site.write,
    )


async def read_sample(visit: Visit) -> str:
    """Read a new sample of a table."""
    await sample_of(visit.site, visit.table, anew=True)
    return f"{visit.links.home()}#{visit.table.name}"


async def check(visit: Visit) -> str:
    """Check a sample of a table."""
    visit.must_read_all()
    await check_health(visit.site, visit.table)
    return f"{visit.links.home()}#health-{visit.table.name}"


def _card(visit: Visit, table: Table, sample: Sample | None) -> TableCard:
    shapes = {shape.type: shape for shape in sample.shape.classes} if sample is not None else {}
    readable = [model for model in table.models if visit.may_read(None if model.is_system else model.kind)]
    known = {model.type for model in (*table.models, *table.leaving)}
    unknown = tuple(sorted(type for type in shapes if type not in known and not type.startswith("_")))
    told = sample if visit.reads_all else None
    return TableCard(
        table.name,
        sample.status if sample is not None else "missing",
        told.items if told is not None else None,
        told.bytes if told is not None else None,
        SampleNote(sample.at, sample.shape.seen if visit.reads_all else None, sample.share)
        if sample is not None
        else None,
        tuple(table.definition.indexes),
        tuple(_row(visit, table, model, shapes.get(model.type), sample is not None) for model in readable),
        _collections(visit, table),
        unknown if visit.reads_all else (),
        sample is not None and sample.has_stream,
        visit.links.of(f"/sample/{table.name}"),
        _health(visit, table) if visit.reads_all else None,
        visit.links.of(f"/check/{table.name}") if visit.reads_all else "",
    )


def _health(visit: Visit, table: Table) -> HealthNote | None:
    health = health_of(visit.site, table)
    if health is None:
        return None
    rows = tuple(
        FindingRow(
            finding.code,
            finding.what,
            " / ".join(visit.shown_place(table, finding.type, finding.key)),
            _where(visit, table, finding),
        )
        for finding in health.findings
    )
    return HealthNote(health.at, health.part, health.found, rows, health.left_out)


def _where(visit: Visit, table: Table, finding: Finding) -> str:
    if finding.code.startswith(_OF_BLOBS):
        return ""
    if finding.code.startswith(_OF_CONSUMERS):
        return visit.links.of(f"/work/{table.name}")
    return visit.item_address(table, finding.type, finding.key)


def _row(visit: Visit, table: Table, model: Model[object], shape: ClassShape | None, sampled: bool) -> ClassRow:
    name = entity_name(model.kind)
    none = 0 if sampled else None
    return ClassRow(
        name,
        model.type,
        colour_of(table, model.type),
        "" if model.is_system else visit.links.entity(table.name, name),
        visit.told(class_summary(model.kind)),
        not model.is_system,
        shape.items if shape is not None else none,
        shape.bytes if shape is not None else none,
        shape.mean if shape is not None and shape.items else None,
        shape.largest if shape is not None else None,
        tuple(_cell(visit, table, model, index) for index in (None, *table.definition.indexes)),
        len(captured_of(model)),
    )


def _cell(visit: Visit, table: Table, model: Model[object], index: str | None) -> ClassKeyCell | None:
    captured = model.key if index is None else model.indexes.get(index)
    if captured is None:
        return None
    partition, sort = captured.templates
    address = visit.links.pattern(table.name, entity_name(model.kind), captured.name)
    return ClassKeyCell(captured.name, partition.shown, sort.shown, "" if model.is_system else address)


def _collections(visit: Visit, table: Table) -> tuple[CollectionRow, ...]:
    rows: list[CollectionRow] = []
    for kind, name, bound in collections_of(table):
        if all(visit.may_read(place.kind) for place in kind.__collection_fields__.values()):
            partition = bound.pattern.captured.templates[0].shown
            address = visit.links.pattern(table.name, entity_name(kind), name)
            rows.append(
                CollectionRow(f"{entity_name(kind)}.{name}", visit.told(class_summary(kind)), partition, address)
            )
    return tuple(rows)


SECTION = Section(
    pages=(Page("/", "home.html", load_home, nav="Home", order=0),),
    actions=(
        Action("/sample/{table}", read_sample, writes=False),
        Action("/check/{table}", check, writes=False),
    ),
)
