"""Takes what was deleted out of an embedded engine's data file, while the engine serves.

SQLite leaves the bytes of deleted rows in free pages, and in free space of pages, until something is written over them.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from singletable.errors import Unavailable

_BUSY_SECONDS = 30.0


def wipe_deleted(data: Path) -> None:
    """Write a data file anew without what was deleted, and empty the log beside it. Writers wait meanwhile.

    Takes the time of the whole file, and as much free space. Unavailable where it can't be written anew, or a program
    does not end its reading.
    """
    import sqlite3  # noqa: PLC0415 for the few programs that erase

    place = f"{data.as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(place, timeout=_BUSY_SECONDS, uri=True, isolation_level=None)) as database:
            database.execute("VACUUM")
            is_busy, *_ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        raise Unavailable(f"{data} can't be written anew: {error}", hint=_HINT.format(data)) from error
    if is_busy:
        raise Unavailable(f"the log beside {data} can't be emptied: a program reads it", hint=_HINT.format(data))


_HINT = "End the programs that use it, then: sqlite3 {} 'VACUUM; PRAGMA wal_checkpoint(TRUNCATE)'"
