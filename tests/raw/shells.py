"""Plain items behind one interface for both shells."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from singletable import Table
from singletable.raw import AsyncRaw, Raw
from tests.support.shells import Disguised, Shell

_ITERATED = ("iter", "select")


class DisguisedRaw:
    """A blocking `Raw` with the awaiting one's interface."""

    def __init__(self, raw: Raw) -> None:
        self.raw, self.db = raw, raw.db

    def __getattr__(self, name: str) -> Any:
        verb: Callable[..., Any] = getattr(self.raw, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return verb(*args, **kwargs)

        async def iterate(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            for item in verb(*args, **kwargs):
                yield item

        return iterate if name in _ITERATED else call

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self.raw.transaction() as tx:
            yield tx


def raw_of(shell: Shell, table: Table | str) -> AsyncRaw:
    """The plain items of a table, for a shell of either kind."""
    db: Any = shell
    return cast(AsyncRaw, DisguisedRaw(Raw(db.db, table))) if isinstance(db, Disguised) else AsyncRaw(shell, table)
