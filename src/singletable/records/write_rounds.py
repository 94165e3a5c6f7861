"""Writes of many items in rounds of 16 requests: `write_many` of entities, and of plain items.

What has a length is checked whole before anything is sent. An iterator is read while its writes are sent: one request
first, then 16 at a time. No more than one round of each table is held.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar

from singletable.errors import Incomplete, InvalidRequest
from singletable.flow import FAN_OUT
from singletable.operations import MAX_BATCH_WRITE

T = TypeVar("T", bound=Hashable)

BulkWrite = tuple[T, Hashable, Any, dict[str, Any]]
"""A table, the place of an item there, what a caller gave for the write, and the write as requests have it."""
BulkWrites = dict[Any, tuple[Any, dict[str, Any]]]
"""The writes of one table by the places of their items: what a caller gave, and the write as requests have it."""

_ROUND = FAN_OUT * MAX_BATCH_WRITE


async def write_in_rounds(
    writes_of: Callable[[Iterable[Any], Iterable[Any]], Iterator[BulkWrite[T]]],
    puts: Iterable[Any],
    deletes: Iterable[Any],
    send: Callable[[T, BulkWrites], Awaitable[None]],
    repeated: Callable[[T, Any], InvalidRequest],
) -> None:
    """Send the writes of puts and deletes by `send`, which has a table's writes: first what has a length, then the
    iterators, puts before deletes.

    Raises what `repeated` returns for two writes of one item: among all that have a length, and of an iterator's with
    those and with its own that are held. `Incomplete` has all that was read and is not done.
    """
    whole = [isinstance(source, Sized) for source in (puts, deletes)]
    listed = writes_of(puts if whole[0] else (), deletes if whole[1] else ())
    rounds = _Rounds(send, repeated)
    if all(whole):
        return await rounds.send_listed(listed)
    try:
        await rounds.send_listed(listed)
        await rounds.stream(writes_of(() if whole[0] else puts, () if whole[1] else deletes))
    except Incomplete as error:
        error.read = rounds.read
        error.hint += f" Then go on with what follows in the iterator: {rounds.read} were read of it."
        raise
    except Exception as error:
        if rounds.read:
            error.add_note(f"write_many had read {rounds.read} of its iterator, and written {rounds.written} of them.")
        raise


class _Rounds(Generic[T]):
    """The writes that are held and not yet sent, by table; how many were read of iterators, and written."""

    def __init__(
        self, send: Callable[[T, BulkWrites], Awaitable[None]], repeated: Callable[[T, Any], InvalidRequest]
    ) -> None:
        self._send_table, self._repeated = send, repeated
        self._listed: dict[T, BulkWrites] = {}
        self._held: dict[T, BulkWrites] = {}
        self.read = self.written = 0

    async def send_listed(self, writes: Iterator[BulkWrite[T]]) -> None:
        """Send writes that are all checked before."""
        for write in writes:
            self._hold(write)
        self._listed = {**self._held}
        await self._send([*self._held])
        self.written = 0

    async def stream(self, writes: Iterator[BulkWrite[T]]) -> None:
        """Send writes as they are read."""
        room = MAX_BATCH_WRITE
        for write in writes:
            self.read += 1
            if len(self._hold(write)) >= room:
                await self._send([write[0]])
                room = _ROUND
        await self._send([*self._held])

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
