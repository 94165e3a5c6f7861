"""A table of an older program's items, what a fill makes of them, and processes that work on jobs there."""

from __future__ import annotations

import sys

from singletable import Database, connect
from singletable.jobs import Jobs
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


def is_filled(db: Database) -> bool:
    """Whether another fill would write nothing."""
    return Migrations(db, new).fill(dry_run=True).written == 0


def work(url: str, job: str, lease_seconds: str, at_once: str) -> None:
    """A process that works on a job, and says so once it has begun."""
    with connect(url, environ={}, traits=LOCAL) as db:
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        Jobs(db, new).run(job, lease_seconds=float(lease_seconds), at_once=int(at_once))
