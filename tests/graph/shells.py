"""Both shells with their graphs behind one interface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from singletable import AsyncDatabase
from singletable.graph import AsyncGraph, Graph
from tests.support.engines import fresh, fresh_async
from tests.support.shells import Disguised, Shell, disguised


class DisguisedGraph:
    """A blocking graph with the awaiting one's interface."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self.graph, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return verb(*args, **kwargs)

        return call


def bound(shell: Shell | Disguised) -> AsyncGraph:
    """The graph of a shell of either kind."""
    if isinstance(shell, AsyncDatabase):
        return AsyncGraph(shell)
    return cast(AsyncGraph, DisguisedGraph(Graph(shell.db)))


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[Shell]:
    """A shell of a kind over an engine of its own."""
    shell = fresh_async() if kind == "awaiting" else disguised(fresh())
    try:
        yield shell
    finally:
        await shell.close()
