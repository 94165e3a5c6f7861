"""Reports: questions to a table, and the shape that it has.

    Stats(db, shop).read()                 # items, bytes and read units by class, partition and index
    open_export("exports", shop).query("SELECT state, count(*) FROM job GROUP BY ALL").polars()

Read `shape` (the facts of a table), `measurement` (how it is read), `sql` (DuckDB over an export, closed to all
else), `relations` and `views` (what can be asked), `answers`, `charts` (as SVG and as a page of HTML),
`terminal_charts`. All but the shape of a table needs `pip install 'singletable[reports]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.reports.answers import Answer as Answer
    from singletable.reports.charts import (
        Chart as Chart,
        Series as Series,
        page_of as page_of,
        svg_of as svg_of,
        table_of as table_of,
    )
    from singletable.reports.limits import Limits as Limits
    from singletable.reports.relations import Join as Join, Relation as Relation
    from singletable.reports.shape import (
        ClassShape as ClassShape,
        HotKey as HotKey,
        IndexShape as IndexShape,
        ItemCollection as ItemCollection,
        LargeItem as LargeItem,
        Prediction as Prediction,
        SizeBar as SizeBar,
        TableShape as TableShape,
    )
    from singletable.reports.sql import SqlSession as SqlSession, open_export as open_export, open_live as open_live
    from singletable.reports.stats import Stats as Stats
    from singletable.reports.stats_async import AsyncStats as AsyncStats
    from singletable.reports.terminal_charts import drawing_of as drawing_of


__getattr__ = late_names(
    __name__,
    "reports",
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
