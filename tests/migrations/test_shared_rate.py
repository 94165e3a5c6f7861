"""A rate that processes share through an item of the table."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from singletable import Database, InvalidRequest
from singletable.migrations import Migrations, SharedRate
from singletable.migrations.shared_rate import BEAT_SECONDS, HELD_SECONDS, LEASE_SECONDS
from singletable.operations import UpdateItem
from tests.migrations import sharing
from tests.migrations.sharing import Note, notes
from tests.migrations.watching import before_each
from tests.support.children import start_child
from tests.support.engines import fresh
from tests.support.raw import all_items

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
            if clock.now - rate._beaten_at >= BEAT_SECONDS or not rate.part:
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
    assert clock.now - second._beaten_at > HELD_SECONDS
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
