"""Rehearsal: a flow runs over a live table, and its writes are counted and remembered instead of sent.

Reads are sent. An item that the flow has written comes back as it would be then, and what it would cost to read is
counted by its new size. Every condition is taken to hold. So the flow decides as it will, and takes what it will take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from singletable.flow import DECLARED, Consumed, Operation, Port, Request, Response, TableNames, WrappedPort
from singletable.foundation import Table, place_in
from singletable.migrations.item_writes import updated
from singletable.operations import Item
from singletable.tables import Projected, read_units, size_units, write_units
from singletable.values import item_size

T = TypeVar("T")
Place = tuple[str, str]
_WRITES: Final = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete"}


class Rehearsal(WrappedPort):
    """A port to one table that writes nothing. `items` are the flow's items in their later form."""

    def __init__(self, port: Port, table: Table, indexes: Sequence[Projected], items: Sequence[Item] = ()) -> None:
        super().__init__(port)
        self._table, self._indexes = table, indexes
        self._read: dict[Place, Item] = {}
        self._then: dict[Place, Item | None] = {place_in(table, item): item for item in items}
        self.requests = 0
        """The requests that would write."""
        self.write_units = 0.0
        self.read_units = 0.0
        """The additional cost of reading items in their later form instead of their present one."""

    async def send(self, operation: Operation[T]) -> T:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        requests = [operation.request(self.names) for operation in operations]
        pairs = list(zip(operations, requests, strict=True))
        reads: list[Operation[T]] = [_Read(op, asked, self) for op, asked in pairs if not _is_write(asked)]
        answers = iter(await self._port.send_all(reads)) if reads else iter(())
        return [self._write(op, asked) if _is_write(asked) else next(answers) for op, asked in pairs]

    def _write(self, operation: Operation[T], request: Request) -> T:
        body = msgspec.json.decode(request.body)
        parts = body.get("TransactItems") or [{_WRITES[request.operation]: body}]
        after: Item | None = None
        for part in parts:
            ((kind, one),) = part.items()
            after = self._write_one(kind, one, in_transaction="TransactItems" in body)
        self.requests += 1
        said = {"Attributes": after} if body.get("ReturnValues") == "ALL_NEW" else {}
        return operation.answer(Response(200, msgspec.json.encode(said)))[0]

    def _write_one(self, kind: str, body: Mapping[str, Any], *, in_transaction: bool) -> Item | None:
        key = body.get("Key") or body["Item"]
        place = place_in(self._table, key)
        before = self._item(place)
        if kind == "ConditionCheck":
            self.write_units += 2.0 * size_units(before)
            return before
        after = _after(kind, body, before if before is not None else key)
        self.write_units += write_units(self._indexes, before, after, transaction=in_transaction)
        self._then[place] = after
        return after

    def _item(self, place: Place) -> Item | None:
        return self._then[place] if place in self._then else self._read.get(place)

    def seen(self, request: Request, items: Sequence[Item]) -> list[Item]:
        """The items of a read in their later form."""
        self._read |= {place_in(self._table, item): item for item in items}
        then = [self._item(place_in(self._table, item)) for item in items]
        pairs = list(zip(items, then, strict=True))
        for group in [pairs] if request.operation in ("Query", "Scan") else [[pair] for pair in pairs]:
            self.read_units += reread_units(new for _, new in group) - reread_units(old for old, _ in group)
        return [item for item in then if item is not None]


class _Read(Struct, frozen=True):
    """A read whose answer holds what was written since."""

    inner: Operation[Any]
    asked: Request
    rehearsal: Rehearsal

    def request(self, names: TableNames = DECLARED) -> Request:
        return self.asked

    def answer(self, response: Response) -> tuple[Any, Consumed]:
        if response.status != 200:
            return self.inner.answer(response)
        body = msgspec.json.decode(response.body)
        if item := body.get("Item"):
            body["Item"] = next(iter(self.rehearsal.seen(self.asked, [item])), None)
        elif "Items" in body:
            body["Items"] = self.rehearsal.seen(self.asked, body["Items"])
        for table, items in body.get("Responses", {}).items():
            body["Responses"][table] = self.rehearsal.seen(self.asked, items)
        return self.inner.answer(Response(200, msgspec.json.encode(body), response.unsettled, response.request_id))


def _is_write(request: Request) -> bool:
    return request.operation in _WRITES or request.operation == "TransactWriteItems"


def _after(kind: str, body: Mapping[str, Any], before: Item) -> Item | None:
    if kind == "Put":
        item: Item = body["Item"]
        return item
    if kind == "Delete":
        return None
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    return updated(before, body["UpdateExpression"], names, values)


def reread_units(items: Iterable[Item | None]) -> float:
    """The units of a consistent read of these items together."""
    return read_units(sum(item_size(item) for item in items if item is not None), consistent=True)
