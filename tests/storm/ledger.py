"""Records in the storm: money that is moved, counters, unique names, batches, profiles of two schema versions, and the
tracked items and tasks whose changes and runs other processes take up.
"""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from singletable import AlreadyExists, Database, attr
from singletable.errors import Corrupt
from singletable.tasks import TaskWorker
from tests.storm.effects import effect
from tests.storm.journal import Call, Journal, told
from tests.storm.life import Life
from tests.storm.models import Counter, Ended, Handled, Named, Profile, Purse, Receipt, Tracked, Versioned, storm, tasks

PURSES = [f"p{n}" for n in range(12)]
COUNTERS = [f"c{n}" for n in range(8)]
PROFILES = [f"f{n}" for n in range(8)]
EMAILS = 400
BATCH = 30
GROUPS = "abc"
BEGINS_WITH = 1_000_000


def prepare(db: Database) -> None:
    """What is there before the storm."""
    db.write_many(puts=[*(Purse(id=id, amount=BEGINS_WITH) for id in PURSES), *(Counter(id=id) for id in COUNTERS)])
    for id in COUNTERS:
        db.create(Versioned(id=id))


class Ledger:
    """One writer of records."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.db = life.database(waits=False)
        self.own = f"own-{life.client}"

    def close(self) -> None:
        self.db.close()

    def step(self) -> None:
        verbs = (
            self.transfer,
            self.count,
            self.write_versioned,
            self.name,
            self.batch,
            self.track,
            self.visit,
            self.put_off,
        )
        verb = self.life.chance.choices(verbs, (20, 20, 15, 10, 3, 15, 10, 12))[0]
        verb()

    def transfer(self) -> None:
        giver, taker = self.life.chance.sample(PURSES, 2)
        amount, id = self.life.chance.randint(1, 9), self.life.id

        def act() -> None:
            with self.db.transaction() as tx:
                tx.create(Receipt(id=id, giver=giver, taker=taker, amount=amount))
                tx.update(Purse.by_id(giver), attr(Purse.amount).add(-amount))
                tx.update(Purse.by_id(taker), attr(Purse.amount).add(amount))

        self.life.attempt("transfer", act)

    def count(self) -> None:
        """With a token; or without, when a lost answer is an unknown outcome."""
        id, exactly_once = self.life.chance.choice(COUNTERS), self.life.chance.random() < 0.7
        change = attr(Counter.count).add(1)
        self.life.attempt(
            "count", lambda: self.db.update(Counter.by_id(id), change, exactly_once=exactly_once), {"on": id}
        )

    def write_versioned(self) -> None:
        id = self.life.chance.choice(COUNTERS)

        def act() -> None:
            found = self.db.get(Versioned.by_id(id).consistent())
            assert found is not None
            self.db.update(found, attr(Versioned.count).set(found.count + 1))

        self.life.attempt("versioned", act, {"on": id})

    def name(self) -> None:
        """Take a name that others want too; give it back now and then."""
        id = self.life.id
        email = f"e{self.life.chance.randrange(EMAILS)}@example.org"
        outcome = self.life.attempt("name", lambda: self.db.create(Named(id=id, email=email)), {"email": email})
        if outcome == "done" and self.life.chance.random() < 0.8:
            self.life.attempt("unname", lambda: self.db.delete(Named.by_id(id)), {"on": id})

    def batch(self) -> None:
        id = self.life.id
        puts = [Receipt(id=f"{id}-{n}") for n in range(BATCH)]
        self.life.attempt("batch", lambda: self.db.write_many(puts=puts), is_one_write=False)

    def track(self) -> None:
        """Count an item of one's own up, and move it about in its index."""
        id = f"{self.own}-{self.life.chance.randrange(5)}"
        group = self.life.chance.choice(GROUPS)

        def act() -> None:
            found = self.db.get(Tracked.by_id(id).consistent())
            self.db.put(Tracked(id=id, group=group, count=1 if found is None else found.count + 1))

        self.life.attempt("track", act, {"on": id})

    def visit(self) -> None:
        """Both versions of the program; the older one can neither read nor change what the newer one wrote."""
        id = self.life.chance.choice(PROFILES)

        def act() -> None:
            if self.db.get(Profile.by_id(id).consistent()) is None:
                with suppress(AlreadyExists):  # another process may be first
                    self.db.create(Profile(id=id))
            self.db.update(Profile.by_id(id), attr(Profile.visits).add(1), exactly_once=True)

        self.life.attempt("visit", act, {"on": id}, refused=(Corrupt,))

    def put_off(self) -> None:
        """A task that commits with its receipt, some of them in an order."""
        id, chance = self.life.id, self.life.chance
        delay = timedelta(seconds=chance.random())
        order = chance.choice((None, None, None, f"{self.life.client}-order"))

        def act() -> None:
            with self.db.transaction() as tx:
                tx.create(Receipt(id=id))
                tx.add(tasks.after(delay, effect(id), order=order))

        self.life.attempt("task", act)


# --- afterwards ---------------------------------------------------------------------------------------------------
def judge(db: Database, journal: Journal) -> Iterator[str]:
    """What was lost, doubled or is unsound."""
    receipts = {receipt.id: receipt for receipt in db.scan(Receipt)}
    yield from _judge_presence("transfer", journal.of("transfer"), receipts)
    yield from _judge_presence("task", journal.of("task"), receipts)
    yield from _judge_presence("name", _unnamed_left_out(journal), {named.id: named for named in db.scan(Named)})
    for call in journal.of("batch"):
        there = sum(f"{call.id}-{n}" in receipts for n in range(BATCH))
        if call.outcome == "done" and there < BATCH:
            yield f"batch {call.id}: {there} of {BATCH} items are there"
    yield from _judge_purses(db, receipts)
    counted = {c.id: c.count for c in db.scan(Counter)}
    yield from _judge_counts("count", journal, counted)
    yield from _judge_counts("versioned", journal, {v.id: v.count for v in db.scan(Versioned)})
    yield from _judge_counts("visit", journal, {p.id: p.visits for p in db.scan(Profile)})
    tracked = {t.id: t.count for t in db.scan(Tracked)}
    yield from _judge_counts("track", journal, tracked)
    yield from _judge_handled(journal, tracked, {h.id: h.count for h in db.scan(Handled)})
    ended = {each.id for each in db.scan(Ended)}
    wanted = {call.id for call in journal.of("task") if call.id in receipts}
    yield from (f"task {id} has not ended" for id in sorted(wanted - ended))
    yield from (f"task {id} ended and was never put off" for id in sorted(ended - wanted))
    yield from (f"{letter.key} is dead: {letter.error}" for letter in TaskWorker(db, tasks).dead_letters())
    yield from (told(finding) for finding in TaskWorker(db, tasks).check())
    yield from (told(finding) for finding in db.check(storm))


def _judge_presence(what: str, calls: list[Call], there: dict[str, Any]) -> Iterator[str]:
    for call in calls:
        if call.outcome == "done" and call.id not in there:
            yield f"{what} {call.id} was done and is lost"
        if call.outcome in ("refused", "undone") and call.id in there:
            yield f"{what} {call.id} was {call.outcome} and is there"


def _unnamed_left_out(journal: Journal) -> list[Call]:
    gone = {call.data["on"] for call in journal.of("unname")}
    return [call for call in journal.of("name") if call.id not in gone]


def _judge_purses(db: Database, receipts: dict[str, Receipt]) -> Iterator[str]:
    moved: Count[str] = Count()
    for receipt in receipts.values():
        moved[receipt.giver] -= receipt.amount
        moved[receipt.taker] += receipt.amount
    for purse in db.scan(Purse):
        if purse.amount != BEGINS_WITH + moved[purse.id]:
            yield f"purse {purse.id} holds {purse.amount}, its receipts say {BEGINS_WITH + moved[purse.id]}"


def _judge_counts(what: str, journal: Journal, counts: dict[str, int]) -> Iterator[str]:
    done = Count(o.data["on"] for o in journal.of(what) if o.outcome == "done")
    open_ = Count(o.data["on"] for o in journal.of(what) if o.outcome == "unknown")
    for id in done.keys() | counts.keys():
        if not done[id] <= counts.get(id, 0) <= done[id] + open_[id]:
            yield f"{what} {id} is {counts.get(id)}, {done[id]} were done and {open_[id]} are of unknown outcome"


def _judge_handled(journal: Journal, tracked: dict[str, int], handled: dict[str, int]) -> Iterator[str]:
    if tracked != handled:
        yield from (
            f"{id}: handled up to {handled.get(id)} of {n}" for id, n in tracked.items() if handled.get(id) != n
        )
    highest: dict[str, int] = {}
    for item, count in journal.handled:
        before = highest.get(item, 0)
        if count > before + 1:
            yield f"{item}: change {count} was handled when {before} was the last"
        highest[item] = max(before, count)
