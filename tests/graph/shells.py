"""Both shells with the verbs of the graph behind one interface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from singletable import connect, connect_async
from tests.support.shells import Disguised, Shell

VERBS = frozenset(
    ["link", "relink", "unlink", "delete_node", "including", "walk", "count_edges", "load", "check", "sweep_table"]
)


class GraphDisguised(Disguised):
    """A blocking database with the awaiting one's interface."""

    def __getattr__(self, name: str) -> Any:
        verb = super().__getattr__(name)
        if name not in VERBS:
            return verb

        async def call(*args: Any, **kwargs: Any) -> Any:
            return verb(*args, **kwargs)

        return call


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[Shell]:
    """A shell of a kind over an engine of its own."""
    if kind == "awaiting":
        shell = connect_async("local")
    else:
        shell = cast(Shell, GraphDisguised(connect("local")))
    try:
        yield shell
    finally:
        await shell.close()
