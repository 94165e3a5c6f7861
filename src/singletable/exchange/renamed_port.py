"""A port where one table has another name than on the port below: flows of its declaration reach that other table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.flow import (
    DECLARED,
    Consumed,
    Operation,
    Port,
    ReadyTables,
    Request,
    Response,
    TableNames,
    WrappedPort,
)

T = TypeVar("T")


class RenamedPort(WrappedPort):
    """A port where the table `name`, with its leases, is called `there`."""

    def __init__(self, port: Port, name: str, there: str) -> None:
        super().__init__(port)
        self.names = port.names.with_name(name, there)
        self._made = ReadyTables()

    @property
    def ready(self) -> ReadyTables:
        """Its own: the port below may have made the table of the first name."""
        return self._made

    async def send(self, operation: Operation[T]) -> T:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        renamed: Any = [_Renamed(cast(Any, operation), self.names) for operation in operations]
        try:
            values: list[T] = await self._port.send_all(renamed)
        except SingletableError as error:
            self.tell(error)
            raise
        return values


class _Renamed(Struct, frozen=True):
    """An operation whose request has the names of its own port."""

    inner: Operation[object]
    names: TableNames

    def request(self, names: TableNames = DECLARED) -> Request:
        return self.inner.request(self.names)

    def answer(self, response: Response) -> tuple[object, Consumed]:
        return self.inner.answer(response)
