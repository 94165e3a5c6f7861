"""A rate that processes share through an item of the table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, InvalidRequest, Table
from singletable.erasure import Erasure
from singletable.exchange import Exports, Imports, TableCopy
from singletable.foundation import Finding
from singletable.graph import Graph
from singletable.migrations import AsyncMigrations, Migrations, SharedRate
from singletable.migrations.shared_rate import BEAT_SECONDS, HELD_SECONDS, LEASE_SECONDS
from singletable.operations import UpdateItem
from singletable.reports import Stats
from tests.erasure.models import Address, Customer, shop
from tests.graph.models import Goal, records
from tests.migrations import sharing
from tests.migrations.sharing import Note, notes
from tests.migrations.watching import before_each
from tests.support.children import start_child
from tests.support.engines import again, fresh, fresh_async
from tests.support.raw import all_items
from tests.support.traits import LOCAL

BOUND = 40.0


class Clock:
    """Time that passes only in sleeps. Each process has one; `others` go on while it sleeps."""

    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    with fresh() as made:
        made.create_table(notes)

        async def sleep(seconds: float) -> None:
            clock.now += seconds
            assert clock.now < 1000

        monkeypatch.setattr(made.port, "monotonic", lambda: clock.now)
        monkeypatch.setattr(made.port, "sleep", sleep)
        yield made


def shared(**bounds: float) -> SharedRate:
    return SharedRate(notes, "nightly", **(bounds or {"write_units": BOUND}))


def renewed(db: Database, *rates: SharedRate) -> list[float]:
    for rate in rates:
        db.run(rate.renew(db.port))
    return [rate.part for rate in rates]


def members(db: Database) -> int:
    return sum(name.startswith("m_") for item in db.run(all_items(db.port, "notes")) for name in item)


def test_one_process_has_all_of_it_for_half_a_unit_a_second(db: Database, clock: Clock) -> None:
    rate = shared()
    with db.meter() as meter:
        assert renewed(db, rate) == [1.0]
        for _ in range(100):
            renewed(db, rate)
            clock.now += 0.1
    assert (meter.requests, meter.write_units) == (5, 5)  # ten seconds
    assert db.check(notes) == []
    assert repr(rate) == "SharedRate(read_units=None, write_units=40.0, name='nightly')"


def test_one_that_comes_takes_nothing_before_the_others_know_it(db: Database, clock: Clock) -> None:
    first, second = shared(), shared()
    renewed(db, first)
    db.run(second._beat(db.port))
    assert (first.part, second.part) == (1.0, 0.0)
    clock.now += BEAT_SECONDS
    assert renewed(db, first) == [0.5]
    assert renewed(db, second) == [0.5]
    assert members(db) == 2


def test_shares_are_never_more_than_the_bound(db: Database, clock: Clock) -> None:
    rates = [shared() for _ in range(5)]
    for n in range(1, 60):
        for rate in rates[: 1 + n // 8]:
            if clock.now - rate._tenure.renewed_at >= BEAT_SECONDS or not rate.part:
                db.run(rate._beat(db.port))
            assert sum(each.part for each in rates) <= 1.0000001
        clock.now += 0.7
    assert [rate.part for rate in rates] == [0.2] * 5


def test_the_share_of_a_dead_process_comes_back(db: Database, clock: Clock) -> None:
    first, second = shared(), shared()
    renewed(db, first)
    db.run(second._beat(db.port))
    clock.now += BEAT_SECONDS
    assert renewed(db, first, second) == [0.5, 0.5]
    died = clock.now
    while renewed(db, first) == [0.5]:
        clock.now += 0.5
    assert LEASE_SECONDS <= clock.now - died <= LEASE_SECONDS + 2 * BEAT_SECONDS
    assert members(db) == 1


def test_one_that_stood_still_takes_nothing_before_it_is_known_again(db: Database, clock: Clock) -> None:
    first, second = shared(), shared()
    renewed(db, first)
    db.run(second._beat(db.port))
    for _ in range(12):
        clock.now += 1
        renewed(db, first)
    assert clock.now - second._tenure.renewed_at > HELD_SECONDS
    db.run(second._beat(db.port))
    assert (first.part, second.part) == (1.0, 0.0)


def test_a_beat_whose_answer_was_lost_is_repeated(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sets a number, so a second time changes nothing."""
    sent: list[Any] = []
    before_each(db, monkeypatch, sent.append)
    renewed(db, shared())
    (beat,) = [each for each in sent if isinstance(each, UpdateItem)]
    assert beat.repeatable


def test_a_child_of_a_fork_is_a_process_of_its_own(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    rate = shared()
    renewed(db, rate)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    db.run(rate._beat(db.port))
    assert (members(db), rate.part) == (2, 0.0)


def test_a_fill_takes_it(db: Database, clock: Clock) -> None:
    rate = shared()
    db.write_many(puts=[Note(process="p", number=n) for n in range(50)], rate=rate)
    assert Migrations(db, notes).fill(rate=rate).seen == 51  # the item of the rate among them
    assert Migrations(db, notes).fill().written == 0


def test_without_a_name_or_a_bound_it_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="has a name"):
        SharedRate(notes, "", write_units=1)
    with pytest.raises(InvalidRequest, match="at least one bound"):
        SharedRate(notes, "nightly")


# --- the first use of a table -----------------------------------------------------------------------------------------
STALE = Finding("index.stale", "its key in gsi1 is stale", "address", ("customer#a@example.org", "address#home"))
WIDE = {"read_units": 10_000.0, "write_units": 10_000.0}
USES: dict[str, Callable[[Database, SharedRate, Path], object]] = {
    "fill": lambda db, rate, _: Migrations(db, shop).fill(rate=rate),
    "apply": lambda db, rate, _: Migrations(db, shop).apply(rate=rate),
    "repair": lambda db, rate, _: Migrations(db, shop).repair([STALE], rate=rate),
    "check": lambda db, rate, _: db.check(shop, rate=rate),
    "scan": lambda db, rate, _: list(db.scan(Customer, rate=rate)),
    "iter": lambda db, rate, _: list(db.iter(Address.of_customer("a@example.org"), rate=rate)),
    "write_many": lambda db, rate, _: db.write_many(puts=[Address(email="a", label="b", street="c")], rate=rate),
    "sweep": lambda db, rate, _: db.sweep_table(shop, rate=rate),
    "stats": lambda db, rate, _: Stats(db, shop).read(rate=rate),
    "erasure's plan": lambda db, rate, _: Erasure(db, shop).plan(Customer.by_email("a@example.org"), rate=rate),
    "erasure": lambda db, rate, _: Erasure(db, shop).apply(Customer.by_email("a@example.org"), rate=rate),
    "export": lambda db, rate, folder: Exports(db, shop).export(folder / "out", rate=rate),
    "import": lambda db, rate, folder: Imports(db, shop).run(imported(folder), into=Address, rate=rate),
    "copy": lambda db, rate, _: copied(db, rate),
    "load": lambda db, rate, _: Graph(db).load([Goal(id="g")], rate=shared_in(records)),
}


def shared_in(table: Table) -> SharedRate:
    return SharedRate(table, "nightly", **WIDE)


def imported(folder: Path) -> Path:
    file = folder / "addresses.csv"
    file.write_text("email,label,street\nb@example.org,home,Main Street\n")
    return file


def copied(db: Database, rate: SharedRate) -> object:
    with fresh() as target:
        return TableCopy(db, target, shop).run(keep_personal=True, source_rate=rate, target_rate=shared_in(shop))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("use", USES)
def test_the_first_use_of_a_table_waits_for_no_rate(use: str, tmp_path: Path) -> None:
    """A program that begins: its rate needs the table that it is about to set up."""
    with fresh() as before:
        before.create_table(shop)
        before.create(Customer(email="a@example.org", id="a"))
        before.create(Address(email="a@example.org", label="home", street="Main Street"))
        with again(before, traits=LOCAL) as db:
            USES[use](db, shared_in(shop), tmp_path)
        assert before.check(shop) == []


@pytest.mark.timeout(60)
async def test_nor_does_it_in_the_awaiting_shell() -> None:
    async with fresh_async() as db:
        rate = shared_in(shop)
        await db.write_many(puts=[Address(email="a", label="b", street="c")], rate=rate)
        assert (await AsyncMigrations(db, shop).fill(rate=rate)).seen == 2


@pytest.mark.timeout(60)
def test_a_table_is_set_up_without_a_unit_of_the_rate() -> None:
    with fresh() as db, db.meter() as meter:
        rate = shared_in(shop)
        db.write_many(puts=[Address(email="a", label="b", street="c")], rate=rate)
    assert meter.by_operation.keys() == {"UpdateItem", "BatchWriteItem"}
    assert rate._expected.keys() == {"UpdateItem", "BatchWriteItem"}


# --- several processes ------------------------------------------------------------------------------------------------
@pytest.mark.embedded("its processes share one engine's socket")
@pytest.mark.timeout(120)
def test_processes_share_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three processes, whose wall clocks step by hours: together they take the bound; one is killed, and two do."""
    with fresh() as db, ExitStack() as ending:
        db.create_table(notes)
        target = db.target.endpoint.url
        processes = [start_child(sharing.write, target, f"p{n}", str(BOUND), str(n % 2)) for n in range(3)]
        for process in processes:
            ending.callback(process.wait)
            ending.callback(process.kill)
        taken: list[list[tuple[float, float]]] = [[] for _ in processes]
        read(processes, taken, until=0.0)
        begun = max(lines[0][0] for lines in taken)
        read(processes, taken, until=begun + 6)
        processes[0].kill()
        killed_at = time.monotonic()
        read(processes[1:], taken[1:], until=killed_at + 7)
        together = units(taken, begun + 1, killed_at)
        assert together <= BOUND * 1.05 * (killed_at - begun - 1) + 3
        assert together >= BOUND * 0.5 * (killed_at - begun - 1)
        for lines in taken:
            assert units([lines], begun + 1, killed_at) <= together * 0.45
        after = units(taken[1:], killed_at + 3.5, killed_at + 7)
        assert BOUND * 0.5 * 3.5 <= after <= BOUND * 1.05 * 3.5 + 3
        for process in processes:
            assert process.stdout is not None
            ending.callback(process.stdout.close)


def read(processes: list[Any], taken: list[list[tuple[float, float]]], *, until: float) -> None:
    """The lines of processes up to a time. Each writes several a second."""
    for process, lines in zip(processes, taken, strict=True):
        while not lines or lines[-1][0] < until:
            at, units = process.stdout.readline().split()
            lines.append((float(at), float(units)))


def units(taken: list[list[tuple[float, float]]], begin: float, end: float) -> float:
    return sum(units for lines in taken for at, units in lines if begin < at <= end)
