"""The passes of a check: over a table, over an index, or over a layer's items elsewhere.

Each pass is read in segments, a page of each at a time. A page's findings depend on that page and on the items that it
names, so nothing is kept in memory between two pages but the positions and a few counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from msgspec import Struct

from singletable.errors import SingletableError, TransactionCancelled
from singletable.flow import Port, pages_of
from singletable.operations import MAX_BATCH_GET, RAW, BatchGetItem, Item, Key, Query, Selection
from singletable.records.commit import commit
from singletable.records.findings import Finding
from singletable.records.guarded_write import GuardedWrite
from singletable.records.query_request import partition_query
from singletable.records.readers import Place, place_in
from singletable.records.segments import PAGE, PageRead, ScanSegment, scan_pages
from singletable.schema import Table
from singletable.tables import READ_BYTES


@dataclass(frozen=True)
class Repair:
    """A write that mends a finding, conditional on everything that it was decided from."""

    what: str
    """The write in words, without values."""
    apply: Callable[[Port], Awaitable[bool]]
    """Sends it; False if an item was changed since it was read."""


async def commit_repair(port: Port, writes: Sequence[GuardedWrite]) -> bool:
    """Send the writes of a repair as one transaction; False if an item was changed since it was read."""
    try:
        await commit(port, writes, needed_by="a repair")
    except TransactionCancelled:
        return False
    return True


class ConfirmedFinding(Struct, frozen=True):
    """A finding that persists, and its repair; None if a person has to decide."""

    repair: Repair | None


class ItemCheck(ABC):
    """One layer's check of a page of items."""

    repairs: frozenset[str] = frozenset()
    """The codes of findings that may have a repair."""
    looks_twice: bool = False
    """Whether `findings` has verified its result by a second look. Otherwise its caller does, item by item."""
    page: int = PAGE
    """Most items at once: fewer where one may take many requests."""
    beside: str = ""
    """The parts that `findings` compares with other items, in words: a check of an export leaves that out."""

    @property
    def is_compared(self) -> bool:
        """Whether it compares items with others, or with anything that they don't show by themselves."""
        return bool(self.beside) or type(self).alone is ItemCheck.alone

    @abstractmethod
    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        """The findings of these items. Referenced items are read consistently."""

    def alone(self, items: Sequence[Item], now: float) -> list[Finding]:
        """The findings that items show by themselves, at a time: the part of `findings` that reads nothing else. A
        check that has neither this nor `beside` is left out of a check of an export, by its class's name."""
        return []

    async def end(self, port: Port) -> list[Finding]:
        """The findings of the table itself. Not called for a sample."""
        return []

    async def page_findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        """The findings of a page of all items. A later pass finds the ones that need all items."""
        return await self.findings(port, items)

    def counted(self, items: Sequence[Item]) -> Mapping[str, int]:
        """Numbers for a later pass to compare with, added up over the pages."""
        return {}

    async def repair(self, port: Port, item: Item, finding: Finding) -> Repair | None:
        """The repair of a finding of an item that was just read; None if a person has to decide."""
        return None


class Pass(ABC):
    """One reading of everything of a kind."""

    table: Table
    name: str
    sampling: Literal["parts", "whole", "none"] = "parts"
    """The reading of a sample: some parts of a scan; all, as it is small; or nothing, as a part proves nothing."""
    is_sample: bool = False
    as_of: float | None = None
    """The moment of an export whose items are read in place of the table's; None for the table."""
    not_sampled: str = ""
    """The checks that a sample omits, in words; empty if it has all."""
    note: str = ""
    """Why there was nothing to check, in words; known once it was read."""
    repairs: frozenset[str] = frozenset()
    """The codes of its findings that the repairs of the table's items mend."""

    def segments(self, at_once: int) -> int:
        """The number of disjoint segments; `at_once` of them are read together."""
        return at_once

    @abstractmethod
    async def read(self, port: Port, segments: Sequence[ScanSegment]) -> list[PageRead]:
        """The next page of each segment: one round trip."""

    def read_units(self, bytes: int, of_indexes: Mapping[str, int]) -> float:
        """The units to read all of it, by the sizes of the table and its indexes."""
        return 0.0

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        return []

    def counted(self, items: Sequence[Item]) -> Mapping[str, int]:
        return {}

    async def end(self, port: Port, counts: Mapping[str, int]) -> list[Finding]:
        """The findings after all has been read. Not called for a sample."""
        return []


class Layer(Protocol):
    """A layer that a check takes in addition to a table: `Tasks`, `Changes`, `Documents(db, Kind)`, `Sync`."""

    def checks(self) -> LayerChecks:
        """The layer's checks of a table."""
        ...


class LayerChecks(Struct, frozen=True):
    """A layer's additions to the check of its table."""

    table: Table
    items: tuple[ItemCheck, ...] = ()
    passes: tuple[Pass, ...] = ()
    left_out: tuple[str, ...] = ()
    """The checks that are not possible here, in words."""

    def checks(self) -> LayerChecks:
        """Themselves, as `db.check` takes a layer."""
        return self


async def items_at(port: Port, table: Table, places: Iterable[Place]) -> dict[Place, Item]:
    """The existing items at some places, read consistently, 100 in a request, 1,600 in a round trip."""
    keys: list[Key] = table.definition.keys_at(dict.fromkeys(places))
    items: dict[Place, Item] = {}
    while keys:
        parts = [keys[i : i + MAX_BATCH_GET] for i in range(0, len(keys), MAX_BATCH_GET)]
        answers = await port.send_all([BatchGetItem(table.name, part, RAW, consistent=True) for part in parts])
        items |= {place_in(table, item): item for answer in answers for item in answer.items}
        keys = [key for answer in answers for key in answer.rest]
    return items


async def partition_items(port: Port, table: Table, index: str | None, text: str) -> list[Item]:
    """The items of a partition, read consistently; for an index, read again from the table. A request a page, and for
    an index `items_at`."""
    pages = pages_of(port, lambda after: partition_query(table, text, after, index=index))
    items = [item async for page in pages for item in page.items]
    if index is None:
        return items
    return list((await items_at(port, table, [place_in(table, item) for item in items])).values())


def row_query(table: Table, index: str, item: Item) -> Query[Item]:
    """The request for the rows of an index at the place where an item's row lies."""
    keys = tuple(filter(None, table.definition.index_keys(index)))
    values = {f":{n}": item[name] for n, name in enumerate(keys)}
    selection = Selection(index, names={f"#{n}": name for n, name in enumerate(keys)}, values=values)
    return Query(table.name, " AND ".join(f"#{n} = :{n}" for n, _ in enumerate(keys)), selection, RAW)


def type_in(table: Table, item: Item) -> str:
    """The stored type of an item; empty where it has none."""
    return table.type_of(item)


def entity_at(table: Table, item: Item) -> Any:
    """The entity of an item; None if it is being deleted, or no class here can read it: the check reports that."""
    model = table.model_of_type(type_in(table, item))
    try:
        return None if model is None else model.load(item)
    except SingletableError:
        return None


class ItemPass(Pass):
    """All items of a table, for the checks of records and of every layer at once."""

    name = "items"

    def __init__(self, table: Table, checks: Sequence[ItemCheck]) -> None:
        self.table, self.checks = table, tuple(checks)
        self.repairs = frozenset(code for check in checks for code in check.repairs)

    async def read(self, port: Port, segments: Sequence[ScanSegment]) -> list[PageRead]:
        return await scan_pages(port, self.table, segments, page=min(check.page for check in self.checks))

    def read_units(self, bytes: int, of_indexes: Mapping[str, int]) -> float:
        return bytes / READ_BYTES

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        if self.as_of is not None:
            return [finding for check in self.checks for finding in check.alone(items, self.as_of)]
        told = [finding for check in self.checks for finding in await self._twice(port, check, items)]
        return list(dict.fromkeys(told))

    async def _twice(self, port: Port, check: ItemCheck, items: Sequence[Item]) -> list[Finding]:
        """The findings of two readings: an item with findings is read again, so that a write in between is not one."""
        findings = await (check.findings if self.is_sample else check.page_findings)(port, items)
        if not findings or check.looks_twice:
            return findings
        again = await items_at(port, self.table, [finding.key for finding in findings])
        still = Counter((each.code, each.key) for each in await check.findings(port, list(again.values())))
        return [finding for finding in findings if still[finding.code, finding.key]]

    def counted(self, items: Sequence[Item]) -> Mapping[str, int]:
        return sum((Counter(check.counted(items)) for check in self.checks), Counter[str]())

    async def end(self, port: Port, counts: Mapping[str, int]) -> list[Finding]:
        if self.as_of is not None:
            return []
        return [finding for check in self.checks for finding in await check.end(port)]

    async def find_again(self, port: Port, item: Item, finding: Finding) -> ConfirmedFinding | None:
        """Read an item again, and return the repair of its finding; None if the finding is gone."""
        for check in self.checks:
            if finding.code in check.repairs:
                told = await check.findings(port, [item])
                if any((each.code, each.key) == (finding.code, finding.key) for each in told):
                    return ConfirmedFinding(await check.repair(port, item, finding))
        return None


class WholePass(Pass):
    """A small part that is checked in one go."""

    sampling = "whole"

    def __init__(self, table: Table, name: str, check: Callable[[Port], Awaitable[list[Finding]]]) -> None:
        self.table, self.name, self._check = table, name, check

    def segments(self, at_once: int) -> int:
        return 1

    async def read(self, port: Port, segments: Sequence[ScanSegment]) -> list[PageRead]:
        return [PageRead((), None) for _ in segments]

    async def end(self, port: Port, counts: Mapping[str, int]) -> list[Finding]:
        return await self._check(port)


def passes_of(table: Table, records: ItemCheck, layers: Sequence[Layer]) -> list[Pass]:
    """The passes of a table's check: all items once, then the further passes of the layers."""
    parts: list[Any] = [table.checks(), *(layer.checks() for layer in layers)]
    checks = [part for part in parts if part is not None]
    return [
        ItemPass(table, [records, *(check for part in checks for check in part.items)]),
        *(each for part in checks for each in part.passes),
    ]


def layer_passes(layers: Sequence[Layer]) -> list[Pass]:
    """The passes of layers alone."""
    parts = [layer.checks() for layer in layers]
    own: list[Pass] = [ItemPass(part.table, part.items) for part in parts if part.items]
    return [*own, *(each for part in parts for each in part.passes)]


def ends_with(table: Table, attached: Item, owner: Item) -> bool:
    """Whether an attached item expires when its owner does: neither does where the owner's class knows no expiry."""
    model = table.model_here(type_in(table, owner))
    expected = owner.get(table.ttl_name) if model is not None and model.expires is not None else None
    return attached.get(table.ttl_name) == expected
