"""Import: rows into items of their classes, by the library's own writes; an export with keys as it was, item by item.

A page of rows is read as its classes declare, and written; then the target gets the progress of the import.
A row whose item is there already, just as the row says, was written by an earlier run: it is counted, not doubled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import (
    Denied,
    InvalidRequest,
    NotConfigured,
    NotSupported,
    OutcomeUnknown,
    SingletableError,
    Unavailable,
)
from singletable.exchange.bad_rows import BadRow, BadRowFile, reason_of
from singletable.exchange.entity_writes import (
    PRESENT,
    WRITERS,
    WRITTEN,
    Mode,
    held_by,
    is_there,
    keep,
    try_create,
    why_not_kept,
    why_too_large,
)
from singletable.exchange.import_files import FileRow, Unknown
from singletable.exchange.import_parts import ImportPart, ImportSource, Read
from singletable.exchange.row_items import BLANK, LEFT, entity_of, has_key, item_of
from singletable.exchange.store_faults import exhausted
from singletable.exchange.table_copy import has_items, put_patiently
from singletable.exchange.transfers import open_record
from singletable.flow import FAN_OUT, Port, patiently
from singletable.foundation import (
    ResumableRun,
    Table,
    model_for,
    moment_at,
    ready,
    tool_class,
    type_in,
)
from singletable.graph import Edge
from singletable.operations import Item

EXAMPLES: Final = 20
_MOST_KINDS: Final = 50
OTHER_KINDS: Final = "others: more kinds than are counted one by one"
_FATAL: Final = (Unavailable, Denied, OutcomeUnknown, NotConfigured, NotSupported)
"""Errors that are not a row's."""


class Imported(Struct, frozen=True):
    """The work of an import so far, in this run and in the runs that it continues."""

    read: int = 0
    written: int = 0
    """With `dry_run`, rows that would be."""
    present: int = 0
    """Rows whose item was there: as the row says, or with `if_absent` another."""
    bad: int = 0
    bad_rows: tuple[BadRow, ...] = ()
    """The first twenty."""
    unknown: dict[str, int] = {}
    """Values that the class does not declare, by column: left out, or with `unknown="keep"` stored unchanged."""
    left_out: dict[str, int] = {}
    """Rows that are not imported, by dataset or kind, and reason."""
    is_stopped: bool = False
    """True if the bad rows have reached `stop_at`."""


class ImportOptions(Struct, frozen=True):
    """The options of an import. Raises InvalidRequest for invalid ones."""

    mode: Mode = "create"
    stop_at: int | None = None
    dry_run: bool = False
    unknown: Unknown = "refuse"

    def __post_init__(self) -> None:
        if self.stop_at is not None and self.stop_at < 1:
            raise InvalidRequest(f"stop_at={self.stop_at}: an import stops at one bad row or more")


class ImportState(Struct, frozen=True):
    """The progress of an import."""

    part: int = 0
    position: Any = None
    imported: Imported = Imported()
    bad_bytes: int = 0
    """The size of the file of bad rows, when this was written: later lines are written again."""


Progress = Callable[[Imported], object]


async def import_rows(
    port: Port,
    tables: Sequence[Table],
    source: ImportSource,
    options: ImportOptions,
    bad_file: BadRowFile,
    progress: Progress | None = None,
) -> Imported:
    """Import all parts of a source, or go on with an import of the same parts that was ended."""
    for table in tables:
        await ready(port, table)
    with exhausted("import"):
        return await ImportRun(port, tables, source, options, bad_file).run(progress)


class ImportRun(ResumableRun[ImportState, Imported]):
    """One run of an import. A round is a page of the part that it is at."""

    def __init__(
        self,
        port: Port,
        tables: Sequence[Table],
        source: ImportSource,
        options: ImportOptions,
        bad_file: BadRowFile,
    ) -> None:
        self.port, self.tables, self.source, self.options, self.bad_file = port, tables, source, options, bad_file
        self.state = ImportState(imported=Imported(left_out=dict(source.left_out)))
        self.bad_here = 0
        self.pages: AsyncIterator[Read] | None = None

    @property
    def is_over(self) -> bool:
        return self.state.part >= len(self.source.parts) or self.state.imported.is_stopped

    async def begin(self) -> None:
        """Find what an earlier run did, or begin. InvalidRequest if items would be put over others unasked."""
        options, parts = self.options, [part.identity for part in self.source.parts]
        if not options.dry_run:
            what = "import", options.mode, options.unknown, self.source.is_exact, parts
            self.store = record = await open_record(self.port, self.tables[0], what, self.state)
            if self.source.is_exact and not record.was_begun and options.mode != "replace":
                await self._refuse_full()
            self.state = replace(record.state, imported=replace(record.state.imported, is_stopped=False))
        self.bad_file.begin(self.state.bad_bytes)

    def told(self) -> Imported:
        return self.state.imported

    async def round(self) -> None:
        part = self.source.parts[self.state.part]
        self.pages = self.pages or part.pages(self.state.position)
        page = await anext(self.pages)
        imported = await self._page(part, page.rows) if page.rows else self.state.imported
        number = self.state.part
        if page.position is None:
            number, self.pages = number + 1, None
        self.state = ImportState(number, page.position, imported, self.bad_file.size)

    async def end(self) -> None:
        """Delete the progress, unless the import was stopped: then it goes on there."""
        if not self.state.imported.is_stopped:
            await super().end()

    # --- a page -------------------------------------------------------------------------------------------------------
    async def _page(self, part: ImportPart, rows: Sequence[FileRow]) -> Imported:
        if self.source.is_exact:
            outcomes = await self._put(part, rows)
        else:
            outcomes = await self._write(part, rows)
        bad = [BadRow(part.name, row.number, why) for row, why in zip(rows, outcomes, strict=True) if why not in _DONE]
        counts = Counter(outcomes)
        unknown = Counter(n for row, why in zip(rows, outcomes, strict=True) if why in _DONE for n in row.rest)
        self.bad_file.add(bad)
        before = self.state.imported
        self.bad_here += len(bad)
        return replace(
            before,
            read=before.read + len(rows) - counts[BLANK],
            written=before.written + counts[WRITTEN],
            present=before.present + counts[PRESENT],
            unknown=dict(sorted((Counter(before.unknown) + unknown).items())),
            left_out=with_more_left_out(before.left_out, [row.left for row in rows if row.left]),
            bad=before.bad + len(bad),
            bad_rows=(*before.bad_rows, *bad)[:EXAMPLES],
            is_stopped=self.options.stop_at is not None and self.bad_here >= self.options.stop_at,
        )

    async def _put(self, part: ImportPart, rows: Sequence[FileRow]) -> list[str]:
        """Items as they were, but what the work of their table needed only there."""
        items = [item_of(part.dataset, row) for row in rows]
        by_table: dict[str, list[Item]] = {}
        outcomes: list[str] = []
        for row, item in zip(rows, items, strict=True):
            if isinstance(item, str):
                outcomes.append(item)
                continue
            name = str((row.cells or {}).get("table")) if part.table is None else part.table.name
            table = next((table for table in self.tables if table.name == name), None)
            if table is None:
                outcomes.append(f"the table {name} was not given")
            elif not has_key(table, item):
                outcomes.append(f"it has no key of the table: the texts {' and '.join(table.definition.key)}")
            elif (tool := tool_class(type_in(table, item))) is not None and not tool.goes_along:
                outcomes.append(PRESENT)
            else:
                by_table.setdefault(name, []).append(item)
                outcomes.append(WRITTEN)
        if not self.options.dry_run:
            for table in self.tables:
                await put_patiently(self.port, table, by_table.get(table.name, ()))
        return outcomes

    async def _write(self, part: ImportPart, rows: Sequence[FileRow]) -> list[str]:
        """Write by the rules of each class. Rows of one key or unique value go one by one, others concurrently."""
        outcomes = [""] * len(rows)
        rests = {n: row.rest for n, row in enumerate(rows) if row.rest and self.options.unknown == "keep"}
        waves: list[tuple[set[Any], list[tuple[int, Any]]]] = []
        for number, row in enumerate(rows):
            entity = entity_of(self.tables, part.dataset, row)
            if not isinstance(entity, str) and number in rests:
                entity = why_not_kept(entity, row.rest) or entity
            if isinstance(entity, str):  # the reason why it is none
                outcomes[number] = entity
                continue
            try:
                held = held_by(entity)
            except SingletableError as error:  # a value that its key can't hold
                outcomes[number] = reason_of(error)
                continue
            wave = next((each for each in waves if held.isdisjoint(each[0])), None)
            if wave is None:
                waves.append(wave := (set(), []))
            wave[0].update(held)
            wave[1].append((number, entity))
        for _, entities in waves:
            for number, outcome in await self._wave(entities, rests):
                outcomes[number] = outcome
        return outcomes

    async def _wave(
        self, entities: Sequence[tuple[int, Any]], rests: Mapping[int, Mapping[str, Any]]
    ) -> list[tuple[int, str]]:
        """Write entities of different keys: the plain new ones together, then the others concurrently. Returns the
        outcome of each, with its row's number."""
        if self.options.dry_run:
            return [(number, why_too_large(entity, rests.get(number, {})) or WRITTEN) for number, entity in entities]
        plain = [(number, entity) for number, entity in entities if number not in rests and self._is_plain(entity)]
        are_new = await self._created([entity for _, entity in plain])
        outcomes = [(number, WRITTEN) for (number, _), is_new in zip(plain, are_new, strict=True) if is_new]
        written, tried = {number for number, _ in outcomes}, {number for number, _ in plain}
        left = [(number, entity) for number, entity in entities if number not in written]
        for i in range(0, len(left), FAN_OUT):
            outcomes += await self._at_once(left[i : i + FAN_OUT], tried, rests)
        return outcomes

    async def _at_once(
        self, entities: Sequence[tuple[int, Any]], tried: Set[int], rests: Mapping[int, Mapping[str, Any]]
    ) -> list[tuple[int, str]]:
        """Write entities concurrently, each by requests of its own; `tried` are those whose `create` was refused."""
        calls: list[Callable[[], Any]] = [
            partial(self._one, entity, number in tried, rests.get(number)) for number, entity in entities
        ]
        outcomes: list[str] = await self.port.call_all(calls)
        return [(number, outcome) for (number, _), outcome in zip(entities, outcomes, strict=True)]

    def _is_plain(self, entity: Any) -> bool:
        """True if its `create` is one request, which is sent with others, without a thread for each."""
        model = model_for(entity)
        return not (self.options.mode == "replace" or isinstance(entity, Edge) or model.has_claims or model.key.was)

    async def _created(self, entities: Sequence[Any]) -> list[bool]:
        """Create entities; returns True for each new one. Refused items are retried one by one."""
        tries: dict[int, Any] = {}
        moment = moment_at(self.port)
        for at, entity in enumerate(entities):
            if (write := try_create(entity, moment)) is not None:
                tries[at] = write
        outcomes: list[bool] = await patiently(self.port, lambda: self.port.send_all(list(tries.values())))
        new = {at for at, is_new in zip(tries, outcomes, strict=True) if is_new}
        return [at in new for at in range(len(entities))]

    async def _one(self, entity: Any, was_tried: bool, rest: Mapping[str, Any] | None) -> str:
        """The outcome of one entity; most of the tried ones exist. An error that is not its own ends the import.
        Undeclared values are stored by a second write."""
        try:
            if was_tried and await patiently(self.port, partial(is_there, self.port, entity)):
                return PRESENT
            done: str = await patiently(self.port, partial(WRITERS[self.options.mode], self.port, entity))
            if rest and (done == WRITTEN or self.options.mode != "if_absent"):
                await patiently(self.port, partial(keep, self.port, entity, rest))
            return done
        except _FATAL:
            raise
        except SingletableError as error:
            return reason_of(error)

    async def _refuse_full(self) -> None:
        for table in self.tables:
            if await has_items(self.port, table):
                raise InvalidRequest(
                    "an export with keys is put item by item, and the table has items",
                    table=table.name,
                    operation="import",
                    hint='Import into an empty table; or with mode="replace" (--replace), over those of equal keys.',
                )


def with_more_left_out(counts: Mapping[str, int], kinds: Iterable[str]) -> dict[str, int]:
    """The counts of what is left out, with some more rows. Many kinds that differ are counted as one."""
    more = Counter(counts)
    for kind in kinds:
        more[kind if kind in more or len(more) < _MOST_KINDS else OTHER_KINDS] += 1
    return dict(more)


_DONE: Final = frozenset({WRITTEN, PRESENT, BLANK, LEFT})
