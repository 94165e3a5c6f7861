"""A child process with a task of several requests, which may die at any of them: `python -m tests.faults.child`.

Each task can be run again after a crash, and then finishes what the first run began.
"""

from __future__ import annotations

import sys

from singletable import AlreadyExists, Database, attr, connect
from tests.faults.failpoints import failpoint, make_mortal
from tests.faults.opening import LOCAL
from tests.rules.models import Counted, Named, Plain, shop

HUNDRED = [Plain(id=f"{n:03}", text="loaded", count=n) for n in range(100)]
PURSE = 1000
TRANSFERS = 8


def load(db: Database) -> None:
    """A hundred items in four requests."""
    db.write_many(puts=HUNDRED)


def transfer(db: Database) -> None:
    """Move 10 from one purse to the other, in transactions that each leave a receipt."""
    for n in range(TRANSFERS):
        failpoint("transfer.next")
        try:
            with db.transaction() as tx:
                tx.create(Plain(id=f"receipt-{n}"))
                tx.update(Counted.by_id("one"), attr(Counted.count).add(-10))
                tx.update(Counted.by_id("two"), attr(Counted.count).add(10))
        except Exception as error:
            failures = getattr(error, "failures", ())
            if not (failures and isinstance(failures[0].error, AlreadyExists)):
                raise


def rename(db: Database) -> None:
    """Hand unique names round: each step is a read and a transaction with two guards."""
    for n in range(4):
        db.upsert(Named(id="1", email=f"{n}@x", nick=f"n{n}"))
        failpoint("rename.done")


TASKS = {task.__name__: task for task in (load, transfer, rename)}


def main(task: str, url: str) -> None:
    with connect(url, environ={}) as db:
        db.port.traits = LOCAL
        db.port.ready.add(shop.name)
        make_mortal(db.port)
        TASKS[task](db)


if __name__ == "__main__":
    main(*sys.argv[1:])
