"""TransactWriteItems and TransactGetItems: up to 100 items of any tables, all or nothing, at twice the units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from singletable.errors import Conflict
from singletable.flow import DECLARED, Consumed, OperationFacts, Request, Response, TableNames
from singletable.operations.answers import (
    Capacity,
    Item,
    Partition,
    encode,
    named,
    read_one,
    stored_item,
)
from singletable.operations.limits import check_items, check_transaction, check_update
from singletable.operations.read import GetItem
from singletable.operations.write import ContextOf, PutItem, TransactAction, UpdateItem
from singletable.values import MAX_ITEM_BYTES
from singletable.wire import Fault, read_fault

T = TypeVar("T")

MAX_ACTIONS = 100


class Reason(Struct, frozen=True, gc=False):
    """The reason why an action of a cancelled transaction failed; code "None" for an action that did not."""

    code: str
    message: str
    stored: Item | None


class ReasonedCancellation(Conflict):
    """A transaction's refusal, reason by reason. Caught in `records`, which knows the operations."""

    def __init__(self, reasons: tuple[Reason, ...], unsettled: bool, table: str) -> None:
        super().__init__("the transaction was cancelled", operation="TransactWriteItems", table=table)
        self.reasons = reasons
        self.unsettled = unsettled


class _TransactWriteAnswer(Struct, rename="pascal", gc=False):
    consumed_capacity: list[Capacity] = []


class _GetResult(Struct, rename="pascal", gc=False):
    item: Raw = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


class _TransactGetAnswer(Struct, rename="pascal", gc=False):
    responses: list[_GetResult] = []
    consumed_capacity: list[Capacity] = []


_decode_write = msgspec.json.Decoder(_TransactWriteAnswer).decode
_decode_get = msgspec.json.Decoder(_TransactGetAnswer).decode


class TransactWriteItems(Struct, frozen=True, gc=False):
    """All of the actions, or none. `token` makes a repeat of the same bytes harmless for ten minutes.

    Without one the actions themselves must be harmless to repeat: their conditions refuse the second time, or the
    same is written again. Bulk work has none, since an engine may compare each token with all of ten minutes.
    """

    actions: Sequence[TransactAction]
    token: str | None = None

    @property
    def table(self) -> str:
        return ", ".join(dict.fromkeys([action.table for action in self.actions]))

    def request(self, names: TableNames = DECLARED) -> Request:
        table = self.table
        body: dict[str, Any] = {
            "TransactItems": [action.action(names) for action in self.actions],
            "ReturnConsumedCapacity": "TOTAL",
        }
        if self.token is not None:
            body["ClientRequestToken"] = self.token
        encoded = encode(body)
        if len(encoded) > MAX_ITEM_BYTES:
            self._check(encoded, table)
        return Request("TransactWriteItems", encoded, table, repeatable=True, tokened=self.token is not None)

    def answer(self, response: Response) -> tuple[None, Consumed]:
        if response.status != 200:
            raise_cancellation(response, "TransactWriteItems", self.table)
        read_units = write_units = 0.0
        for consumed in _decode_write(response.body).consumed_capacity:
            read, written = consumed.read_capacity_units or 0.0, consumed.write_capacity_units
            read_units += read
            write_units += consumed.capacity_units - read if written is None else written
        return None, Consumed(read_units, write_units)

    def facts(self, value: None) -> OperationFacts:
        return _facts(self.actions, len(self.actions))

    def partitions(self) -> list[Partition]:
        """The partitions that it writes, for events."""
        return _partitions(self.actions)

    def carrying(self, context: ContextOf) -> TransactWriteItems:
        """The same, with the context of a trace in the items that may have one."""
        return replace(self, actions=[_carrying(action, context) for action in self.actions])

    def _check(self, encoded: bytes, table: str) -> None:
        """Raises TooLarge for an item, a value, or all of them together."""
        puts = [action.item for action in self.actions if isinstance(action, PutItem)]
        check_items(encoded, puts, "TransactWriteItems", table)
        updates = [action.guard.values for action in self.actions if isinstance(action, UpdateItem)]
        for values in updates:
            check_update(encoded, values, "TransactWriteItems", table)
        check_transaction(encoded, puts, updates, table)


class TransactGetItems(Struct, Generic[T], frozen=True, gc=False):
    """The items of all the gets at one point in time; None for each missing item."""

    gets: Sequence[GetItem[T]]

    @property
    def table(self) -> str:
        return ", ".join(dict.fromkeys(get.table for get in self.gets))

    def request(self, names: TableNames = DECLARED) -> Request:
        gets = [{"Get": _get_body(get, names)} for get in self.gets]
        body = {"TransactItems": gets, "ReturnConsumedCapacity": "TOTAL"}
        return Request("TransactGetItems", encode(body), self.table)

    def answer(self, response: Response) -> tuple[list[T | None], Consumed]:
        if response.status != 200:
            raise_cancellation(response, "TransactGetItems", self.table)
        answer = _decode_get(response.body)
        items = [
            read_one(result.item, get.reader, "TransactGetItems") if result.item else None
            for result, get in zip(answer.responses, self.gets, strict=True)
        ]
        return items, Consumed(read_units=sum(c.capacity_units for c in answer.consumed_capacity))

    def facts(self, value: list[T | None] | None) -> OperationFacts:
        return _facts(self.gets, sum(item is not None for item in value or ()))

    def partitions(self) -> list[Partition]:
        """The partitions that it reads, for events."""
        return _partitions(self.gets)


def _carrying(action: TransactAction, context: ContextOf) -> TransactAction:
    carrying: Callable[[ContextOf], TransactAction] | None = getattr(action, "carrying", None)
    return action if carrying is None else carrying(context)


def _partitions(parts: Sequence[Any]) -> list[Partition]:
    return [one for part in parts if hasattr(part, "partitions") for one in part.partitions()]


def _facts(parts: Sequence[Any], items: int) -> OperationFacts:
    patterns = [part.pattern.shown for part in parts if getattr(part, "pattern", None) is not None]
    return OperationFacts(tuple(dict.fromkeys(patterns)), items)


def _get_body(get: GetItem[Any], names: TableNames) -> dict[str, Any]:
    body: dict[str, Any] = {"TableName": names[get.table], "Key": get.key}
    if get.projection is not None:
        body |= {"ProjectionExpression": get.projection, "ExpressionAttributeNames": get.names}
    return body


def raise_cancellation(response: Response, operation: str, table: str) -> NoReturn:
    """Raise what an error answer to a transaction stands for, reason by reason."""
    fault = read_fault(response.body) or Fault("UnreadableAnswer")
    if fault.code == "TransactionCanceledException":
        reasons = tuple(Reason(r.code or "None", r.message or "", stored_item(r.item)) for r in fault.reasons)
        raise ReasonedCancellation(reasons, response.unsettled, table)
    raise named(fault, operation, table)
