"""GetItem, Query and Scan: one item by its key, or items in key order, a page at a time.

A page ends at 1 MB, or after `limit` items were looked at; half a read unit for each 4 KB looked at, a whole one when
consistent. A filter saves bytes on the wire, never units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from msgspec import Raw, Struct

from singletable.flow import DECLARED, Consumed, OperationFacts, Request, Response, TableNames
from singletable.operations.answers import (
    GetAnswer,
    ItemReader,
    ItemsAnswer,
    Key,
    Partition,
    build_many,
    decoder,
    encode,
    facts_of,
    named_by,
    partitions_in,
    raise_fault,
    read_items,
    read_one,
    read_units,
)
from singletable.values import AttributeValue

T = TypeVar("T")
_PARTITION = re.compile(r"\S+ = (:\w+)")
"""How a condition on a key begins."""


class GetItem(Struct, Generic[T], frozen=True, gc=False):
    """The item under `key`, or None."""

    table: str
    key: Key
    reader: ItemReader[T]
    consistent: bool = False
    projection: str | None = None
    names: Mapping[str, str] | None = None
    pattern: Any = None
    """The key pattern of the item, for events."""

    def request(self, names: TableNames = DECLARED) -> Request:
        body: dict[str, Any] = {"TableName": names[self.table], "Key": self.key, "ReturnConsumedCapacity": "TOTAL"}
        if self.consistent:
            body["ConsistentRead"] = True
        if self.projection is not None:
            body["ProjectionExpression"] = self.projection
            body["ExpressionAttributeNames"] = self.names
        return Request("GetItem", encode(body), self.table)

    def answer(self, response: Response) -> tuple[T | None, Consumed]:
        if response.status != 200:
            raise_fault(response, "GetItem", self.table)
        try:
            answer = decoder(GetAnswer, self.reader.wire)(response.body)
            item = None if answer.item is None else self.reader.build(answer.item)
        except Exception:  # also from a class's own code
            answer = decoder(GetAnswer, Raw)(response.body)
            item = read_one(answer.item, self.reader, "GetItem")
        return item, read_units(answer.consumed_capacity, item is None and answer.item is not None)

    def facts(self, value: object) -> OperationFacts:
        return facts_of(self.pattern, int(value is not None))

    def named_key(self) -> Any:
        """The key of its item, for an error that has none."""
        return named_by(self.pattern, self.key)

    def partitions(self) -> list[Partition]:
        """The partition that it reads, for events."""
        return partitions_in(self.pattern, [self.key])


class AnswerPage(Struct, Generic[T], frozen=True, gc=False):
    """One page of an answer. `after` is where it ended, None when nothing lies beyond."""

    items: list[T]
    after: Key | None
    looked_at: int
    body: bytes
    """The answer as it came, for the keys of its items."""


class Selection(Struct, frozen=True, gc=False):
    """The common part of a query and a scan: filter, projection, names, values and limits."""

    index: str | None = None
    filter: str | None = None
    projection: str | None = None
    names: Mapping[str, str] = {}
    values: Mapping[str, AttributeValue] = {}
    limit: int | None = None
    after: Key | None = None
    consistent: bool = False

    def into(self, body: dict[str, Any]) -> dict[str, Any]:
        body["ReturnConsumedCapacity"] = "TOTAL"
        for name, value in (
            ("IndexName", self.index),
            ("FilterExpression", self.filter),
            ("ProjectionExpression", self.projection),
            ("ExpressionAttributeNames", self.names or None),
            ("ExpressionAttributeValues", self.values or None),
            ("Limit", self.limit),
            ("ExclusiveStartKey", self.after),
            ("ConsistentRead", self.consistent or None),
        ):
            if value is not None:
                body[name] = value
        return body


class Query(Struct, Generic[T], frozen=True, gc=False):
    """The items of one partition whose sort key lies in a range."""

    table: str
    key_condition: str
    selection: Selection
    reader: ItemReader[T]
    forward: bool = True
    pattern: Any = None
    """The key pattern that errors name, by `shown`."""

    def request(self, names: TableNames = DECLARED) -> Request:
        body: dict[str, Any] = {"TableName": names[self.table], "KeyConditionExpression": self.key_condition}
        if not self.forward:
            body["ScanIndexForward"] = False
        return Request("Query", encode(self.selection.into(body)), self.table)

    def answer(self, response: Response) -> tuple[AnswerPage[T], Consumed]:
        return _found(response, "Query", self.table, self.reader, self.pattern)

    def facts(self, value: AnswerPage[T] | None) -> OperationFacts:
        return facts_of(self.pattern, len(value.items) if value else 0, self.selection.index)

    def named_key(self) -> Any:
        """The pattern that it reads, for an error that has no key."""
        return named_by(self.pattern)

    def partitions(self) -> list[Partition]:
        """The partition that it reads, for events: the condition begins with it."""
        blank = _PARTITION.match(self.key_condition)
        values = {} if blank is None else self.selection.values.get(blank[1], {})
        return [(self.table, self.selection.index or "", str(value)) for value in values.values()]


class Scan(Struct, Generic[T], frozen=True, gc=False):
    """Every item of the table, or of one of `segments` disjoint parts of it."""

    table: str
    selection: Selection
    reader: ItemReader[T]
    segment: int = 0
    segments: int = 1

    def request(self, names: TableNames = DECLARED) -> Request:
        body: dict[str, Any] = {"TableName": names[self.table]}
        if self.segments > 1:
            body |= {"Segment": self.segment, "TotalSegments": self.segments}
        return Request("Scan", encode(self.selection.into(body)), self.table)

    def answer(self, response: Response) -> tuple[AnswerPage[T], Consumed]:
        return _found(response, "Scan", self.table, self.reader)

    def facts(self, value: AnswerPage[T] | None) -> OperationFacts:
        return facts_of(None, len(value.items) if value else 0, self.selection.index)


def keys_in(body: bytes) -> list[dict[str, AttributeValue]]:
    """The items of an answer as they came: where the key of one is needed, to go on from."""
    answer: list[dict[str, AttributeValue]] = decoder(ItemsAnswer, dict[str, dict[str, Any]])(body).items
    return answer


def _found(
    response: Response, operation: str, table: str, reader: ItemReader[T], pattern: Any = None
) -> tuple[AnswerPage[T], Consumed]:
    if response.status != 200:
        raise_fault(response, operation, table)
    try:
        # The wire type first: a reader that learns replaces both, and what builds of a later one refuses an earlier.
        answer = decoder(ItemsAnswer, reader.wire)(response.body)
        items: list[Any] = build_many(reader, answer.items)
    except Exception:  # also from a class's own code
        answer = decoder(ItemsAnswer, Raw)(response.body)
        items = read_items(answer.items, reader, f"{operation} of {pattern.shown}" if pattern else operation)
    found = AnswerPage(items, answer.last_evaluated_key, answer.scanned_count, response.body)
    return found, read_units(answer.consumed_capacity, max(0, answer.scanned_count - len(items)))
