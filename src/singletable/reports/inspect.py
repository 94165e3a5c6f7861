"""What reports are made of, for tools: the shape of a table item by item, texts of SQL and of HTML."""

from singletable.reports.charts import text_of
from singletable.reports.names import quoted, text
from singletable.reports.shape import Tally

__all__ = ["Tally", "quoted", "text", "text_of"]
