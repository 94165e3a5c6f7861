"""Reports: questions to a table, and the shape that it has.

    Stats(db, shop).read()                 # items, bytes and read units by class, partition and index
    open_export("exports", shop).query("SELECT state, count(*) FROM job GROUP BY ALL").polars()

Read `shape` (the facts of a table), `measurement` (how it is read), `sql` (DuckDB over an export, closed to all
else), `relations` and `views` (what can be asked), `answers`, `charts` (as SVG and as a page of HTML),
`terminal_charts`. All but the shape of a table needs `pip install 'singletable[reports]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from singletable.errors import NotConfigured
from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.reports.answers import Answer
    from singletable.reports.charts import Chart, Series, page_of, svg_of, table_of
    from singletable.reports.limits import Limits
    from singletable.reports.relations import Join, Relation
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
    from singletable.reports.sql import SqlSession, open_export, open_live
    from singletable.reports.stats import Stats
    from singletable.reports.stats_async import AsyncStats
    from singletable.reports.terminal_charts import drawing_of

__all__ = [
    "Answer",
    "AsyncStats",
    "Chart",
    "ClassShape",
    "HotKey",
    "IndexShape",
    "ItemCollection",
    "Join",
    "LargeItem",
    "Limits",
    "Prediction",
    "Relation",
    "Series",
    "SizeBar",
    "SqlSession",
    "Stats",
    "TableShape",
    "drawing_of",
    "open_export",
    "open_live",
    "page_of",
    "svg_of",
    "table_of",
]

_find = late_names(
    __name__,
    answers="Answer",
    charts="Chart Series page_of svg_of table_of",
    limits="Limits",
    relations="Join Relation",
    shape="ClassShape HotKey IndexShape ItemCollection LargeItem Prediction SizeBar TableShape",
    sql="SqlSession open_export open_live",
    stats="Stats",
    stats_async="AsyncStats",
    terminal_charts="drawing_of",
)
_EXTRA = frozenset({"duckdb", "obstore", "plotext", "pyarrow"})


def __getattr__(name: str) -> Any:
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        hint = "Install it: python -m pip install 'singletable[reports]'."
        raise NotConfigured(f"{name} needs {error.name}", hint=hint) from None
