"""Writes of many items in rounds of 16 requests: `write_many` of entities, and of plain items.

What has a length is checked whole before anything is sent. An iterator is read while its writes are sent: one request
first, then 16 at a time. No more than one round of each table is held. An async iterator is one of the application's
functions: the port calls it once for as many writes as there is room for.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar

from msgspec import Raw

from singletable.errors import Incomplete, InvalidRequest
from singletable.flow import FAN_OUT, Port
from singletable.operations import MAX_BATCH_WRITE

T = TypeVar("T", bound=Hashable)
Source = Iterable[Any] | AsyncIterable[Any]
"""Puts or deletes, as a caller gives them."""

BulkWrite = tuple[T, Hashable, Any, Raw]
"""A table, the place of an item there, what a caller gave for the write, and the encoded write."""
BulkWrites = dict[Any, tuple[Any, Raw]]
"""The writes of one table by the places of their items: what a caller gave, and the encoded write."""

_ROUND = FAN_OUT * MAX_BATCH_WRITE


async def write_in_rounds(
    port: Port,
    writes_of: Callable[[Iterable[Any], Iterable[Any]], Iterator[BulkWrite[T]]],
    puts: Source,
    deletes: Source,
    send: Callable[[T, BulkWrites], Awaitable[None]],
    repeated: Callable[[T, Any], InvalidRequest],
) -> None:
    """Send the writes of puts and deletes by `send`, which has a table's writes: first what has a length, then the
    iterators, puts before deletes.

    Raises what `repeated` returns for two writes of one item: among all that have a length, and of an iterator's with
    those and with its own that are held. `Incomplete` has all that was read and is not done.
    """
    whole_puts, whole_deletes = _whole(puts), _whole(deletes)
    listed = writes_of(() if whole_puts is None else whole_puts, () if whole_deletes is None else whole_deletes)
    rounds = _Rounds(send, repeated)
    if whole_puts is not None and whole_deletes is not None:
        return await rounds.send_listed(listed)
    try:
        await rounds.send_listed(listed)
        if whole_puts is None:
            await rounds.stream(port, puts, lambda some: writes_of(some, ()))
        if whole_deletes is None:
            await rounds.stream(port, deletes, lambda some: writes_of((), some))
        await rounds.send_held()
    except Incomplete as error:
        error.read = rounds.read
        error.hint += f" Then go on with what follows in the iterator: {rounds.read} were read of it."
        raise
    except Exception as error:
        if rounds.read:
            error.add_note(f"write_many had read {rounds.read} of its iterator, and written {rounds.written} of them.")
        raise


def _whole(source: Source) -> Iterable[Any] | None:
    """The source, if it has a length."""
    return source if isinstance(source, Sized) and not isinstance(source, AsyncIterable) else None


class _Rounds(Generic[T]):
    """The writes that are held and not yet sent, by table; how many were read of iterators, and written."""

    def __init__(
        self, send: Callable[[T, BulkWrites], Awaitable[None]], repeated: Callable[[T, Any], InvalidRequest]
    ) -> None:
        self._send_table, self._repeated = send, repeated
        self._listed: dict[T, BulkWrites] = {}
        self._held: dict[T, BulkWrites] = {}
        self._room = MAX_BATCH_WRITE
        self.read = self.written = 0

    async def send_listed(self, writes: Iterator[BulkWrite[T]]) -> None:
        """Send writes that are all checked before."""
        for write in writes:
            self._hold(write)
        self._listed = {**self._held}
        await self.send_held()
        self.written = 0

    async def stream(
        self, port: Port, source: Source, writes_of: Callable[[Iterable[Any]], Iterator[BulkWrite[T]]]
    ) -> None:
        """Send the writes of a source as it is read."""
        if not isinstance(source, AsyncIterable):
            for write in writes_of(source):
                self.read += 1
                await self._add(write)
            return
        items = aiter(source)
        while some := await self._taken(port, items):
            for write in writes_of(some):
                await self._add(write)

    async def _taken(self, port: Port, items: AsyncIterator[Any]) -> list[Any]:
        """The next items, as many as fill a round at the most: none of them waits unseen while others are sent."""
        room, taken = self._room - max(map(len, self._held.values()), default=0), list[Any]()

        async def take() -> None:
            async for item in items:
                taken.append(item)
                if len(taken) == room:
                    return

        try:
            _: list[None] = await port.call_all([take])
        finally:
            self.read += len(taken)
        return taken

    async def send_held(self) -> None:
        """Send all that is held."""
        await self._send([*self._held])

    async def _add(self, write: BulkWrite[T]) -> None:
        if len(self._hold(write)) >= self._room:
            await self._send([write[0]])
            self._room = _ROUND

    def _hold(self, write: BulkWrite[T]) -> BulkWrites:
        table, place, given, request = write
        writes = self._held.get(table)
        if writes is None:
            writes = self._held[table] = {}
        if place in writes or (self._listed and place in self._listed.get(table, ())):
            raise self._repeated(table, given)
        writes[place] = given, request
        return writes

    async def _send(self, tables: list[T]) -> None:
        for table in tables:
            try:
                await self._send_table(table, self._held[table])
            except Incomplete as error:
                del self._held[table]
                unsent = [given for writes in self._held.values() for given, _ in writes.values()]
                if unsent:
                    error.rest += tuple(unsent)
                    error.hint += f" It also has the writes of other tables, which were not sent: {len(unsent)}."
                raise
            self.written += len(self._held.pop(table))
