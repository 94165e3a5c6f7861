"""The worker on the engine, in both shells: where it goes on, what fails, what it costs, and when it ends."""

# pyright: reportPossiblyUnboundVariable=false
from __future__ import annotations

import logging
import random
import threading  # noqa: TID251
import time
from collections.abc import Callable
from typing import Any

import pytest

from singletable import Database, Meter, NotFound, attr
from singletable.records import flows
from singletable.streams import Changes, ChangeWorker, Inserted, Modified
from singletable.streams.state import LeasesIn
from tests.streams.models import Account, Note, Parcel, Seen, noted
from tests.support.raw import put_raw
from tests.support.shells import Shell
from tests.support.workers import change_worker


async def drain(changes: Changes, shell: Shell, **options: Any) -> None:
    await change_worker(shell, changes).drain(backoff_seconds=0.001, **options)


@pytest.mark.parametrize("leases", ["own", "same"])
async def test_it_goes_on_where_it_stopped(shell: Shell, leases: Any) -> None:
    changes, seen = Changes(noted, leases=leases), Seen()
    changes.on(Note).inserted(seen)
    for round_ in range(3):
        for number in range(5):
            await shell.create(Note(id=f"{round_}-{number}"))
        await drain(changes, shell)
        # Different items go side by side, in whatever order.
        assert sorted(seen.told) == [f"Inserted note {r}-{n}" for r in range(round_ + 1) for n in range(5)]
    assert await change_worker(shell, changes).check() == []
    assert await shell.run(_check_all(shell, changes)) == []


async def _check_all(shell: Shell, changes: Changes) -> list[Any]:
    return [*await flows.check(shell.port, noted), *await flows.check(shell.port, changes.leases)]


async def test_consumers_have_their_own_checkpoints(shell: Shell) -> None:
    one, other = Changes(noted, name="one"), Changes(noted, name="other")
    seen = {changes.name: Seen() for changes in (one, other)}
    for changes in (one, other):
        changes.on(Note).inserted(seen[changes.name])
    await shell.create(Note(id="n1"))
    await drain(one, shell)
    await shell.create(Note(id="n2"))
    await drain(one, shell)
    await drain(other, shell)
    assert seen["one"].told == sorted(seen["other"].told) == ["Inserted note n1", "Inserted note n2"]


async def test_a_consumer_can_begin_with_what_comes(shell: Shell) -> None:
    changes, seen = Changes(noted), Seen()
    changes.on(Note).inserted(seen)
    await shell.create(Note(id="before"))
    await drain(changes, shell, start="now")
    await shell.create(Note(id="after"))
    await drain(changes, shell, start="now")
    # The second drain knows no checkpoint, since there was nothing to note: it begins a minute before the first.
    assert "Inserted note after" in seen.told
    await shell.create(Note(id="later"))
    seen.changes.clear()
    await drain(changes, shell, start="now")
    assert seen.told == ["Inserted note later"]


async def test_what_handlers_write_is_handled_in_the_same_drain(shell: Shell) -> None:
    changes, seen = Changes(noted), Seen()
    db: Any = getattr(shell, "db", None)

    @changes.on(Note).inserted
    def double(change: Inserted[Note]) -> None:
        seen(change)
        if db is not None and len(change.new.id) < 4:
            db.create(Note(id=change.new.id * 2))

    if db is None:
        changes = Changes(noted)

        @changes.on(Note).inserted
        async def double_later(change: Inserted[Note]) -> None:
            seen(change)
            if len(change.new.id) < 4:
                await shell.create(Note(id=change.new.id * 2))

    await shell.create(Note(id="n"))
    await drain(changes, shell)
    assert seen.told == ["Inserted note n", "Inserted note nn", "Inserted note nnnn"]


async def test_a_handler_of_its_own_writes_ends_where_nothing_changes(shell: Shell) -> None:
    """It sets what should be there: the second time that is not a change, and its drain ends."""
    changes, seen = Changes(noted), Seen()
    db: Any = getattr(shell, "db", None)

    async def later(change: Modified[Note]) -> None:
        seen(change)
        await shell.update(Note.by_id(change.new.id), attr(Note.text).set(change.new.text.upper()))

    def at_once(change: Modified[Note]) -> None:
        seen(change)
        db.update(Note.by_id(change.new.id), attr(Note.text).set(change.new.text.upper()))

    changes.on(Note).modified(later if db is None else at_once)
    await shell.create(Note(id="n"))
    await shell.update(Note.by_id("n"), attr(Note.text).set("a text"))
    await drain(changes, shell)
    assert [change.new.text for change in seen.changes] == ["a text", "A TEXT"]


async def test_a_handler_that_feeds_itself_delays_no_other_item_and_stops(shell: Shell) -> None:
    """One that never ends: each of its writes is a change. Others' changes are handled, and the worker stops."""
    changes, seen = Changes(noted), Seen()
    db: Any = getattr(shell, "db", None)

    async def later(change: Modified[Note]) -> None:
        seen(change)
        if change.new.id == "loop":
            await shell.update(Note.by_id("loop"), attr(Note.count).set(change.new.count + 1))
            if change.new.count == 5:
                await shell.update(Note.by_id("other"), attr(Note.count).set(1))

    def at_once(change: Modified[Note]) -> None:
        seen(change)
        if change.new.id == "loop":
            db.update(Note.by_id("loop"), attr(Note.count).set(change.new.count + 1))
            if change.new.count == 5:
                db.update(Note.by_id("other"), attr(Note.count).set(1))

    changes.on(Note).modified(later if db is None else at_once)
    for id in ("loop", "other"):
        await shell.create(Note(id=id))
    await shell.update(Note.by_id("loop"), attr(Note.count).set(1))
    await change_worker(shell, changes).run(stop=lambda: "Modified note other" in seen.told, poll_seconds=0.01)
    told = seen.told
    assert told.index("Modified note other") < 20, "not behind all that the loop writes"
    assert told.count("Modified note loop") < 20
    counts = [change.new.count for change in seen.changes if change.new.id == "loop"]
    assert counts == list(range(1, len(counts) + 1)), "in order, and each once"


async def test_a_passing_failure_is_tried_again_in_order(shell: Shell) -> None:
    changes, seen = Changes(noted), Seen()
    failures = [ConnectionError("one"), ConnectionError("two")]

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        if change.new.id == "n1" and failures:
            raise failures.pop()
        seen(change)

    changes.on(Note).modified(seen)
    await shell.create(Note(id="n1"))
    await shell.update(Note.by_id("n1"), attr(Note.count).set(1))
    await shell.create(Note(id="n2"))
    await drain(changes, shell)
    assert seen.told == ["Inserted note n2", "Inserted note n1", "Modified note n1"]
    assert await change_worker(shell, changes).check() == []


async def test_poison_becomes_a_dead_letter(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "singletable.streams")
    changes, seen, cured = Changes(noted), Seen(), list[bool]()

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        if not cured:
            raise ValueError("no such text")
        seen(change)

    changes.on(Note).modified(seen)
    await shell.create(Note(id="n1", text="big", tags={"x"}))
    await shell.update(Note.by_id("n1"), attr(Note.count).set(1))
    await drain(changes, shell, tries=3)
    assert seen.told == ["Modified note n1"]
    (aside,) = await change_worker(shell, changes).dead_letters()
    assert (aside.type, aside.event, aside.tries, aside.error) == ("note", "INSERT", 3, "ValueError: no such text")
    assert [f.code for f in await change_worker(shell, changes).check()] == ["change.dead-letter"]
    told = [(r.levelname, r.exc_info is None) for r in caplog.records if r.name == "singletable.streams"]
    assert told == [("INFO", True), ("ERROR", False)], "the second try has the cause of the first"

    with pytest.raises(ValueError, match="no such text"):
        await change_worker(shell, changes).retry(aside)
    cured.append(True)
    await change_worker(shell, changes).retry(aside)
    assert seen.changes[-1].new == Note(id="n1", text="big", tags={"x"})
    assert await change_worker(shell, changes).dead_letters() == []
    assert await change_worker(shell, changes).check() == []
    with pytest.raises(NotFound, match="retried or dropped before"):
        await change_worker(shell, changes).retry(aside)


async def test_two_large_images_are_kept_whole_in_a_dead_letter(shell: Shell) -> None:
    changes, seen, cured = Changes(noted), Seen(), list[bool]()

    @changes.on(Note).modified
    def modified(change: Modified[Note]) -> None:
        if not cured:
            raise ValueError("not now")
        seen(change)

    texts = [_noise(0), _noise(1)]
    await shell.create(Note(id="n1", text=texts[0][:100]))
    await drain(changes, shell)
    for text in texts:
        await shell.run(put_raw(shell.port, Note, _big(text)))
    await drain(changes, shell, tries=1)
    *_, aside = await change_worker(shell, changes).dead_letters()
    cured.append(True)
    for one in await change_worker(shell, changes).dead_letters():
        await change_worker(shell, changes).retry(one)
    assert (seen.changes[-1].old.text, seen.changes[-1].new.text) == (texts[0], texts[1])
    assert len(aside.payload) > 700_000
    assert await change_worker(shell, changes).check() == []


def _noise(seed: int) -> str:
    return random.Random(seed).randbytes(180_000).hex()


def _big(text: str) -> dict[str, Any]:
    model: Any = Note.__model__
    return {**model.item(Note(id="n1")), "text": {"S": text}}


async def test_tries_are_counted_over_restarts(shell: Shell) -> None:
    """A worker that ends between two tries doesn't begin to count anew."""
    tried: list[int] = []
    for _ in range(3):
        changes, failed = Changes(noted), threading.Event()

        @changes.on(Note).inserted
        def inserted(change: Inserted[Note], failed: threading.Event = failed) -> None:
            tried.append(1)
            failed.set()
            raise ValueError("never")

        if not tried:
            await shell.create(Note(id="n1"))
        await change_worker(shell, changes).run(
            stop=failed.is_set, signals=False, tries=3, backoff_seconds=0, poll_seconds=0.001
        )
    assert len(tried) == 3
    assert [aside.tries for aside in await change_worker(shell, changes).dead_letters()] == [3]


async def test_what_cannot_be_read_becomes_a_dead_letter(shell: Shell) -> None:
    changes, seen = Changes(noted), Seen()
    changes.on(Parcel).inserted(seen)
    model: Any = Parcel.__model__
    item = model.item(Parcel(id="p1", grams=1))
    await shell.run(put_raw(shell.port, Parcel, {**item, "_v": {"N": "3"}}))
    await shell.run(put_raw(shell.port, Parcel, {**item, "pk": {"S": "parcel#p2"}, "grams": {"S": "heavy"}}))
    await drain(changes, shell, tries=2)
    errors = [aside.error.partition(":")[0] for aside in await change_worker(shell, changes).dead_letters()]
    assert (seen.changes, errors) == ([], ["Newer", "Corrupt"])


def test_items_of_different_keys_go_side_by_side(engine: Database) -> None:
    together = threading.Barrier(8, timeout=20)
    changes = Changes(noted, name="side-by-side")

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        together.wait()  # breaks unless all eight are here at once

    ChangeWorker(engine, changes).drain()
    for number in range(8):
        engine.create(Note(id=f"side-{number}"))
    ChangeWorker(engine, changes).drain(tries=1)
    assert ChangeWorker(engine, changes).dead_letters() == []


async def test_an_idle_worker_writes_its_lease_alone(shell: Shell) -> None:
    """Three times in a lease's length, and nothing else; in the same table too, where each write is a change itself."""
    modes: tuple[LeasesIn, ...] = ("own", "same")
    for leases in modes:
        changes = Changes(noted, name=f"idle-{leases}", leases=leases)
        changes.on(Note).inserted(Seen())
        await drain(changes, shell)
        until = time.monotonic() + 1

        def is_over(until: float = until) -> bool:
            return time.monotonic() > until

        with Meter() as meter:
            await change_worker(shell, changes).run(stop=is_over, signals=False, lease_seconds=1, poll_seconds=0.02)
        # Two to take the lease and let it go, and three or four to show life.
        assert meter.by_operation["UpdateItem"].requests <= 6
        assert meter.by_operation.keys() <= {
            *("DescribeTable", "DescribeStream", "GetShardIterator", "GetRecords", "Query", "GetItem", "UpdateItem")
        }


async def test_a_drain_of_nothing_costs_two_writes(shell: Shell, budget: Callable[..., Any]) -> None:
    changes = Changes(noted)
    changes.on(Note).inserted(Seen())
    await shell.create(Note(id="n1"))
    await drain(changes, shell)
    with budget(write_units=2, read_units=4, requests=10):
        await drain(changes, shell)


async def test_changes_of_the_library_alone_write_no_checkpoint(shell: Shell) -> None:
    changes = Changes(noted, leases="same")
    changes.on(Note).inserted(Seen())
    await shell.create(Note(id="n1"))
    await drain(changes, shell)
    lease = changes.consumer.state.lease
    (before,) = await shell.all(lease.by_shard("changes", await label(shell)))
    for _ in range(3):
        await drain(changes, shell)
    (after,) = await shell.all(lease.by_shard("changes", await label(shell)))
    assert after.position == before.position != ""


async def label(shell: Shell) -> str:
    description = await shell.describe_table(noted)
    assert description is not None
    return str(description.raw["LatestStreamArn"]).rpartition("/stream/")[2]


async def test_a_stop_leaves_nothing_that_is_handled_again(shell: Shell) -> None:
    """Changes of two items, in turn. One item is slow: when the worker is to stop, the last change of the other one is
    handled, and the change before it is not."""
    stopping, changes, seen = threading.Event(), Changes(noted, name="stopped"), Seen()

    def slowly(change: Any) -> None:
        seen(change)
        if change.new.id == "a":
            assert stopping.wait(30)

    def stop_after(change: Any) -> None:
        seen(change)
        if change.new.id == "b":
            stopping.set()

    changes.on(Note).inserted(slowly)
    changes.on(Note).modified(stop_after)
    for count in (0, 1):
        for id in ("a", "b"):
            await shell.put(Note(id=id, count=count))
    await change_worker(shell, changes).run(stop=stopping.is_set, signals=False)
    wanted = ["Inserted note a", "Inserted note b", "Modified note a", "Modified note b"]
    assert sorted(seen.told) == wanted
    await drain(changes, shell)
    assert sorted(seen.told) == wanted


def test_two_workers_share_nothing_twice(engine: Database) -> None:
    """Of two at once over one shard, one waits; it takes over when the other stops. No stall is as long as a lease."""
    changes, seen = Changes(noted, name="two"), Seen()
    changes.on(Account).inserted(seen)
    ChangeWorker(engine, changes).drain()
    first, second = threading.Event(), threading.Event()
    options: dict[str, Any] = {"lease_seconds": 6.0, "poll_seconds": 0.01}
    threads = [
        threading.Thread(target=ChangeWorker(engine, changes).run, kwargs={"stop": stop.is_set, **options})
        for stop in (first, second)
    ]
    for thread in threads:
        thread.start()
    for number in range(50):
        if number == 25:
            first.set()
            threads[0].join()
        engine.create(Account(id=f"two-{number}", email=f"{number}@x"))
    assert _soon(lambda: len(seen.changes) >= 50)
    second.set()
    threads[1].join()
    assert sorted(seen.told) == sorted(f"Inserted account two-{n}" for n in range(50))
    assert ChangeWorker(engine, changes).check() == []


def _soon(holds: Callable[[], bool]) -> bool:
    return any(holds() or threading.Event().wait(0.02) for _ in range(1000))
