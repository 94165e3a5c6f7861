"""Every image that an item had, as far as it was written through the harness: what stale reads are answered from.

Kept only while a rule asks for stale reads or index lag: each write then costs two reads more of the engine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.faults.messages import Call, Reply

Ask = Callable[[Call], Awaitable[Reply]]
Place = tuple[str, str]
"""A table, and a primary key as a text."""
Image = dict[str, Any] | None


@dataclass
class History:
    """Images by item, each with the number of the write that made it; 0 for what was there before."""

    writes: int = 0
    images: dict[Place, list[tuple[int, Image]]] = field(default_factory=dict[Place, list[tuple[int, Image]]])
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Each table's key attributes."""

    async def before(self, call: Call, ask: Ask) -> None:
        """Note what is there, of items that are about to be written for the first time."""
        for table, key in await self._written(call, ask):
            place = _place(table, key)
            if place not in self.images:
                self.images[place] = [(0, await _image(call, table, key, ask))]

    async def after(self, call: Call, ask: Ask) -> None:
        """Note what is there now, of items that may have been written."""
        self.writes += 1
        for table, key in await self._written(call, ask):
            image = await _image(call, table, key, ask)
            known = self.images[_place(table, key)]
            if known[-1][1] != image:
                known.append((self.writes, image))

    def older(self, table: str, key: dict[str, Any], back: int) -> tuple[bool, Image]:
        """Whether there is an older image, and which."""
        known = self.images.get(_place(table, key), [])
        if len(known) < 2:
            return False, None
        return True, known[max(0, len(known) - 1 - back)][1]

    def lagging(self, table: str, item: dict[str, Any], writes: int) -> Image:
        """An item as it was before the last `writes` writes of all."""
        place = _place(table, {name: item[name] for name in self.keys[table]})
        known = self.images.get(place)
        if known is None:
            return item
        seen = [image for number, image in known if number <= self.writes - writes]
        return seen[-1] if seen else None

    async def key_names(self, call: Call, table: str, ask: Ask) -> tuple[str, ...]:
        if table not in self.keys:
            said = await ask(call.asking("DescribeTable", {"TableName": table}))
            self.keys[table] = tuple(part["AttributeName"] for part in said.json["Table"]["KeySchema"])
        return self.keys[table]

    async def _written(self, call: Call, ask: Ask) -> list[tuple[str, dict[str, Any]]]:
        found = []
        for table, key, item in _targets(call):
            names = await self.key_names(call, table, ask)
            found.append((table, key if key is not None else {name: item[name] for name in names}))
        return found


def _targets(call: Call) -> Iterator[tuple[str, dict[str, Any] | None, dict[str, Any]]]:
    """Table and key of everything that a request writes; the whole item where it is a put."""
    body = call.json
    if call.operation in ("UpdateItem", "DeleteItem"):
        yield body["TableName"], body["Key"], {}
    elif call.operation == "PutItem":
        yield body["TableName"], None, body["Item"]
    elif call.operation == "BatchWriteItem":
        for table, requests in body["RequestItems"].items():
            for request in requests:
                delete = request.get("DeleteRequest")
                yield table, delete and delete["Key"], {} if delete else request["PutRequest"]["Item"]
    elif call.operation == "TransactWriteItems":
        for entry in body["TransactItems"]:
            for kind, action in entry.items():
                if kind != "ConditionCheck":
                    yield action["TableName"], action.get("Key"), action.get("Item", {})


async def _image(call: Call, table: str, key: dict[str, Any], ask: Ask) -> Image:
    answer = await ask(call.asking("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}))
    return answer.json.get("Item")


def _place(table: str, key: dict[str, Any]) -> Place:
    return table, repr(sorted((name, repr(value)) for name, value in key.items()))
