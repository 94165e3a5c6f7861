"""A port whose scans have small pages: a job's limits bound the units of a page, wherever its scan is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from singletable.flow import Operation, Port, WrappedPort
from singletable.operations import Scan

T = TypeVar("T")
_SCAN: type[Any] = Scan


class SmallPages(WrappedPort):
    """A port that lowers the limit of every scan that has a larger one, or none."""

    def __init__(self, port: Port, page: int) -> None:
        super().__init__(port)
        self._page = page

    async def send(self, operation: Operation[T]) -> T:
        return await self._port.send(self._small(operation))

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        return await self._port.send_all([self._small(operation) for operation in operations])

    def _small(self, operation: Any) -> Any:
        if not isinstance(operation, _SCAN):
            return operation
        selection = operation.selection
        return replace(operation, selection=replace(selection, limit=min(selection.limit or self._page, self._page)))
