"""BatchGetItem (up to 100 keys) and BatchWriteItem (up to 25 writes): several items in one request, each by itself.

The service may do a part and name the rest; the flows above go on until all is done or the deadline has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
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
    read_item,
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


class _Put(Struct, rename="pascal", frozen=True, gc=False):
    item: Raw


class _Delete(Struct, rename="pascal", gc=False):
    key: Raw


class _Write(Struct, rename="pascal", gc=False):
    put_request: _Put = _Put(Raw())
    delete_request: _Delete | None = None


class _BatchWriteAnswer(Struct, rename="pascal", gc=False):
    unprocessed_items: dict[str, list[Raw]] = {}
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


_decode_write = msgspec.json.Decoder(_Write).decode


def put_request(item: Item) -> Raw:
    """The put of an item in a batch, encoded: many held at once take the memory of their JSON, and are not gone
    through by each garbage collection."""
    return Raw(encode({"PutRequest": {"Item": item}}))


def delete_request(key: Key) -> Raw:
    """The delete of a key in a batch, encoded."""
    return Raw(encode({"DeleteRequest": {"Key": key}}))


def put_item_of(write: Raw) -> Item | None:
    """The item that a write of a batch puts; None for a delete."""
    decoded = _decode_write(write)
    return None if decoded.delete_request else read_item(decoded.put_request.item)


def place_of(write: Raw) -> Item:
    """The item that a write of a batch puts, or the key that it deletes."""
    decoded = _decode_write(write)
    return read_item(decoded.delete_request.key if decoded.delete_request else decoded.put_request.item)


def batch_write(table: str, puts: Iterable[Item] = (), deletes: Iterable[Key] = ()) -> BatchWriteItem:
    """Up to 25 independent puts and deletes of one table."""
    return BatchWriteItem(table, [*map(put_request, puts), *map(delete_request, deletes)])


class BatchWriteItem(Struct, frozen=True, gc=False):
    """Up to 25 independent puts and deletes of one table, each encoded. The answer holds the unprocessed ones."""

    table: str
    writes: Sequence[Raw]
    pattern_at: Callable[[Item], Any] | None = None
    """The pattern of an item or a key, for events."""

    def request(self, names: TableNames = DECLARED) -> Request:
        body = encode({"RequestItems": {names[self.table]: self.writes}, "ReturnConsumedCapacity": "TOTAL"})
        check_items(body, map(place_of, self.writes), "BatchWriteItem", self.table)
        return Request("BatchWriteItem", body, self.table)

    def answer(self, response: Response) -> tuple[list[Raw], Consumed]:
        if response.status != 200:
            raise_fault(response, "BatchWriteItem", self.table)
        answer: _BatchWriteAnswer = decoder_of(_BatchWriteAnswer)(response.body)
        consumed = Consumed(write_units=sum(c.capacity_units for c in answer.consumed_capacity))
        return _only(answer.unprocessed_items, []), consumed

    def facts(self, value: object) -> OperationFacts:
        places = () if self.pattern_at is None else map(place_of, self.writes)
        return facts_of_batch(self.pattern_at, places, len(self.writes))

    def partitions(self) -> list[Partition]:
        """The partitions that it writes, for events."""
        return [] if self.pattern_at is None else _partitions_of(self.pattern_at, [*map(place_of, self.writes)])

    def carrying(self, context: ContextOf) -> BatchWriteItem:
        """The same, with the context of a trace in the items that may have one."""
        pattern_at = self.pattern_at
        if pattern_at is None:
            return self

        def carried(write: Raw) -> Raw:
            item = put_item_of(write)
            return write if item is None else put_request(with_context(item, pattern_at(item), self.table, context))

        return replace(self, writes=[carried(write) for write in self.writes])
