"""The kernel of leases by beats: who is seen to be dead, who may take over, and that two never work at once."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from singletable.errors import Unavailable
from singletable.events import LeaseTaken, Listeners, WaitBegun
from singletable.flow import LEASE_TRANSITIONS, LeaseEvent, LeaseState, Observations, Tenure, acquire, drive
from singletable.flow.transitions import NotAllowed

LENGTH, LOOK = 30.0, 1.0


@dataclass(frozen=True)
class Stored:
    """A lease as it is stored."""

    owner: str
    fence: int = 1
    beats: int = 0


class Store:
    """One lease that processes share."""

    def __init__(self, stored: Stored | None = None) -> None:
        self.stored = stored
        self.requests = 0

    def beat(self) -> None:
        assert self.stored is not None
        self.stored = replace(self.stored, beats=self.stored.beats + 1)


class Candidate:
    """A process that takes the lease: a `LeaseStore`, and the clock of a port."""

    def __init__(self, store: Store, name: str, now: float = 0.0, then: Callable[[], object] = bool) -> None:
        self.store, self.name, self.now, self.then = store, name, now, then
        self.before_take: Callable[[], object] = bool
        self.heard: list[Any] = []
        self.events = Listeners([self.heard.append])

    @property
    def fence(self) -> int:
        return 0 if self.store.stored is None else self.store.stored.fence

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.then()

    async def read(self, port: Any) -> Stored | None:
        self.store.requests += 1
        return self.store.stored

    def sign(self, stored: Stored) -> object:
        return (stored.fence, stored.beats) if stored.owner else None

    def holder(self, stored: Stored) -> str:
        return stored.owner

    async def try_take(self, port: Any, seen: Stored | None) -> bool:
        self.before_take()
        self.store.requests += 1
        if self.store.stored != seen:
            return False
        self.store.stored = Stored(self.name, 1 if seen is None else seen.fence + 1)
        return True

    def refusal(self, stored: Stored) -> Unavailable:
        return Unavailable(f"{stored.owner} has it")

    def acquire(self) -> None:
        port: Any = self
        drive(acquire(port, self, LENGTH, LOOK))


# --- the table --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("event", LeaseEvent)
@pytest.mark.parametrize("state", LeaseState)
def test_only_an_owner_ends_and_nothing_comes_back(state: LeaseState, event: LeaseEvent) -> None:
    if (state, event) not in LEASE_TRANSITIONS.table:
        with pytest.raises(NotAllowed, match=event.name):
            LEASE_TRANSITIONS.after(state, event)
        return
    after = LEASE_TRANSITIONS.after(state, event)
    assert state is not LeaseState.GONE
    if state is LeaseState.OVER:
        assert after in (LeaseState.OVER, LeaseState.GONE)
    if event in (LeaseEvent.RELEASE, LeaseEvent.FINISH, LeaseEvent.REQUEST_RELEASE):
        assert state is LeaseState.HELD


# --- observers --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("began", [0.0, 1e9])
def test_an_owner_is_dead_after_the_same_sign_for_a_lease(began: float) -> None:
    """By the clock of the observer, whatever that began with."""
    seen = Observations[int](LENGTH)
    assert [seen.is_dead("a", 1, began + later) for later in (0, 29.9, 30)] == [False, False, True]
    assert [seen.is_dead("a", 2, began + later) for later in (30, 59.9, 60)] == [False, False, True]
    assert not seen.is_dead("b", 2, began + 60)


def test_all_leases_are_noted_at_once_and_others_forgotten() -> None:
    seen = Observations[int](LENGTH)
    seen.note({"a": 1, "b": 1}, 0)
    seen.note({"a": 1, "b": 2, "c": 1}, 20)
    assert seen.dead(30) == {"a": 1}
    assert seen.dead(50) == {"a": 1, "b": 2, "c": 1}
    seen.note({"b": 2}, 50)
    assert seen.dead(50) == {"b": 2}
    seen.note({"a": 1}, 50)
    assert seen.dead(79.9) == {}


# --- owners -----------------------------------------------------------------------------------------------------------
def test_a_write_that_succeeded_counts_from_its_beginning() -> None:
    tenure = Tenure(renewed_at=100.0)
    assert [tenure.is_due(now, 10) for now in (109.9, 110)] == [False, True]
    tenure.note(108.0, True)
    assert [tenure.is_due(now, 10) for now in (117.9, 118)] == [False, True]
    tenure.note(117.0, False)
    assert (tenure.is_lost, tenure.renewed_at) == (True, 108.0)


# --- taking -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stored", [None, Stored("", 7, 3)])
def test_a_free_lease_is_taken_at_once(stored: Stored | None) -> None:
    store = Store(stored)
    candidate = Candidate(store, "bob")
    candidate.acquire()
    assert store.stored == Stored("bob", 1 if stored is None else 8)
    assert (store.requests, candidate.now) == (2, 0)
    (taken,) = candidate.heard
    assert (taken.lease, taken.fence, taken.is_takeover) == ("bob", 1 if stored is None else 8, False)


def test_a_dead_owner_is_followed_after_a_lease() -> None:
    store = Store(Stored("ada", 4, 9))
    candidate = Candidate(store, "bob", now=500.0)
    candidate.acquire()
    assert store.stored == Stored("bob", 5)
    assert candidate.now == 500.0 + LENGTH
    assert store.requests == LENGTH / LOOK + 2
    *waits, taken = candidate.heard
    assert {(type(wait), wait.level, wait.seconds) for wait in waits} == {(WaitBegun, logging.INFO, LOOK)}
    assert len(waits) == LENGTH / LOOK
    assert "ada has the lease of bob; it is taken over if nothing of it changes for 30 s" in waits[0].text
    assert isinstance(taken, LeaseTaken)
    assert (taken.fence, taken.is_takeover, taken.seconds) == (5, True, LENGTH)
    assert "took over the lease of bob from ada, which has given no sign of life for 30 s" in taken.text


@pytest.mark.parametrize("beat_at", [1, 15, 30])
def test_a_live_owner_is_left_alone(beat_at: float) -> None:
    """As soon as it is seen to live, also at the last look."""
    store = Store(Stored("ada"))
    candidate = Candidate(store, "bob", then=lambda: store.beat() if candidate.now == beat_at else None)
    with pytest.raises(Unavailable, match="ada has it"):
        candidate.acquire()
    assert (candidate.now, store.stored) == (beat_at, Stored("ada", 1, 1))


def test_another_owner_is_a_live_one() -> None:
    store = Store(Stored("ada"))

    def taken() -> None:
        store.stored = Stored("cy", 2)

    with pytest.raises(Unavailable, match="cy has it"):
        Candidate(store, "bob", then=taken).acquire()


def test_a_lease_that_becomes_free_is_taken_at_the_next_look() -> None:
    store = Store(Stored("ada"))

    def released() -> None:
        store.stored = Stored("", 1)

    candidate = Candidate(store, "bob", then=released)
    candidate.acquire()
    assert (store.stored, candidate.now) == (Stored("bob", 2), LOOK)


@pytest.mark.parametrize("stored", [None, Stored(""), Stored("ada")])
def test_of_two_that_take_at_once_one_is_refused(stored: Stored | None) -> None:
    """The other was first between its last look and its take."""
    store = Store(stored)
    candidate = Candidate(store, "bob")

    def another_takes() -> None:
        store.stored = Stored("cy", 9)

    candidate.before_take = another_takes
    with pytest.raises(Unavailable, match="cy has it"):
        candidate.acquire()
    assert store.stored == Stored("cy", 9)


def test_a_beat_before_the_take_keeps_the_lease() -> None:
    store = Store(Stored("ada"))
    candidate = Candidate(store, "bob")
    candidate.before_take = store.beat
    with pytest.raises(Unavailable, match="ada has it"):
        candidate.acquire()
    assert store.stored == Stored("ada", 1, 1)


def test_a_release_before_the_take_lets_it_be_taken() -> None:
    store = Store(Stored("ada"))
    candidate = Candidate(store, "bob")

    def released() -> None:
        store.stored, candidate.before_take = Stored("", 1), bool

    candidate.before_take = released
    candidate.acquire()
    assert store.stored == Stored("bob", 2)


# --- together ---------------------------------------------------------------------------------------------------------
class Process:
    """One of several that share a lease. Its clock began at any time, and it may stand still at any time."""

    def __init__(self, store: Store, name: str, chance: random.Random) -> None:
        self.store, self.name, self.chance = store, name, chance
        self.offset, self.still_until = chance.uniform(0, 1e6), 0.0
        self.seen = Observations[object](LENGTH)
        self.tenure: Tenure | None = None
        self.mine: Stored | None = None
        self.works = 0

    def works_at(self, time: float) -> bool:
        """Whether it would work now: it counts from its last beat, by its own clock."""
        tenure = self.tenure
        return tenure is not None and not tenure.is_lost and not tenure.is_due(time + self.offset, LENGTH)

    def step(self, time: float) -> None:
        if time < self.still_until:
            return
        if self.chance.random() < 0.02:
            self.still_until = time + self.chance.uniform(0, 4 * LENGTH)
        elif self.tenure is None or self.tenure.is_lost:
            self.look(time)
        elif self.tenure.is_due(time + self.offset, LENGTH / 3):
            self.beat(time)

    def look(self, time: float) -> None:
        stored = self.store.stored
        if stored is None or self.seen.is_dead("", stored, time + self.offset):
            self.mine = self.store.stored = Stored(self.name, 1 if stored is None else stored.fence + 1)
            self.tenure = Tenure(renewed_at=time + self.offset)
            self.works += 1

    def beat(self, time: float) -> None:
        assert self.tenure is not None
        stored, mine = self.store.stored, self.mine
        is_mine = stored is not None and mine is not None and stored.fence == mine.fence
        if is_mine:
            self.store.beat()
        self.tenure.note(time + self.offset, is_mine)


@pytest.mark.parametrize("seed", range(10))
def test_two_never_work_at_once_and_the_work_goes_on(seed: int) -> None:
    chance = random.Random(seed)
    store = Store()
    processes = [Process(store, name, chance) for name in ("ada", "bob", "cy")]
    fences: list[int] = []
    for tick in range(3000):
        time = tick / 2
        for process in chance.sample(processes, 3):
            process.step(time)
            assert sum(each.works_at(time) for each in processes) <= 1
        fences.append(0 if store.stored is None else store.stored.fence)
    assert fences == sorted(fences)
    assert sum(process.works for process in processes) == fences[-1]
    assert all(process.works for process in processes)
