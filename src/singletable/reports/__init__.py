"""Reports: questions to a table, and the shape that it has.

    Stats(db, shop).read()                 # items, bytes and read units by class, partition and index

Read `shape` (what is told of a table), `measurement` (how it is read), `charts` (bars, as SVG and as a page of HTML),
`terminal_charts` (the same in a terminal; it needs `pip install 'singletable[reports]'`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singletable.reports.shape import (
        ClassShape,
        HotKey,
        IndexShape,
        ItemCollection,
        LargeItem,
        Prediction,
        SizeBar,
        TableShape,
    )
    from singletable.reports.stats import Stats
    from singletable.reports.stats_async import AsyncStats

__all__ = [
    "AsyncStats",
    "ClassShape",
    "HotKey",
    "IndexShape",
    "ItemCollection",
    "LargeItem",
    "Prediction",
    "SizeBar",
    "Stats",
    "TableShape",
]

_MODULES = {"AsyncStats": "stats_async", "Stats": "stats"}


def __getattr__(name: str) -> Any:
    """Each name is imported at its first use: a program pays for what it asks."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'shape')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
