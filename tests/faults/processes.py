"""What child processes do in several requests, at any of which they may die.

Each function can run again after a crash, and then finishes what the first run began.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator

from singletable import AlreadyExists, attr, connect
from singletable.wire import RetryPolicy
from tests.faults.failpoints import failpoint
from tests.rules.models import Counted, Named, Plain, shop
from tests.support.children import mortal
from tests.support.traits import LOCAL

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


# --- what runs out ----------------------------------------------------------------------------------------------------
LARGE = "x" * 300_000


def starve(url: str, what: str) -> None:
    """Write with less and less missing of memory or descriptors; say of each write what became of it."""
    _say(f"{what}-before-0", _write_alone(url, f"{what}-before-0"))  # it loads all modules that a write needs
    for step, limit in enumerate(_limits(what)):
        for number in range(3):
            id = f"{what}-{step}-{number}"
            kind = resource.RLIMIT_AS if what == "memory" else resource.RLIMIT_NOFILE
            soft, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (limit, hard))
            try:
                said = _write_alone(url, id)
            finally:
                resource.setrlimit(kind, (soft, hard))
            _say(id, said)


def _say(id: str, said: str) -> None:
    sys.stdout.write(f"{id} {said}\n")
    sys.stdout.flush()


def _write_alone(url: str, id: str) -> str:
    try:
        with connect(url, environ={}, retry=RetryPolicy(attempts=2)) as db:
            db.port.traits = LOCAL
            db.port.ready.add(shop.name)
            db.put(Plain(id=id, text=LARGE))
    except Exception as error:
        return type(error).__name__
    return "done"


def _limits(what: str) -> Iterator[int]:
    """Each a little higher than the one before; the last are enough."""
    if what == "descriptors":
        for more in (0, 1, 2, 3, 8):
            yield len(os.listdir("/proc/self/fd")) - 1 + more
        return
    for megabytes in (0, 1, 2, 4, 64):
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[0])
        yield pages * resource.getpagesize() + (megabytes << 20)
