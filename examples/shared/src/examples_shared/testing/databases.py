"""Where tests get databases with nothing in them: a private engine each, or what the suite gives that runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from singletable import AsyncDatabase, Database, connect, connect_async


@dataclass
class Source:
    """`connect` and `connect_async` of an engine, until a suite gives others."""

    blocking: Callable[..., Database] = field(default=partial(connect, "local"))
    awaiting: Callable[..., AsyncDatabase] = field(default=partial(connect_async, "local"))


SOURCE = Source()


def fresh(**options: Any) -> Database:
    """A database with nothing in it, with the options of `connect`."""
    return SOURCE.blocking(**options)


def fresh_async(**options: Any) -> AsyncDatabase:
    """The same, with the options of `connect_async`."""
    return SOURCE.awaiting(**options)
