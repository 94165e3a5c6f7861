"""A table of an older program's items, what a fill makes of them, and processes that work on jobs there."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from random import random
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from singletable import Database, connect
from singletable.flow import Operation, Port, WrappedPort
from singletable.jobs import JobPlace, Jobs, flows
from singletable.jobs.worker_options import WorkerOptions
from singletable.migrations import Migrations
from singletable.migrations.item_writes import UpdateAttempt
from singletable.operations import Item, Scan
from singletable.records.moves import MoveOutcome
from singletable.tables import add_index
from tests.migrations.models import new, old
from tests.migrations.test_fill import people, places
from tests.support.raw import all_items
from tests.support.traits import LOCAL

T = TypeVar("T")
OPTIONS: Final[Mapping[str, dict[str, Any]]] = {"check": {}, "fill": {}, "copy": {"keep_personal": True}}
"""The options of the jobs that are measured."""


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


def work_at(url: str, source: str, job: str) -> None:
    """A process that works on a job, of a copy from another database, as `singletable job run` does."""
    with connect(url, environ={}, traits=LOCAL) as db, connect(source, environ={}, traits=LOCAL) as read:
        Jobs(db, new, source=read).run(job)


class NotingPort(WrappedPort):
    """A port that notes the items of each page, and the updates of each wave that changed an item. Once it has read
    `dies_after` items, its process dies within some milliseconds, wherever it is then."""

    def __init__(self, port: Port, notes: str, dies_after: int | None) -> None:
        super().__init__(port)
        self._notes, self._left = notes, dies_after

    async def send(self, operation: Operation[T]) -> T:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        values = await self._port.send_all(operations)
        answered: list[tuple[Any, Any]] = list(zip(operations, values, strict=True))
        read = sum(len(page.items) for scan, page in answered if isinstance(scan, Scan))
        updated = sum(isinstance(o, UpdateAttempt) and value is MoveOutcome.DONE for o, value in answered)
        with open(self._notes, "a") as file:
            file.write(f"{read} {updated}\n")
        if self._left is not None:
            self._left -= read
            if self._left <= 0:
                signal.setitimer(signal.ITIMER_REAL, random() / 100)  # whose signal nobody handles
                self._left = None
        return values


def work_noting(url: str, source: str, job: str, notes: str, dies_after: str) -> None:
    """A process that works on a job over ports that note what it does."""
    made = replace(LOCAL, creates_tables=False)
    with connect(url, environ={}, traits=made) as db, connect(source, environ={}, traits=made) as read:
        port, of_source = (NotingPort(d.port, notes, int(dies_after) if dies_after else None) for d in (db, read))
        place = JobPlace(new, db.target.seal, db.target.place, of_source, read.target.place)
        db.run(flows.run(port, place, job, WorkerOptions(at_once=1, lease_seconds=3.0)))
