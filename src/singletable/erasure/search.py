"""Finds what is erased with a subject: what lies in its partition, what refers to it, and what belongs to that in turn.

    level 0    the subject: the item of its key, or the items of the pattern
    level 1    the rest of its partition, and what belongs to it by references and by the layers of the table
    level n    what belongs to an item of level n - 1

A reference whose values make a partition is queried; the rest is found by one consistent scan for each level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.erasure.records import clearing, deletion
from singletable.erasure.scan_job import ScanJobs
from singletable.erasure.wanted import Alternatives, asked_of, may_refer, references_with
from singletable.errors import Corrupt, InvalidRequest, InvalidValue, SingletableError
from singletable.flow import Port
from singletable.foundation import (
    ATTACHED_TYPES,
    Belonging,
    Captured,
    Kept,
    LayerBelongings,
    Model,
    Query,
    Reference,
    Subject,
    Table,
    TableItems,
    Unreadable,
    advanced,
    all_segments,
    cleared,
    empty,
    items_at,
    model_for,
    model_of,
    partition_items,
    place_in,
    port_over,
    read_pages,
    ready,
    scan_pages,
    tool_class,
    usual_segments,
)
from singletable.operations import Item
from singletable.schema import Whole
from singletable.tables import projected_in

_AT_ONCE = 16
_CANDIDATES = 1_600
"""Candidates of a job that are read in one round trip."""


class Root(Struct, frozen=True):
    """The items that a call names: a subject's partition, or the items of a pattern."""

    query: Query[Any]
    is_partition: bool
    subject: Subject | None
    """The subject by the arguments of a key: known even if its item is gone."""

    @property
    def name(self) -> str:
        """The pattern, without its arguments."""
        return self.query.captured.shown

    @property
    def text(self) -> str:
        """The text that identifies it. It holds personal data."""
        query = self.query
        place = ("", "") if self.is_partition else (query.low, query.high)
        return "\0".join((query.index or "", query.partition, *place))


class ErasableItems(Struct):
    """The items to erase, by level: the subject's own items are at level 0, their belongings at 1, and so on."""

    levels: list[list[Belonging]]
    clears: list[Belonging]
    kept: list[Kept]

    @property
    def is_empty(self) -> bool:
        return not self.clears and not any(self.levels)

    @property
    def in_order(self) -> list[list[Belonging]]:
        """The order of deletion: mentions first, then the deepest level, and the subject last. So what is left after a
        crash is found by the same subject again."""
        return [group for group in (self.clears, *reversed(self.levels)) if group]

    @property
    def all(self) -> list[Belonging]:
        """The order for a reader: the subject first."""
        return [*(each for level in self.levels for each in level), *self.clears]


def root_of(table: Table, asked: Query[Any] | Whole[Any]) -> Root:
    """The items that a call names. InvalidRequest for a pattern of another table."""
    whole = isinstance(asked, Whole)
    query = asked.query if isinstance(asked, Whole) else asked
    if query.model.table is not table:
        raise InvalidRequest(
            f"{query.captured.shown} reads table {query.model.table.name}",
            table=table.name,
            operation="erase",
            hint=f"Erase there: Erasure(db, {query.model.table.name}).",
        )
    query = replace(query, attributes=())
    if query.index is not None:
        return Root(query, False, None)
    partition, sort = query.captured.templates
    owns = whole or (query.is_one_key and {*sort.names} <= {*partition.names})
    if not owns and not query.is_one_key:
        return Root(query, False, None)
    values = partition.read(query.parts[0].partition if query.shards else query.partition) or {}
    low = query.low
    if whole:
        low = sort.write(values) if {*sort.names} <= values.keys() else ""
    else:
        values = {**values, **(sort.read(low) or {})}
    return Root(query, owns, Subject(query.model.kind, values, (query.partition, low)))


class SubjectSearch:
    """One look for all that is erased with a subject."""

    def __init__(
        self,
        port: Port,
        table: Table,
        layers: Sequence[LayerBelongings],
        from_export: TableItems | None = None,
        jobs: ScanJobs | None = None,
    ) -> None:
        self.jobs = jobs
        self.port, self.table, self.layers = port, table, layers
        self.scanned = port_over(port, from_export)
        """Answers scans. An item that an export has is a candidate: it is read again by its key."""
        self.is_exported, self.has_scanned = from_export is not None, False
        self.indexes = projected_in(table.definition)
        self.references = references_with(table, layers)
        self.plain = frozenset(kind for layer in layers for kind in layer.kinds)
        self.levels: list[list[Belonging]] = []
        self.taken: set[tuple[str, tuple[str, str]]] = set()
        self.mentioned: dict[tuple[str, str], tuple[Model[Any], Item, Any, dict[str, Any]]] = {}
        self.kept: dict[tuple[str, str], int] = {}
        self.new: list[Belonging] = []

    async def run(self, root: Root, known: Sequence[Subject] = (), again: Sequence[str] = ()) -> ErasableItems:
        """Everything, from a root; `known` are its subjects as an earlier search knew them, `again` what a run that was
        killed had begun to delete."""
        await ready(self.port, self.table)
        items = await self._roots(root)
        rest = [item for item in items if root.is_partition and not self._is_at(item, root.subject)]
        for item in items:
            if item not in rest:
                await self._take(item)
        named = [subject for subject in (root.subject, *known) if subject is not None]
        frontier = _missing(named, {belonging.place for belonging in self.new})
        while self.new or frontier or rest or again:
            level, self.new = self.new, []
            self.levels.append(level)
            await self._follow([*frontier, *(each.subject for each in level if each.subject is not None)])
            for text in again:
                for layer in self.layers:
                    if (half := await layer.again(self.port, text)) is not None:
                        self._add(half)
            for item in rest:  # after what a layer finds, as it deletes its own better together
                await self._take(item)
            frontier, rest, again = [], [], ()
        kept = [Kept(kind, why, count) for (kind, why), count in self.kept.items()]
        kept += [each for layer in self.layers for each in layer.keeps()]
        return ErasableItems(self.levels, self._clears(), kept)

    async def closed(self, root: Root, items: ErasableItems) -> ErasableItems | None:
        """Items that a search of an export found, if the table has nothing more: one scan looks for all levels at once.

        None if there is more: items of an owner that only the export's search found could not be found after it.
        """
        self.taken = {(each.kind, each.place) for level in items.levels for each in level}
        there = [each for level in items.levels for each in level]
        gone = _missing([root.subject] if root.subject is not None else [], {each.place for each in there})
        await self._follow([*gone, *(each.subject for each in there if each.subject is not None)])
        return None if self.new else ErasableItems(items.levels, self._clears(), items.kept)

    # --- roots --------------------------------------------------------------------------------------------------------
    async def _roots(self, root: Root) -> list[Item]:
        query = root.query
        if root.is_partition:
            texts = query.shards or (query.partition,)
            return [item for text in texts for item in await partition_items(self.port, self.table, None, text)]
        if query.index is None and query.is_one_key:
            return list((await items_at(self.port, self.table, [(query.partition, query.low)])).values())
        places: list[tuple[str, str]] = []
        told: list[Unreadable] = []
        async for entities in read_pages(self.port, query, told.append):
            places += [model_for(entity).place_of(entity) for entity in entities]
        places += [(each.key.partition, each.key.low) for each in told]
        return list((await items_at(self.port, self.table, places)).values())

    def _is_at(self, item: Item, subject: Subject | None) -> bool:
        return subject is not None and subject.place == place_in(self.table, item)

    # --- one item -----------------------------------------------------------------------------------------------------
    async def _take(self, item: Item, by: Reference | None = None) -> None:
        """An item that is deleted, in its layer's way where it is one of a layer's."""
        type_name = self.table.type_of(item)
        model = self.table.model_of_type(type_name)
        if model is None:
            if type_name not in ATTACHED_TYPES and tool_class(type_name) is None:
                self._keep(type_name or "(no type)", "no class of this program has the type")
            return None
        for layer in self.layers:
            if layer.is_left(model, item):
                return None
            try:
                belonging = await layer.at(self.port, model, item)
            except Corrupt:
                return self._keep_unreadable(model)
            if belonging is not None:
                return self._add(belonging)
        if model.is_system and model.kind not in self.plain:
            return self._keep(model.kind.__name__, "an item of a layer that the erasure was not given")
        entity = self._loaded(model, item)
        if entity is not None:
            self._add(deletion(model, item, entity, self.indexes, by))
        return None

    def _add(self, belonging: Belonging) -> None:
        name = belonging.kind, belonging.place
        if name not in self.taken:
            self.taken.add(name)
            self.new.append(belonging)

    def _keep(self, kind: str, why: str) -> None:
        self.kept[kind, why] = self.kept.get((kind, why), 0) + 1

    def _loaded(self, model: Model[Any], item: Item) -> Any:
        try:
            return model.load_anywhere(item)
        except SingletableError:
            return self._keep_unreadable(model)

    def _tell(self, item: Unreadable) -> None:
        """Once, though a layer may read it again for the subjects of each level."""
        place = item.key.model.type, (item.key.partition, item.key.low)
        if place not in self.taken:
            self.taken.add(place)
            self._keep_unreadable(item.key.model)

    def _keep_unreadable(self, model: Model[Any]) -> None:
        self._keep(model.kind.__name__, "its class can't read it: db.check(table) says why")

    # --- references ---------------------------------------------------------------------------------------------------
    async def _follow(self, subjects: Sequence[Subject]) -> None:
        """Find the items that refer to subjects, and the layers' items of them."""
        if not subjects:
            return
        asked, scanned = asked_of(self.references, subjects)
        for i in range(0, len(asked), _AT_ONCE):
            part = asked[i : i + _AT_ONCE]
            calls: list[Callable[[], Any]] = [partial(self._read, captured, wanted) for captured, _, wanted in part]
            found = await self.port.call_all(calls)
            for (_, reference, wanted), items in zip(part, found, strict=True):
                for item in items:
                    await self._meet(item, [(reference, wanted)])
        watchers: dict[str, list[LayerBelongings]] = {}
        for layer in self.layers:
            for name in layer.scans(subjects):
                watchers.setdefault(name, []).append(layer)
        if scanned or watchers:
            self.has_scanned = True
            await self._scan(subjects, scanned, watchers)
        for layer in self.layers:
            for belonging in await layer.of(self.port, subjects, self._tell):
                self._add(belonging)

    async def _read(self, captured: Captured, wanted: Mapping[str, Any]) -> list[Item]:
        try:
            text = captured.templates[0].write(wanted)
        except InvalidValue:
            return []  # no item has a key with that value
        return await partition_items(self.port, self.table, captured.index, text)

    async def _scan(
        self,
        subjects: Sequence[Subject],
        wanted: Mapping[str, Alternatives],
        watchers: Mapping[str, Sequence[LayerBelongings]],
    ) -> None:
        scanned = self.scanned
        if self.jobs is not None and not self.is_exported:
            places = await self.jobs.candidates(self.port, subjects, wanted, watchers)
            if places is not None:
                for i in range(0, len(places), _CANDIDATES):
                    there = await items_at(self.port, self.table, places[i : i + _CANDIDATES])
                    await self._look([*there.values()], wanted, watchers)
                return
            scanned = self.jobs.alone_at_rate(scanned)
        segments = all_segments(usual_segments(scanned))
        while segments:
            pages = await scan_pages(scanned, self.table, segments)
            await self._look([item for page in pages for item in page.items], wanted, watchers)
            segments = advanced(segments, pages)

    async def _look(
        self,
        items: Sequence[Item],
        wanted: Mapping[str, Alternatives],
        watchers: Mapping[str, Sequence[LayerBelongings]],
    ) -> None:
        """Take what refers to a subject, and show layers what they asked for."""
        for item in items:
            type_name = self.table.type_of(item)
            if (model := self.table.model_of_type(type_name)) is not None:
                for layer in watchers.get(type_name, ()):
                    layer.see(model, item)
        for item in await self._now([item for item in items if self.table.type_of(item) in wanted], wanted):
            await self._meet(item, wanted[self.table.type_of(item)])

    async def _now(self, items: Sequence[Item], wanted: Mapping[str, Alternatives]) -> list[Item]:
        """The items of a scan; for an export, the ones that may refer to a subject, read again from the table."""
        if not self.is_exported:
            return [*items]
        of_type = self.table.type_of
        places = [place_in(self.table, item) for item in items if may_refer(item, wanted[of_type(item)])]
        there = await items_at(self.port, self.table, places)
        return [item for item in there.values() if of_type(item) in wanted]

    async def _meet(self, item: Item, wanted: Iterable[tuple[Reference, Mapping[str, Any]]]) -> None:
        """Take what a reference finds, if it is of the class and has the values."""
        entity: Any = None
        for reference, values in wanted:
            model = model_of(reference.holder)
            if not model.is_mine(item):
                continue
            entity = self._loaded(model, item) if entity is None else entity
            if entity is None or not reference.is_met(entity, values):
                continue
            if reference.bond == "belongs_to":
                return await self._take(item, reference)
            self._mention(model, item, entity, reference, values)
        return None

    def _mention(
        self, model: Model[Any], item: Item, entity: Any, reference: Reference, values: Mapping[str, Any]
    ) -> None:
        place = place_in(self.table, item)
        _, _, _, wanted = self.mentioned.setdefault(place, (model, item, entity, {}))
        for name in reference.clears:
            held = wanted.get(name, getattr(entity, name))
            one = values.get(name) if reference.bond == "mentions" else None
            after = empty(model, name) if reference.bond == "copy" else cleared(model, name, held, one)
            if after != getattr(entity, name):
                wanted[name] = after

    def _clears(self) -> list[Belonging]:
        """The mentions to clear in items that stay."""
        gone = {place for _, place in self.taken}
        return [
            clearing(model, item, entity, self.indexes, wanted)
            for place, (model, item, entity, wanted) in self.mentioned.items()
            if place not in gone and wanted
        ]


def _missing(named: Sequence[Subject], there: set[tuple[str, str]]) -> list[Subject]:
    """The subjects whose item is gone: the latest that is known of each."""
    return list({subject.place: subject for subject in named if subject.place not in there}.values())
