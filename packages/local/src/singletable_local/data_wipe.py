"""Takes what was deleted out of an embedded engine's data file, while the engine serves.

SQLite leaves the bytes of deleted rows in free pages, and in free space of pages, until something is written over them.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from singletable.errors import Unavailable
from singletable_local.polling import wait_until

_BUSY_SECONDS = 30.0


def wipe_deleted(data: Path) -> None:
    """Rewrite a data file without deleted data, and empty its log. Writers wait meanwhile.

    Takes the time of the whole file, and as much free space. Raises Unavailable if the file can't be rewritten, or a
    program does not end its reading.
    """
    import sqlite3  # noqa: PLC0415 for the few programs that erase

    place = f"{data.as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(place, timeout=_BUSY_SECONDS, uri=True, isolation_level=None)) as database:
            database.execute("VACUUM")
            # A checkpoint of the engine's own refuses this one, which doesn't wait for it.
            empty = "PRAGMA wal_checkpoint(TRUNCATE)"
            is_empty = wait_until(lambda: database.execute(empty).fetchone()[0] == 0, _BUSY_SECONDS)
    except sqlite3.Error as error:
        raise Unavailable(f"{data} can't be rewritten: {error}", hint=_HINT.format(data)) from error
    if not is_empty:
        raise Unavailable(f"the log of {data} can't be emptied: a program reads it", hint=_HINT.format(data))


_HINT = "End the programs that use it, then: sqlite3 {} 'VACUUM; PRAGMA wal_checkpoint(TRUNCATE)'"
