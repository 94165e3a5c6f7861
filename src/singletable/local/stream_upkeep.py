"""Maintenance that the embedded engine omits for its streams, done in its data file while it serves.

The engine's table of stream records has no index, so each write reads all of them, and the engine never deletes any.
SQLite lets another process create the index and delete old records. The newest record of each table always stays: the
engine derives the next number from it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from singletable.errors import Unavailable

if TYPE_CHECKING:
    from sqlite3 import Connection

KEPT_SECONDS = 24 * 3600.0
"""As long as DynamoDB keeps the records of a stream."""
_BUSY_SECONDS = 10.0
_AT_ONCE = 1000
"""Rows deleted in one transaction: the engine's writers wait for its end."""

_INDEXES = """
CREATE INDEX IF NOT EXISTS _singletable_stream
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER));
CREATE INDEX IF NOT EXISTS _singletable_stream_shard
    ON _stream_records (table_name, shard_id, CAST(sequence_number AS INTEGER));
"""
_FIRST_TO_STAY = "SELECT id FROM _stream_records WHERE created_at >= ? ORDER BY id LIMIT 1"
_LAST = "SELECT max(id) FROM _stream_records"
_NEWEST = """
SELECT id FROM _stream_records WHERE table_name = ? ORDER BY CAST(sequence_number AS INTEGER) DESC LIMIT 1
"""


def maintain_streams(data: Path, now: float) -> None:
    """Index the stream records in a data file, and delete those that are over a day old. A second call is quick.

    Raises Unavailable where the file can't be opened or changed.
    """
    import sqlite3  # noqa: PLC0415 for the few programs that have a stream on this engine

    try:
        with closing(sqlite3.connect(f"{data.as_uri()}?mode=rw", timeout=_BUSY_SECONDS, uri=True)) as database:
            database.executescript(_INDEXES)
            _prune(database, now - KEPT_SECONDS)
    except sqlite3.Error as error:
        raise Unavailable(
            f"the engine's stream records can't be indexed and pruned: {error}",
            hint=f"Look at {data}: this process must be allowed to write it.",
        ) from error


def _prune(database: Connection, before: float) -> None:
    """Ids rise with time: all records before the first recent one are old."""
    (last,) = database.execute(_LAST).fetchone()
    if last is None:
        return
    stays = database.execute(_FIRST_TO_STAY, (before,)).fetchone()
    until = stays[0] if stays else last + 1
    tables = [name for (name,) in database.execute("SELECT DISTINCT table_name FROM _stream_records")]
    kept = {row[0] for name in tables if (row := database.execute(_NEWEST, (name,)).fetchone())}
    old = [id for (id,) in database.execute("SELECT id FROM _stream_records WHERE id < ?", (until,)) if id not in kept]
    for first in range(0, len(old), _AT_ONCE):
        part = [(id,) for id in old[first : first + _AT_ONCE]]
        with database:
            database.executemany("DELETE FROM _stream_records WHERE id = ?", part)
