"""What a layer's own verbs ask of a database: a port, and a way to run a flow over it. Both shells have it."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from singletable.flow.port import Port

T = TypeVar("T")


class Blocking(Protocol):
    """A database whose verbs return when they are done."""

    @property
    def port(self) -> Port: ...

    def run(self, flow: Coroutine[Any, Any, T]) -> T: ...


class Awaiting(Protocol):
    """A database whose verbs are awaited."""

    @property
    def port(self) -> Port: ...

    async def run(self, flow: Coroutine[Any, Any, T]) -> T: ...


def is_of_shell(db: object, *, awaiting: bool) -> bool:
    """Whether this is a database of the one shell or of the other; what is no database is of neither."""
    run = getattr(db, "run", None)
    return callable(run) and inspect.iscoroutinefunction(run) is awaiting
