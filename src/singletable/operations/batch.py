"""BatchGetItem (up to 100 keys) and BatchWriteItem (up to 25 writes): several items in one request, each by itself.

The service may do a part and name the rest; the flows above go on until all is done or the deadline has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from singletable.flow import DECLARED, Consumed, OperationFacts, Request, Response, TableNames
from singletable.operations.answers import (
    Capacity,
    Item,
    ItemReader,
    Key,
    Partition,
    build_many,
    decoder,
    decoder_of,
    encode,
    facts_of_batch,
    partitions_in,
    raise_fault,
    read_items,
)
from singletable.operations.limits import check_items
from singletable.operations.write import ContextOf, with_context

T = TypeVar("T")
W = TypeVar("W")
V = TypeVar("V")

MAX_BATCH_WRITE = 25


class _BatchGetAnswer(Struct, Generic[W], rename="pascal", gc=False):
    responses: dict[str, list[W]] = {}
    unprocessed_keys: dict[str, dict[str, Any]] = {}
    consumed_capacity: list[Capacity] = []


class _BatchWriteAnswer(Struct, rename="pascal", gc=False):
    unprocessed_items: dict[str, list[dict[str, Any]]] = {}
    consumed_capacity: list[Capacity] = []


def _only(by_table: Mapping[str, V], nothing: V) -> V:
    """The part of an answer for the one table of its request, by whichever of its names."""
    return next(iter(by_table.values()), nothing)


def _partitions_of(pattern_at: Callable[[Item], Any] | None, places: Sequence[Item]) -> list[Partition]:
    return [] if pattern_at is None else [one for place in places for one in partitions_in(pattern_at(place), [place])]


class BatchFound(Struct, Generic[T], frozen=True, gc=False):
    """The items found, in any order, and the keys that the service left unprocessed."""

    items: list[T]
    rest: list[Key]


class BatchGetItem(Struct, Generic[T], frozen=True, gc=False):
    """The items under up to 100 different keys of one table, as one list without the missing ones."""

    table: str
    keys: Sequence[Key]
    reader: ItemReader[T]
    consistent: bool = False
    pattern_at: Callable[[Item], Any] | None = None
    """The pattern of a key, for events."""

    def request(self, names: TableNames = DECLARED) -> Request:
        wanted: dict[str, Any] = {"Keys": self.keys}
        if self.consistent:
            wanted["ConsistentRead"] = True
        body = {"RequestItems": {names[self.table]: wanted}, "ReturnConsumedCapacity": "TOTAL"}
        return Request("BatchGetItem", encode(body), self.table)

    def answer(self, response: Response) -> tuple[BatchFound[T], Consumed]:
        if response.status != 200:
            raise_fault(response, "BatchGetItem", self.table)
        try:
            answer = decoder(_BatchGetAnswer, self.reader.wire)(response.body)
            wires = _only(answer.responses, [])
            items = build_many(self.reader, wires)
        except Exception:  # also from a class's own code
            answer = decoder(_BatchGetAnswer, Raw)(response.body)
            wires = _only(answer.responses, [])
            items = read_items(wires, self.reader, "BatchGetItem")
        rest = _only(answer.unprocessed_keys, {}).get("Keys", [])
        units = sum(c.capacity_units for c in answer.consumed_capacity)
        return BatchFound(items, rest), Consumed(units, passed_over=len(wires) - len(items))

    def facts(self, value: BatchFound[T] | None) -> OperationFacts:
        return facts_of_batch(self.pattern_at, self.keys, len(value.items) if value else 0)

    def partitions(self) -> list[Partition]:
        """The partitions that it reads, for events."""
        return _partitions_of(self.pattern_at, self.keys)


class BatchWriteItem(Struct, frozen=True, gc=False):
    """Up to 25 independent puts and deletes of one table. The answer holds the unprocessed ones."""

    table: str
    puts: Sequence[Item] = ()
    deletes: Sequence[Key] = ()
    pattern_at: Callable[[Item], Any] | None = None
    """The pattern of an item or a key, for events."""

    def request(self, names: TableNames = DECLARED) -> Request:
        writes: list[dict[str, Any]] = [{"PutRequest": {"Item": item}} for item in self.puts]
        writes += [{"DeleteRequest": {"Key": key}} for key in self.deletes]
        body = encode({"RequestItems": {names[self.table]: writes}, "ReturnConsumedCapacity": "TOTAL"})
        check_items(body, self.puts, "BatchWriteItem", self.table)
        return Request("BatchWriteItem", body, self.table)

    def answer(self, response: Response) -> tuple[list[dict[str, Any]], Consumed]:
        if response.status != 200:
            raise_fault(response, "BatchWriteItem", self.table)
        answer: _BatchWriteAnswer = decoder_of(_BatchWriteAnswer)(response.body)
        consumed = Consumed(write_units=sum(c.capacity_units for c in answer.consumed_capacity))
        return _only(answer.unprocessed_items, []), consumed

    def facts(self, value: object) -> OperationFacts:
        items = len(self.puts) + len(self.deletes)
        return facts_of_batch(self.pattern_at, (*self.puts, *self.deletes), items)

    def partitions(self) -> list[Partition]:
        """The partitions that it writes, for events."""
        return _partitions_of(self.pattern_at, (*self.puts, *self.deletes))

    def carrying(self, context: ContextOf) -> BatchWriteItem:
        """The same, with the context of a trace in the items that may have one."""
        pattern_at = self.pattern_at
        if pattern_at is None:
            return self
        puts = [with_context(item, pattern_at(item), self.table, context) for item in self.puts]
        return replace(self, puts=puts)
