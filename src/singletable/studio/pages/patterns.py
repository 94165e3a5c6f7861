"""Patterns: every access pattern, and each as a form, with its cost before and after, its requests, calls to copy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace as altered
from inspect import cleandoc
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import NotFound
from singletable.foundation import (
    AccessPattern,
    KeyOf,
    Query,
    Table,
    catalogue,
    covered_body,
    flows,
    page as read_page,
    personal_names,
    shard_limit,
)
from singletable.pattern_calls import Pattern, patterns_of
from singletable.records import Explained
from singletable.schema import Collection, Whole, whole_items
from singletable.studio.addresses import segment
from singletable.studio.calls import CallText, PatternCall, calls_of
from singletable.studio.page import Action, Page, Section
from singletable.studio.pattern_forms import Arguments, FormField, address_query, arguments_of, is_personal
from singletable.studio.rows import EntityRows, rows_of
from singletable.studio.samples import Sample
from singletable.studio.site import colour_of
from singletable.studio.text import escaped
from singletable.studio.view import View
from singletable.studio.visit import Visit
from singletable.tables import read_units

LIMITS = (25, 100, 500)
MOST_PAGES = 4
"""Requests of a page whose filter leaves most of what is read out."""


class PatternRow(Struct, frozen=True):
    """A pattern in the list."""

    name: str
    signature: str
    about: str
    partition: str
    sort: str
    index: str
    requests: str
    address: str


class PatternGroup(Struct, frozen=True):
    """The patterns of one class or collection."""

    entity: str
    colour: str
    rows: tuple[PatternRow, ...]


class PatternTable(Struct, frozen=True):
    name: str
    groups: tuple[PatternGroup, ...]


class Patterns(View, frozen=True, kw_only=True):
    """The list."""

    tables: tuple[PatternTable, ...]
    count: int


class ShownRequest(Struct, frozen=True):
    """A request."""

    operation: str
    place: str
    cost: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return escaped(json.dumps(self.body, ensure_ascii=False, indent=2))


class PatternPage(View, frozen=True, kw_only=True):
    """A pattern as a form; with arguments, what it finds."""

    table: str
    entity: str
    name: str
    colour: str
    about: str
    kind: str
    partition: str
    sort: str
    index: str
    requests: str
    capacity: str
    notes: tuple[str, ...]
    fields: tuple[FormField, ...]
    by_post: bool
    """The form is sent by POST, so that no personal value stands in an address."""
    pages: bool
    """It can return several items, and so takes a limit and an order."""
    limit: int
    limits: tuple[int, ...]
    newest_first: bool
    consistent: bool
    may_be_consistent: bool
    predicted: float | None
    """Read units, by the mean size of a sample; None if none was read."""
    asked: bool
    results: tuple[EntityRows, ...]
    found: int
    next: str
    """The address of the next page."""
    sent: tuple[ShownRequest, ...]
    calls: tuple[CallText, ...]


async def load_patterns(visit: Visit) -> Patterns:
    """Nothing is sent."""
    tables = tuple(_listed(visit, table) for table in visit.site.tables)
    return Patterns(title="Patterns", tables=tables, count=sum(len(g.rows) for t in tables for g in t.groups))


async def load_pattern(visit: Visit) -> PatternPage:
    """Nothing without arguments; with them what the pattern costs."""
    described, pattern = _pattern_of(visit)
    arguments = arguments_of(visit, pattern)
    page = _form(visit, described, pattern, arguments)
    if not arguments.is_complete:
        return page
    return await _answered(visit, pattern, arguments, page)


async def open_pattern(visit: Visit) -> str:
    """The address of a form that was sent, with its personal values sealed."""
    described, pattern = _pattern_of(visit)
    query = address_query(visit, pattern, {**visit.form, "run": "1"})
    return visit.links.pattern(visit.table.name, described.entity, described.name, query)


def _listed(visit: Visit, table: Table) -> PatternTable:
    groups: dict[str, list[PatternRow]] = {}
    colours: dict[str, str] = {}
    kinds = {(p.entity, p.name): _kinds(p) for p in patterns_of(table)}
    for pattern in catalogue(table):
        of = kinds[pattern.entity, pattern.name]
        if all(visit.may_read(kind) for kind in of):
            groups.setdefault(pattern.entity, []).append(_row(visit, pattern))
            colours[pattern.entity] = "kx" if pattern.kind == "collection" else colour_of(table, of[0].__model__.type)
    return PatternTable(table.name, tuple(PatternGroup(e, colours[e], tuple(rows)) for e, rows in groups.items()))


def _row(visit: Visit, pattern: AccessPattern) -> PatternRow:
    signature = visit.told(", ".join(parameter.shown for parameter in pattern.parameters))
    address = visit.links.pattern(pattern.table, pattern.entity, pattern.name)
    about = visit.told(pattern.description.partition("\n")[0])
    return PatternRow(
        pattern.name, signature, about, pattern.partition, pattern.sort, pattern.index or "", pattern.requests, address
    )


def _pattern_of(visit: Visit) -> tuple[AccessPattern, Pattern]:
    """The pattern that the path names; NotFound, also for one of a class that the user may not read."""
    entity, name, table = visit.path["entity"], visit.path["name"], visit.table
    wanted = segment(entity), segment(name)
    described = next((p for p in catalogue(table, system=True) if _segments(p) == wanted), None)
    pattern = next((p for p in patterns_of(table) if _segments(p) == wanted), None)
    if described is None or pattern is None or not all(visit.may_read(each) for each in _owned(pattern)):
        raise NotFound("no such access pattern", table=table.name, operation=f"{entity}.{name}")
    return described, pattern


def _segments(pattern: AccessPattern | Pattern) -> tuple[str, str]:
    return segment(pattern.entity), segment(pattern.name)


def _kinds(pattern: Pattern) -> tuple[Any, ...]:
    """The classes whose items a pattern returns."""
    kind: Any = getattr(pattern.call, "kind", None)
    if isinstance(kind, type) and issubclass(kind, Collection):
        return tuple(place.kind for place in kind.__collection_fields__.values())
    return (pattern.captured.owner,)


def _owned(pattern: Pattern) -> tuple[Any, ...]:
    """The classes of the application whose items a pattern returns; None for one of the library's own."""
    return tuple(None if kind.__model__.is_system else kind for kind in _kinds(pattern))


def _form(visit: Visit, described: AccessPattern, pattern: Pattern, arguments: Arguments) -> PatternPage:
    limit = visit.number("limit", LIMITS[0], LIMITS[-1])
    pages = described.kind != "collection" and not _is_whole_key(pattern, arguments)
    consistent = described.may_be_consistent and visit.query.get("consistent") == "1"
    type_name = pattern.captured.model.type
    return PatternPage(
        title=pattern.shown,
        table=visit.table.name,
        entity=described.entity,
        name=described.name,
        colour="kx" if described.kind == "collection" else colour_of(visit.table, type_name),
        about=visit.told(cleandoc(described.description)),
        kind=described.kind,
        partition=described.partition,
        sort=described.sort,
        index=described.index or "",
        requests=described.requests,
        capacity=described.capacity,
        notes=_notes(described),
        fields=arguments.fields,
        by_post=is_personal(pattern),
        pages=pages,
        limit=limit,
        limits=LIMITS,
        newest_first=visit.query.get("order") == "newest",
        consistent=consistent,
        may_be_consistent=described.may_be_consistent,
        predicted=_predicted(visit, type_name, limit if pages else 1, consistent),
        asked=False,
        results=(),
        found=0,
        next="",
        sent=(),
        calls=(),
    )


def _notes(described: AccessPattern) -> tuple[str, ...]:
    notes: list[str] = []
    if described.needs_type_filter:
        notes.append("Items of other classes can lie in its range: a filter leaves them out, and they are paid for.")
    if described.sparse_by:
        notes.append(f"Only items with {' and '.join(described.sparse_by)} are in the index.")
    return tuple(notes)


def _is_whole_key(pattern: Pattern, arguments: Arguments) -> bool:
    """Whether the given arguments name one item."""
    captured = pattern.captured
    if captured is not captured.model.key:
        return False
    if any(how != "exactly" for how, _ in arguments.texts.values()):
        return False
    return set(arguments.values) >= set(captured.parameters) or pattern.required == tuple(captured.parameters)


def _predicted(visit: Visit, type_name: str, items: int, consistent: bool) -> float | None:
    """The read units of `items` items of the mean size, by the kept sample; it reads none."""
    sample: Sample | None = visit.site.kept.get(f"sample {visit.table.name}")
    shape = next((s for s in sample.shape.classes if s.type == type_name), None) if sample is not None else None
    if shape is None or not shape.items:
        return None
    return read_units(max(1.0, shape.mean * min(items, shape.items)), consistent=consistent)


async def _answered(visit: Visit, pattern: Pattern, arguments: Arguments, page: PatternPage) -> PatternPage:
    asked = pattern.call(**arguments.values)
    query = asked.query if isinstance(asked, Whole) else asked
    if page.newest_first and not isinstance(asked, Whole):
        asked = query = query.newest_first()
    if page.consistent:
        asked, query = asked.consistent(), query.consistent()
    query = whole_items(query)
    asked = replace(cast("Any", asked), query=query) if isinstance(asked, Whole) else query
    reads_one = isinstance(asked, Whole) or (isinstance(asked, KeyOf) and asked.is_one_key)
    requests = _requests(visit, asked, query, None if reads_one or query.filter is not None else page.limit)
    results, following = await _results(visit, asked, reads_one, page.limit)
    covered = personal_names(pattern.captured.model.kind) if visit.covered else frozenset[str]()
    call = PatternCall(
        visit.site.module or "MODULE",
        visit.site.place.target,
        pattern,
        arguments.texts,
        arguments.values,
        covered,
        reads_one,
        page.limit,
        page.newest_first,
        page.consistent,
    )
    here = {**visit.query, "after": following, "run": "1"}
    return replace(
        page,
        pages=not reads_one,
        asked=True,
        results=results,
        found=sum(len(each.rows) for each in results),
        next=visit.links.pattern(page.table, page.entity, page.name, here) if following else "",
        sent=tuple(ShownRequest(r.operation, r.index or r.table, r.cost, r.body) for r in requests),
        calls=calls_of(call, requests, visit.site.place.region),
    )


def _requests(visit: Visit, asked: Any, query: Query[Any], limit: int | None) -> Sequence[Explained]:
    """The requests, with covered values; the query's with the limit, which is not part of it."""
    limited = {} if limit is None else {"Limit": shard_limit(limit, len(query.shards)) if query.shards else limit}
    requests = [
        altered(each, body={**each.body, **limited}) if each.operation == "Query" else each
        for each in flows.explain(asked, now=visit.db.port.now())
    ]
    return [altered(each, body=covered_body(query, each.body)) for each in requests] if visit.covered else requests


async def _results(visit: Visit, asked: Any, reads_one: bool, limit: int) -> tuple[tuple[EntityRows, ...], str]:
    told = visit.unread.append
    if isinstance(asked, Whole):
        whole: Whole[Any] = cast("Any", asked)
        return _parts(visit, whole.kind, await visit.db.get(whole, unreadable=told)), ""
    kind = asked.kinds[0]
    if reads_one:
        found = await visit.db.get(asked, unreadable=told)
        return (rows_of(visit, kind, [] if found is None else [found]),), ""
    seal, after = visit.links.seal, visit.query.get("after") or None
    page: Any = await read_page(visit.db.port, asked, limit, after, seal, visit.user, MOST_PAGES, told)
    return (rows_of(visit, kind, page.items),), page.cursor or ""


def _parts(visit: Visit, kind: type[Collection], collection: Any) -> tuple[EntityRows, ...]:
    parts: list[EntityRows] = []
    for name, place in kind.__collection_fields__.items():
        part: Any = getattr(collection, name) if collection is not None else None
        items: list[Any] = list(part or ()) if place.many else [] if part is None else [part]
        parts.append(rows_of(visit, place.kind, items, name))
    return tuple(parts)


SECTION = Section(
    pages=(
        Page("/patterns", "patterns.html", load_patterns, nav="Patterns", order=10, style="patterns.css"),
        Page(
            "/patterns/{table}/{entity}/{name}",
            "pattern.html",
            load_pattern,
            style="patterns.css",
            script="patterns.js",
        ),
    ),
    actions=(Action("/patterns/{table}/{entity}/{name}", open_pattern, writes=False),),
)
