"""GetItem: one item by its key. Half a read unit for each 4 KB, or a whole one when consistent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from msgspec import Raw, Struct

from singletable.flow import Consumed, Request, Response
from singletable.operations.answers import (
    GetAnswer,
    ItemReader,
    Key,
    decoder,
    encode,
    raise_fault,
    read_one,
    read_units,
)

T = TypeVar("T")


class GetItem(Struct, Generic[T], frozen=True, gc=False):
    """The item under `key`, or None."""

    table: str
    key: Key
    reader: ItemReader[T]
    consistent: bool = False
    projection: str | None = None
    names: Mapping[str, str] | None = None

    def request(self) -> Request:
        body: dict[str, Any] = {"TableName": self.table, "Key": self.key, "ReturnConsumedCapacity": "TOTAL"}
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
