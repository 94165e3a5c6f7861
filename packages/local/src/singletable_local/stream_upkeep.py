"""Maintenance that the embedded engine omits for its streams, done in its data file while it serves.

The engine's table of stream records has no index, so each write reads all of them, and the engine never deletes any.
SQLite lets another process create the index and delete old records. The newest record of each table always stays: the
engine derives the next number from it.

The engine knows a stream's records by the name of their table, and keeps them when the table or the stream ends: a new
stream of the name would begin with them. Triggers delete them then, whichever program ends it.

A record is deleted when it is a day old by the wall clock, and the machine has also run for a day since the record was
written. The latter is measured by the monotonic clock, which can't be set. So a wall clock that is set forward deletes
nothing that consumers have not had a day to read. The file has the marks for this, one for each hour:

    _singletable_stream_marks
        lived      seconds that machines certainly ran with this file
        uptime     the clock of intervals at that time; a lower one in the next mark means that the machine restarted
        last_id    the newest stream record at that time
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from singletable.errors import Unavailable

if TYPE_CHECKING:
    from sqlite3 import Connection

KEPT_SECONDS = 24 * 3600.0
"""The time that DynamoDB keeps the records of a stream."""
_BUSY_SECONDS = 10.0
_MARK_EVERY_SECONDS = 3600.0
_AT_ONCE = 1000
"""Rows deleted in one transaction: the engine's writers wait for its end."""

_INDEXES = """
CREATE INDEX IF NOT EXISTS _singletable_stream
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER));
CREATE INDEX IF NOT EXISTS _singletable_stream_shard
    ON _stream_records (table_name, shard_id, CAST(sequence_number AS INTEGER));
CREATE TABLE IF NOT EXISTS _singletable_stream_marks
    (lived REAL NOT NULL, uptime REAL NOT NULL, last_id INTEGER NOT NULL);
CREATE TRIGGER IF NOT EXISTS _singletable_table_ends AFTER DELETE ON _tables
    BEGIN DELETE FROM _stream_records WHERE table_name = OLD.table_name; END;
CREATE TRIGGER IF NOT EXISTS _singletable_stream_ends AFTER UPDATE OF stream_label ON _tables
    WHEN OLD.stream_label IS NOT NEW.stream_label
    BEGIN DELETE FROM _stream_records WHERE table_name = OLD.table_name; END;
"""
_HAS_TRIGGERS = "SELECT 1 FROM sqlite_master WHERE name = '_singletable_table_ends'"
_LEFT_OVER = """
DELETE FROM _stream_records
    WHERE created_at < coalesce((SELECT created_at FROM _tables WHERE table_name = _stream_records.table_name), 0)
"""
"""Records of a table that was deleted before the triggers were there, and made again."""
_LAST_MARK = "SELECT lived, uptime FROM _singletable_stream_marks ORDER BY lived DESC LIMIT 1"
_OLD_MARK = """
SELECT lived, last_id FROM _singletable_stream_marks WHERE lived <= ? ORDER BY lived DESC, last_id LIMIT 1
"""
_FIRST_TO_STAY = "SELECT id FROM _stream_records WHERE created_at >= ? ORDER BY id LIMIT 1"
_LAST = "SELECT max(id) FROM _stream_records"
_NEWEST = """
SELECT id FROM _stream_records WHERE table_name = ? ORDER BY CAST(sequence_number AS INTEGER) DESC LIMIT 1
"""


def maintain_streams(data: Path, now: float, uptime: float) -> None:
    """Index the stream records in a data file; delete those of a day ago, and of ended streams. A second call is quick.

    `now` is the wall clock, `uptime` the clock of intervals, which starts again with the machine.
    Raises Unavailable if the file can't be opened or changed.
    """
    import sqlite3  # noqa: PLC0415 for the few programs that have a stream on this engine

    try:
        with closing(sqlite3.connect(f"{data.as_uri()}?mode=rw", timeout=_BUSY_SECONDS, uri=True)) as database:
            if not database.execute(_HAS_TRIGGERS).fetchone():
                with database:
                    database.execute(_LEFT_OVER)
            database.executescript(_INDEXES)
            last = database.execute(_LAST).fetchone()[0]
            if last is not None:
                _prune(database, now - KEPT_SECONDS, last, _last_id_of_a_day_ago(database, uptime, last))
    except sqlite3.Error as error:
        raise Unavailable(
            f"the engine's stream records can't be indexed and pruned: {error}",
            hint=f"Look at {data}: this process must be allowed to write it.",
        ) from error


def _last_id_of_a_day_ago(database: Connection, uptime: float, last: int) -> int:
    """The newest record that was there a day of running time ago; 0 for none. Writes a mark where one is due.

    Between two marks the machine ran for at least the difference of their uptimes; after a restart, for its uptime.
    """
    before = database.execute(_LAST_MARK).fetchone()
    since = _MARK_EVERY_SECONDS if before is None else uptime - before[1]
    is_restarted = since < 0
    lived = 0.0 if before is None else before[0] + (uptime if is_restarted else since)
    if is_restarted or since >= _MARK_EVERY_SECONDS:
        with database:
            database.execute("INSERT INTO _singletable_stream_marks VALUES (?, ?, ?)", (lived, uptime, last))
    old = database.execute(_OLD_MARK, (lived - KEPT_SECONDS,)).fetchone()
    if old is None:
        return 0
    with database:
        database.execute("DELETE FROM _singletable_stream_marks WHERE lived < ?", (old[0],))
    return int(old[1])


def _prune(database: Connection, before: float, last: int, last_of_a_day_ago: int) -> None:
    """Ids rise with time: all records before the first recent one are old."""
    stays = database.execute(_FIRST_TO_STAY, (before,)).fetchone()
    until = min(stays[0] if stays else last + 1, last_of_a_day_ago + 1)
    tables = [name for (name,) in database.execute("SELECT DISTINCT table_name FROM _stream_records")]
    kept = {row[0] for name in tables if (row := database.execute(_NEWEST, (name,)).fetchone())}
    old = [id for (id,) in database.execute("SELECT id FROM _stream_records WHERE id < ?", (until,)) if id not in kept]
    for first in range(0, len(old), _AT_ONCE):
        part = [(id,) for id in old[first : first + _AT_ONCE]]
        with database:
            database.executemany("DELETE FROM _stream_records WHERE id = ?", part)
