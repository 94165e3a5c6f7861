"""PutItem, UpdateItem and DeleteItem: one item, under a condition or not.

A unit for each KB of the larger of the item before and after, the same again for each index it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from singletable.flow import DECLARED, Consumed, OperationFacts, Request, Response, TableNames
from singletable.operations.answers import (
    Item,
    ItemReader,
    Key,
    Partition,
    WriteAnswer,
    decoder,
    encode,
    facts_of,
    named_by,
    partitions_in,
    raise_fault,
    read_written,
    write_units,
)
from singletable.operations.limits import check_items, check_update
from singletable.values import AttributeValue

T = TypeVar("T")

CONTEXT_ATTRIBUTE: Final = "_trace"
"""The context of the trace in which an item was last written, where a listener carries contexts."""
_CONTEXT_NAME, _CONTEXT_VALUE = "#ctx", ":ctx"


class TransactAction(Protocol):
    """A write that can be part of a transaction."""

    @property
    def table(self) -> str: ...

    def action(self, names: TableNames = DECLARED) -> dict[str, Any]: ...


class RawCondition(Struct, frozen=True, gc=False):
    """A condition as DynamoDB takes it, or none; with the names and values of the whole request."""

    condition: str | None = None
    names: Mapping[str, str] = {}
    values: Mapping[str, AttributeValue] = {}

    def into(self, body: dict[str, Any], *, transaction: bool = False) -> dict[str, Any]:
        """Add the condition; where it fails the stored item comes back with the error."""
        if self.condition is not None:
            body["ConditionExpression"] = self.condition
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if self.names:
            body["ExpressionAttributeNames"] = self.names
        if self.values:
            body["ExpressionAttributeValues"] = self.values
        if not transaction:
            body["ReturnConsumedCapacity"] = "TOTAL"
        return body


ContextOf = Callable[[str], str | None]
"""The stored form of a trace's context, for what is written to a table; None for none."""


def with_context(item: Item, pattern: Any, table: str, context: ContextOf) -> Item:
    """An item with the context of a trace, if its class may have one: `pattern` is that of its key, or None."""
    text = context(table) if pattern is not None and pattern.carries_context else None
    return item if text is None else {**item, CONTEXT_ATTRIBUTE: {"S": text}}


class PutItem(Struct, frozen=True, gc=False):
    """Write a whole item, over the one there may be."""

    table: str
    item: Item
    guard: RawCondition = RawCondition()
    repeatable: bool = True
    pattern: Any = None
    """The key pattern of the item, for events."""

    def action(self, names: TableNames = DECLARED) -> dict[str, Any]:
        return {"Put": self.guard.into({"TableName": names[self.table], "Item": self.item}, transaction=True)}

    def request(self, names: TableNames = DECLARED) -> Request:
        body = encode(self.guard.into({"TableName": names[self.table], "Item": self.item}))
        check_items(body, (self.item,), "PutItem", self.table)
        return Request("PutItem", body, self.table, self.repeatable)

    def answer(self, response: Response) -> tuple[None, Consumed]:
        if response.status != 200:
            raise_fault(response, "PutItem", self.table)
        return None, write_units(decoder(WriteAnswer, Raw)(response.body).consumed_capacity)

    def facts(self, value: None) -> OperationFacts:
        return facts_of(self.pattern, 1)

    def named_key(self) -> Any:
        """The key of its item, for an error that has none."""
        return named_by(self.pattern, self.item)

    def partitions(self) -> list[Partition]:
        """The partition that it writes, for events."""
        return partitions_in(self.pattern, [self.item])

    def carrying(self, context: ContextOf) -> PutItem:
        """The same, with the context of a trace in the item if it may have one."""
        return replace(self, item=with_context(self.item, self.pattern, self.table, context))


class UpdateItem(Struct, Generic[T], frozen=True, gc=False):
    """Change some attributes; returns the updated item."""

    table: str
    key: Key
    update: str
    guard: RawCondition
    reader: ItemReader[T]
    repeatable: bool = False
    pattern: Any = None
    """The key pattern of the item, for events."""

    def action(self, names: TableNames = DECLARED) -> dict[str, Any]:
        body = {"TableName": names[self.table], "Key": self.key, "UpdateExpression": self.update}
        return {"Update": self.guard.into(body, transaction=True)}

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {
            "TableName": names[self.table],
            "Key": self.key,
            "UpdateExpression": self.update,
            "ReturnValues": "ALL_NEW",
        }
        encoded = encode(self.guard.into(body))
        check_update(encoded, self.guard.values, "UpdateItem", self.table)
        return Request("UpdateItem", encoded, self.table, self.repeatable)

    def answer(self, response: Response) -> tuple[T | None, Consumed]:
        return _written(response, "UpdateItem", self.table, self.reader)

    def facts(self, value: object) -> OperationFacts:
        return facts_of(self.pattern, 1)

    def named_key(self) -> Any:
        """The key of its item, for an error that has none."""
        return named_by(self.pattern, self.key)

    def partitions(self) -> list[Partition]:
        """The partition that it writes, for events."""
        return partitions_in(self.pattern, [self.key])

    def carrying(self, context: ContextOf) -> UpdateItem[T]:
        """The same, with the context of a trace in the item if it may have one."""
        text = context(self.table) if self.pattern is not None and self.pattern.carries_context else None
        if text is None:
            return self
        others = f", {rest}" if (rest := self.update.removeprefix("SET ")) != self.update else f" {self.update}"
        names = {**self.guard.names, _CONTEXT_NAME: CONTEXT_ATTRIBUTE}
        values = {**self.guard.values, _CONTEXT_VALUE: {"S": text}}
        guard = replace(self.guard, names=names, values=values)
        return replace(self, update=f"SET {_CONTEXT_NAME} = {_CONTEXT_VALUE}{others}", guard=guard)


class DeleteItem(Struct, Generic[T], frozen=True, gc=False):
    """Delete an item; returns the deleted item, or None."""

    table: str
    key: Key
    guard: RawCondition
    reader: ItemReader[T]
    repeatable: bool = True
    pattern: Any = None
    """The key pattern of the item, for events."""

    def action(self, names: TableNames = DECLARED) -> dict[str, Any]:
        return {"Delete": self.guard.into({"TableName": names[self.table], "Key": self.key}, transaction=True)}

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {"TableName": names[self.table], "Key": self.key, "ReturnValues": "ALL_OLD"}
        return Request("DeleteItem", encode(self.guard.into(body)), self.table, self.repeatable)

    def answer(self, response: Response) -> tuple[T | None, Consumed]:
        return _written(response, "DeleteItem", self.table, self.reader)

    def facts(self, value: object) -> OperationFacts:
        return facts_of(self.pattern, 1)

    def named_key(self) -> Any:
        """The key of its item, for an error that has none."""
        return named_by(self.pattern, self.key)

    def partitions(self) -> list[Partition]:
        """The partition that it writes, for events."""
        return partitions_in(self.pattern, [self.key])


class CheckItem(Struct, frozen=True, gc=False):
    """Hold a condition in a transaction without a change. Costs as a write does."""

    table: str
    key: Key
    guard: RawCondition
    pattern: Any = None
    """The key pattern of the item, for events."""

    def action(self, names: TableNames = DECLARED) -> dict[str, Any]:
        return {"ConditionCheck": self.guard.into({"TableName": names[self.table], "Key": self.key}, transaction=True)}

    def partitions(self) -> list[Partition]:
        """The partition that it reads, for events."""
        return partitions_in(self.pattern, [self.key])


def _written(response: Response, operation: str, table: str, reader: ItemReader[T]) -> tuple[T | None, Consumed]:
    if response.status != 200:
        raise_fault(response, operation, table)
    try:
        answer = decoder(WriteAnswer, reader.wire)(response.body)
        item = None if answer.attributes is None else reader.build(answer.attributes)
    except Exception:  # also from a class's own code: the write took effect whatever is wrong with the item
        answer = decoder(WriteAnswer, Raw)(response.body)
        item = read_written(answer.attributes, reader, operation, table)
    return item, write_units(answer.consumed_capacity)
