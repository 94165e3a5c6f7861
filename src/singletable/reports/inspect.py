"""The parts of reports, for tools: the shape of a table item by item, texts of SQL and of HTML."""

from singletable.reports.charts import text_of as text_of
from singletable.reports.names import quoted as quoted, text as text
from singletable.reports.tally import Tally as Tally
