"""A port that uses one table under another name: the flows of a declared table, for a table that is called otherwise.

The name is changed in the requests, and back in the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.flow import Consumed, Operation, Port, ReadyTables, Request, Response, WrappedPort

T = TypeVar("T")
_BY_TABLE: Final = ("RequestItems", "Responses", "UnprocessedItems", "UnprocessedKeys")
"""Parts of requests and answers whose members are named as tables."""


class RenamedPort(WrappedPort):
    """A port where the table `name` is called `there`."""

    def __init__(self, port: Port, name: str, there: str) -> None:
        super().__init__(port)
        self._name, self._there = name, there
        self._made = ReadyTables()

    @property
    def ready(self) -> ReadyTables:
        """Its own: the port below may have made the table of the first name."""
        return self._made

    async def send(self, operation: Operation[T]) -> T:
        return await self._port.send(self._renamed(operation))

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        return await self._port.send_all([self._renamed(operation) for operation in operations])

    def _renamed(self, operation: Operation[T]) -> Operation[T]:
        renamed: Operation[T] = cast(Any, _Renamed(operation, self._name, self._there))
        return renamed


class _Renamed(Struct, frozen=True):
    inner: Operation[object]
    name: str
    there: str

    def request(self) -> Request:
        request = self.inner.request()
        return replace(request, body=_with_names(request.body, self.name, self.there))

    def answer(self, response: Response) -> tuple[object, Consumed]:
        return self.inner.answer(replace(response, body=_with_names(response.body, self.there, self.name)))


def _with_names(body: bytes, old: str, new: str) -> bytes:
    decoded: Any = msgspec.json.decode(body) if body else None
    if not isinstance(decoded, dict):
        return body
    fields = cast("dict[str, Any]", decoded)

    def rename(name: str) -> str:
        return new if name == old else name

    for name in _BY_TABLE:
        if isinstance(by_table := fields.get(name), Mapping):
            fields[name] = {rename(table): each for table, each in cast("Mapping[str, Any]", by_table).items()}
    return msgspec.json.encode(_in(fields, rename))


def _in(value_in: Any, rename: Callable[[str], str]) -> Any:
    """The same with the values of every `TableName` renamed: in an item, an attribute of that name is not a text."""
    if isinstance(value_in, list):
        return [_in(each, rename) for each in value_in]
    if not isinstance(value_in, dict):
        return value_in
    return {
        name: rename(value) if name == "TableName" and isinstance(value, str) else _in(value, rename)
        for name, value in cast("dict[str, Any]", value_in).items()
    }
