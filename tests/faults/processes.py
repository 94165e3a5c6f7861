"""What child processes do in several requests, at any of which they may die.

Each function can run again after a crash, and then finishes what the first run began.
"""

from __future__ import annotations

from singletable import AlreadyExists, attr
from tests.faults.failpoints import failpoint
from tests.rules.models import Counted, Named, Plain, shop
from tests.support.children import mortal

HUNDRED = [Plain(id=f"{n:03}", text="loaded", count=n) for n in range(100)]
PURSE = 1000
TRANSFERS = 8


def load(url: str) -> None:
    """A hundred items in four requests."""
    with mortal(url, shop) as db:
        db.write_many(puts=HUNDRED)


def transfer(url: str) -> None:
    """Move 10 from one purse to the other, in transactions that each leave a receipt."""
    with mortal(url, shop) as db:
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


def rename(url: str) -> None:
    """Hand unique names round: each step is a read and a transaction with two guards."""
    with mortal(url, shop) as db:
        for n in range(4):
            db.upsert(Named(id="1", email=f"{n}@x", nick=f"n{n}"))
            failpoint("rename.done")
