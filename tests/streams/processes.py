"""A worker as a child process, to be stopped and killed.

Each change that it handles is a line of the log, written at once: the note's id, its count, and the seconds since it
was written. It prints `ready` when it begins.
"""

from __future__ import annotations

import os
import sys
import time

from singletable.streams import Changes, ChangeWorker, Inserted, Modified
from tests.streams.models import Note, noted
from tests.support.children import mortal


def work(target: str, log: str, lease_seconds: str) -> None:
    changes = Changes(noted, name="processes")
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def handle(note: Note) -> None:
        os.write(out, f"{note.id} {note.count} {time.time() - float(note.text or 0):.3f}\n".encode())

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        handle(change.new)

    @changes.on(Note).modified
    def modified(change: Modified[Note]) -> None:
        handle(change.new)

    with mortal(target) as db:
        os.write(sys.stdout.fileno(), b"ready\n")
        ChangeWorker(db, changes).run(lease_seconds=float(lease_seconds), poll_seconds=0.02)
