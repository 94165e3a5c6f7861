"""A DuckDB in memory that reaches the files of an export alone, and answers one SELECT at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Literal

import duckdb
import pyarrow as pa

from singletable.errors import InvalidRequest
from singletable.reports.names import quoted
from singletable.reports.statements import Reads, check_reads_views, reads_of

Step = tuple[Literal["run", "arrow", "empty"], str, Any]
"""A statement and its parameters; a name and the Arrow files that give its rows; a name and a schema, in hex, without
rows."""
_READS = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})
_EXPLAIN = re.compile(r"\s*EXPLAIN\b(?:\s+ANALYZE\b)?(.*)", re.IGNORECASE | re.DOTALL).fullmatch
LESS: Final = "Ask for less: fewer columns, fewer rows in a join or a sort; or ask with `singletable sql`."
_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "python_scan_all_frames": "false",
}


class ClosedDatabase:
    """Made of steps: settings, then views. After the settings no file can be opened to it any more.

    `views` are the names that can be asked; where `is_covered`, a question reads nothing but them.
    """

    def __init__(self, views: frozenset[str], *, is_covered: bool, megabytes: int | None = None) -> None:
        self._views, self._is_covered, self._megabytes = views, is_covered, megabytes
        self._connection: duckdb.DuckDBPyConnection | None = duckdb.connect(":memory:", config=dict(_CONFIG))

    @property
    def _db(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            raise InvalidRequest("the session is closed", hint="Ask inside of its block, or open the export again.")
        return self._connection

    def close(self) -> None:
        """Let go of DuckDB too: it writes warnings of what a program that ends still holds."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def take(self, steps: Sequence[Step]) -> None:
        """Take steps, in order."""
        try:
            for step in steps:
                self._take(step)
        except duckdb.Error as error:
            raise self._refused(error) from None

    def ask(self, sql: str) -> pa.Table:
        """The rows of a question of the session itself, to the files too. InvalidRequest where DuckDB refuses it."""
        try:
            table: pa.Table = self._db.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise self._refused(error) from None
        return table

    def answer(self, sql: str, most: int | None) -> tuple[pa.Table, Reads]:
        """The rows of one SELECT, `most` and one more, and what it reads. InvalidRequest for what writes, for two
        statements, and for what DuckDB refuses."""
        try:
            self._check(sql)
            found: Any = self._db.sql(sql)
            table: pa.Table = (found if most is None else found.limit(most + 1)).to_arrow_table()
            return table, reads_of(self._db, sql)
        except RecursionError:
            hint = "Ask with fewer SELECTs inside of each other."
            raise InvalidRequest("the question is nested too deeply", hint=hint) from None
        except (MemoryError, pa.ArrowMemoryError, duckdb.OutOfMemoryException):
            most_of_it = "all" if self._megabytes is None else f"{self._megabytes} MB"
            raise InvalidRequest(f"the question needs more than {most_of_it} of memory", hint=LESS) from None
        except duckdb.Error as error:
            raise self._refused(error) from None

    def _take(self, step: Step) -> None:
        how, text, given = step
        if how == "run":
            self._db.execute(text, given)
        elif how == "arrow":
            import pyarrow.dataset as pads  # noqa: PLC0415 it imports pandas where there is one: longer than a question

            self._db.register(text, pads.dataset(given, format="ipc"))
        else:
            self._db.register("columns", pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(given))).empty_table())
            self._db.execute("CREATE SCHEMA IF NOT EXISTS nothing")
            self._db.execute(f"CREATE TABLE nothing.{quoted(text)} AS FROM columns")
            self._db.unregister("columns")

    def _check(self, sql: str) -> None:
        try:
            sql.encode()
        except UnicodeEncodeError:
            raise InvalidRequest("the question holds a lone surrogate, which has no form in UTF-8") from None
        statements = self._db.extract_statements(sql)
        if len(statements) != 1:
            raise InvalidRequest(f"a question is one statement, not {len(statements)}", hint="Ask one after the other.")
        (statement,) = statements
        if statement.type not in _READS:
            raise InvalidRequest(
                f"{statement.type.name.replace('_', ' ')} is refused: SQL only reads here",
                hint="Ask by SELECT. To change the table, use the verbs of the library.",
            )
        if statement.type == duckdb.StatementType.EXPLAIN:
            self._check(_explained(sql))
        elif self._is_covered:
            check_reads_views(self._db, sql, frozenset(name.lower() for name in self._views))

    def _refused(self, error: duckdb.Error) -> InvalidRequest:
        """DuckDB's own words, and what to do about a name that SQL has taken."""
        if isinstance(error, duckdb.PermissionException):
            return InvalidRequest(
                "SQL reads nothing but the export: other files and extensions are closed", hint="Ask its views."
            )
        reason = str(error).strip()
        near = re.search(r'near "(\w+)"', reason)
        name = near[1].lower() if near is not None and isinstance(error, duckdb.ParserException) else ""
        hint = f'{name} is a word of SQL: write "{name}", with the quotes.' if name in self._views else ""
        return InvalidRequest(f"DuckDB refused it: {reason}", hint=hint)


def _explained(sql: str) -> str:
    """The statement inside an EXPLAIN. Raises InvalidRequest if it begins with a comment, in which another statement
    could hide."""
    plan = _EXPLAIN(sql)
    if plan is None:
        raise InvalidRequest("an EXPLAIN has nothing before that word", hint="Take out the comment before it.")
    return plan[1]
