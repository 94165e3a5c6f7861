"""What a process does that shares a rate with others: it writes, and says what it took when."""

from __future__ import annotations

import sys
import time
from itertools import count

from singletable import Entity, Key, Table, connect
from singletable.migrations import SharedRate, shared_rate

notes = Table("notes")


class Note(Entity, table=notes, type="note"):
    process: str
    number: int

    @notes.key
    @staticmethod
    def by_number(process: str, number: int) -> Key:
        """One."""
        return f"note#{process}", f"{number}"


def quicken() -> None:
    """Beats and leases of a fifth of their length."""
    for name in ("BEAT_SECONDS", "HELD_SECONDS", "LEASE_SECONDS"):
        setattr(shared_rate, name, getattr(shared_rate, name) / 5)


def write(target: str, process: str, units: str, steps: str) -> None:
    """Write until killed: a line of output for each request with the time and the units. The wall clock goes astray."""
    quicken()
    wall = time.time

    def stepping() -> float:
        return wall() + (3600.0 if int(wall() * 3) % 2 else -3600.0) * float(steps)

    with connect(target, clock=stepping) as db:
        rate = SharedRate(notes, "notes", write_units=float(units))
        for number in count():
            with db.meter() as meter:
                db.write_many(puts=[Note(process=process, number=number)], rate=rate)
            sys.stdout.write(f"{time.monotonic()} {meter.write_units}\n")
            sys.stdout.flush()
