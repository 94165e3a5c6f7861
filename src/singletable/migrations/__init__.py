"""Migrations: bring a table that is in use to what its classes declare, while programs write to it.

    Migrations(db, shop).fill(rate=Rate(write_units=200))

`fill` writes the index keys that items lack, and brings items of older schema versions into the current form. Read
`needed` (the write that one item needs), then `fill` (all items: in parts, resumable, each under its condition).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from singletable.migrations.fill import Filled
from singletable.migrations.migrations import Migrations

if TYPE_CHECKING:
    from singletable.migrations.migrations_async import AsyncMigrations

__all__ = ["AsyncMigrations", "Filled", "Migrations"]


def __getattr__(name: str) -> Any:
    """The awaiting shell is imported at its first use, as it brings asyncio."""
    if name == "AsyncMigrations":
        return import_module("singletable.migrations.migrations_async").AsyncMigrations
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
