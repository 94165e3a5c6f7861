"""The mark of a copied data file: its tables are held, and the first program that uses one writes that down in it.

Only a program knows how its table names types and separates keys, so the copy itself has no more than this, until then:

    _singletable_held
        table_name
        why         the source: `copied from data/app.db`
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from singletable.errors import NotConfigured, Unavailable

if TYPE_CHECKING:
    from sqlite3 import Connection

R = TypeVar("R")
_BUSY_SECONDS = 10.0
_WHY = "SELECT why FROM _singletable_held WHERE table_name = ?"
_MARK = """
CREATE TABLE IF NOT EXISTS _singletable_held (table_name TEXT PRIMARY KEY, why TEXT NOT NULL);
"""
_WITH_WORK = (
    "SELECT table_name FROM _singletable_held JOIN _tables USING (table_name) "
    "WHERE stream_enabled OR COALESCE(gsi_definitions, '[]') NOT IN ('', '[]')"
)
"""Tasks need an index, and handlers of changes a stream: a table of leases, which no program releases, has neither."""
_EXISTS = "SELECT 1 FROM sqlite_master WHERE name = '_singletable_held'"


def mark_held(database: Connection, why: str) -> None:
    """Mark every table of a copy that nobody uses yet."""
    database.executescript(_MARK)
    with database:
        database.execute("INSERT OR REPLACE INTO _singletable_held SELECT table_name, ? FROM _tables", (why,))


class HeldCopy:
    """The marks of a data file, which are read once: no program marks a file that is in use."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._marked: set[str] | None = None

    def why(self, table: str) -> str | None:
        """Why a table is held, if it is marked. Raises Unavailable if the file can't be read."""
        if self._marked is None:
            self._marked = {
                name
                for (name,) in self._run(lambda database: _rows(database, "SELECT table_name FROM _singletable_held"))
            }
        if table not in self._marked:
            return None
        rows = self._run(lambda database: _rows(database, _WHY, table))
        return str(rows[0][0]) if rows else None

    def settle(self, table: str) -> None:
        """Remove the mark: the table itself says now that it is held."""
        self._run(lambda database: database.execute("DELETE FROM _singletable_held WHERE table_name = ?", (table,)))
        self._marked = (self._marked or set()) - {table}

    def check_exposable(self) -> None:
        """NotConfigured if a table that may have tasks or consumers is marked: who comes by HTTP does not see that."""
        names = [name for (name,) in self._run(lambda database: _rows(database, _WITH_WORK))]
        if names:
            raise NotConfigured(
                f"{self._data} is a copy, and its tables are held: programs would not know that by an address of HTTP",
                table=", ".join(names),
                operation="start",
                hint=f"For their modules, before: `singletable release MODULE --dry-run --db local:{self._data}`.",
            )

    def _run(self, work: Callable[[Connection], R]) -> R:
        import sqlite3  # noqa: PLC0415 for the few programs that have workers on this engine

        try:
            with (
                closing(sqlite3.connect(f"{self._data.as_uri()}?mode=rw", timeout=_BUSY_SECONDS, uri=True)) as database,
                database,
            ):
                return work(database)
        except sqlite3.Error as error:
            raise Unavailable(
                f"whether the tables of {self._data} are held can't be read: {error}",
                hint="This process must be allowed to read and write it.",
            ) from error


def _rows(database: Connection, select: str, *parameters: str) -> list[tuple[str]]:
    if not database.execute(_EXISTS).fetchone():
        return []
    return database.execute(select, parameters).fetchall()
