"""A table of an older program's items, what a fill makes of them, and processes that work on jobs there."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from math import ceil
from typing import Any

from msgspec.structs import replace

from singletable import Database, connect
from singletable.flow import FAN_OUT, Meter, Operation, Port, WrappedPort
from singletable.jobs import JobPlace, Jobs, flows
from singletable.jobs.worker_options import WorkerOptions
from singletable.migrations import Migrations
from singletable.operations import Item
from singletable.tables import add_index
from tests.migrations.models import new, old
from tests.migrations.test_fill import people, places
from tests.support.raw import all_items
from tests.support.traits import LOCAL


def put_people(db: Database, count: int) -> None:
    """So many old items, half of them of each class."""
    db.create_table(old)
    db.write_many(puts=places(count // 2))
    for person in people(count - count // 2):
        db.create(person)
    db.run(add_index(db.port, new.definition, "gsi1"))


def application_items(db: Database) -> dict[str, Item]:
    """The items but those of tools, by their partition keys, without the random ids of their writes."""
    items = [item for item in db.run(all_items(db.port, "people")) if not item["_type"]["S"].startswith("_")]
    return {item["pk"]["S"]: {name: item[name] for name in item.keys() - {"_w"}} for item in items}


def tool_types(db: Database) -> set[str]:
    """The types of the items of tools."""
    items = db.run(all_items(db.port, "people"))
    return {item["_type"]["S"] for item in items if item["_type"]["S"].startswith("_")}


def is_filled(db: Database) -> bool:
    """Whether another fill would write nothing."""
    return Migrations(db, new).fill(dry_run=True).written == 0


def work(url: str, job: str, lease_seconds: str, at_once: str) -> None:
    """A process that works on a job, and says so once it has begun."""
    with connect(url, environ={}, traits=LOCAL) as db:
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        Jobs(db, new).run(job, lease_seconds=float(lease_seconds), at_once=int(at_once))


MADE = replace(LOCAL, creates_tables=False)
"""The engine, whose tables are there: a worker sets up none."""


class SlowPort(WrappedPort):
    """A port to a service that answers late: each wave of requests waits so long. It notes the units that it took."""

    def __init__(self, port: Port, seconds: float, notes: str = "") -> None:
        super().__init__(port)
        self._seconds, self._notes = seconds, notes

    async def send(self, operation: Operation[Any]) -> Any:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        await self.sleep(self._seconds * ceil(len(operations) / FAN_OUT))
        with Meter() as meter:
            values = await self._port.send_all(operations)
        if self._notes:
            note = f"{time.monotonic()} {meter.read_units} {meter.write_units}\n"
            with open(self._notes, "a") as file:
                file.write(note)
        return values


def work_slowly(url: str, source: str, job: str, seconds: str, at_once: str, notes: str) -> None:
    """A process that works on a job over a slow port, once it is told to by a line."""
    with connect(url, environ={}, traits=MADE) as db, connect(source, environ={}, traits=MADE) as read:
        place = JobPlace(new, db.target.seal, db.target.place, SlowPort(read.port, float(seconds)), read.target.place)
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        sys.stdin.readline()
        port = SlowPort(db.port, float(seconds), notes)
        db.run(flows.run(port, place, job, WorkerOptions(at_once=int(at_once))))
