"""Processes that export and import in less memory, or with fewer threads, than they need."""

from __future__ import annotations

import _thread
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, connect
from singletable.errors import Unavailable
from singletable.exchange import Exports, Imports

wide, small = Table("wide"), Table("small")
MEGABYTE = 1 << 20


class Wide(Entity, table=wide, type="wide"):
    id: str
    body: str

    @wide.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One of them."""
        return f"wide#{id}", "wide"


def export(db: Database, folder: Path, segments: int) -> Any:
    return Exports(db, wide).export(folder / "limited", segments=segments)


def import_(db: Database, folder: Path, _: int) -> Any:
    return Imports(db, wide).run(folder / "export", mode="replace")


WORK: dict[str, Callable[[Database, Path, int], Any]] = {"export": export, "import": import_}


def limited(url: str, folder: str, work: str, what: str, megabytes: str) -> None:
    """Do the work with so little of it that it must be refused, by name and with a hint."""
    db, place = connect(url), Path(folder)
    db.create_table(small)
    Exports(db, small).export(place / "small")  # what is imported and begun by then is not counted
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + int(megabytes) * MEGABYTE
    _thread.stack_size(1 << 30 if what == "threads" else 256 << 10)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with pytest.raises(
        Unavailable, match=f"the system gives this process no more {what}.*goes on where it was"
    ) as told:
        # Without memory a new thread may end before it says that it began, and Python's `Thread.start` waits for ever.
        WORK[work](db, place, 4 if what == "threads" else 1)
    assert told.value.operation == work
