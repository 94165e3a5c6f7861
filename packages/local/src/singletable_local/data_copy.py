"""A copy of an embedded engine's data file, made while the engine serves and programs write.

SQLite's own backup reads the whole file in one transaction: the copy is the data at one moment. The engine's writers go
on concurrently, as they write to the log next to the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from singletable.errors import AlreadyExists, NotConfigured, Unavailable
from singletable_local.held_copies import mark_held

_BUSY_SECONDS = 30.0


def copy_data(data: Path, to: Path, progress: Callable[[int, int], object] | None = None) -> int:
    """Copy a data file to a new one, for its owner's eyes, and return its bytes. `progress` gets pages done, and all.

    An engine starts on the copy as on any file: `local:COPY`. Its tables are held until they are released. Raises
    AlreadyExists if `to` exists; NotConfigured if the data file is missing; Unavailable if either can't be read or
    written. Nothing is left behind then.
    """
    if to.exists():
        raise AlreadyExists(f"{to} is there already", hint="Name another file, or move that one away.")
    if not data.exists():
        raise NotConfigured(f"the data file {data} is missing", hint="Name the file that an engine runs on.")
    draft = to.with_name(f"{to.name}.{os.getpid()}.part")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _copy(data, draft, progress)
        size = draft.stat().st_size
        os.link(draft, to)  # not renamed: two copies to one name don't replace each other
    except FileExistsError as error:
        raise AlreadyExists(f"{to} is there already", hint="Name another file.") from error
    except OSError as error:
        raise Unavailable(f"the copy {to} can't be written: {error}", hint="Look at its directory.") from error
    finally:
        draft.unlink(missing_ok=True)
    return size


def _copy(data: Path, draft: Path, progress: Callable[[int, int], object] | None) -> None:
    import sqlite3  # noqa: PLC0415 for the few programs that copy

    def tell(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    try:
        source = sqlite3.connect(f"{data.as_uri()}?mode=rw", timeout=_BUSY_SECONDS, uri=True)
        with closing(source), closing(sqlite3.connect(draft)) as target:
            source.execute("PRAGMA busy_timeout = 30000")
            source.backup(target, pages=-1, progress=tell)
            mark_held(target, f"copied from {data.name}")
            target.execute("PRAGMA journal_mode = DELETE")
            wrong = target.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.Error as error:
        raise Unavailable(f"{data} can't be copied: {error}", hint="Look at the file.") from error
    if wrong != "ok":
        raise Unavailable(f"the copy of {data} is damaged: {wrong}", hint="Try again; then look at the disk.")
    with draft.open("rb") as file:
        os.fsync(file.fileno())
