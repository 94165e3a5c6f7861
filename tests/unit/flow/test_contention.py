"""The kernel of contended writes: what a loss costs, when it gives up, and how often it is first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from singletable import connect, connect_async
from singletable.errors import TransactionConflict, Unavailable
from singletable.flow.contention import TRIES, Race
from tests.support.shells import disguised

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(params=["blocking", "awaiting"])
async def shell(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """A database of either shell that sends nothing, whose sleeps are written down, and whose chance is 1/2."""
    db: Any = connect_async(NOWHERE) if request.param == "awaiting" else disguised(connect(NOWHERE))
    db.slept = []

    async def sleep(seconds: float) -> None:
        db.slept.append(seconds)

    monkeypatch.setattr(db.port, "sleep", sleep)
    monkeypatch.setattr(db.port, "random", lambda: 0.5)
    yield db
    await db.close()


class Counter:
    """An item with a number, and a flow that raises it by read, condition and write."""

    def __init__(self) -> None:
        self.stored = 0
        self.requests = 0

    async def raise_by_one(self, race: Race, between: Callable[[], None] = lambda: None) -> int:
        while True:
            before = self.stored
            between()
            self.requests += 2
            if self.stored == before:
                self.stored += 1
                return self.stored
            await race.lost()


def race_of(shell: Any, **options: Any) -> Race:
    return Race(shell.port, "count", "another writer counted", table="counters", **options)


def losing(counter: Counter, times: int) -> Callable[[], None]:
    """What another writer does between each read and write of a call, so many times."""
    left = times

    def count() -> None:
        nonlocal left
        left -= 1
        counter.stored += left >= 0

    return count


async def test_the_first_try_costs_nothing(shell: Any) -> None:
    counter, race = Counter(), race_of(shell)
    assert await shell.run(counter.raise_by_one(race)) == 1
    assert (counter.requests, race.losses, shell.slept) == (2, 0, [])


async def test_the_first_loss_is_followed_at_once(shell: Any) -> None:
    counter, race = Counter(), race_of(shell)
    assert await shell.run(counter.raise_by_one(race, losing(counter, 1))) == 2
    assert (counter.requests, shell.slept) == (4, [])


async def test_pauses_grow_to_a_bound_and_are_half_of_it_on_average(shell: Any) -> None:
    counter, race = Counter(), race_of(shell)
    await shell.run(counter.raise_by_one(race, losing(counter, 9)))
    assert shell.slept == [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.25, 0.25]


@pytest.mark.parametrize("losses", range(TRIES))
async def test_it_is_written_after_each_number_of_losses_below_the_bound(shell: Any, losses: int) -> None:
    """Each number is counted once, whoever counts it."""
    counter = Counter()
    assert await shell.run(counter.raise_by_one(race_of(shell), losing(counter, losses))) == losses + 1
    assert counter.requests == 2 * (losses + 1)


async def test_it_gives_up_at_the_bound_and_says_to_what_it_lost(shell: Any) -> None:
    counter = Counter()
    with pytest.raises(TransactionConflict) as raised:
        await shell.run(counter.raise_by_one(race_of(shell), losing(counter, TRIES)))
    error = raised.value
    assert error.what == f"another writer counted meanwhile, at each of {TRIES} tries"
    assert (error.table, error.operation) == ("counters", "count")
    assert error.hint == "Nothing was written. Try again later, with fewer writers at once."
    assert (counter.requests, counter.stored) == (2 * TRIES, TRIES)  # others' counts alone
    assert len(shell.slept) == TRIES - 2  # none after the last try


async def test_a_caller_has_its_own_bound_error_and_hint(shell: Any) -> None:
    counter, race = Counter(), race_of(shell, tries=3, raises=Unavailable, hint="Try again.")
    with pytest.raises(Unavailable, match=r"at each of 3 tries .*\. Try again\.$"):
        await shell.run(counter.raise_by_one(race, losing(counter, 3)))
    assert counter.requests == 6


async def test_a_loss_tells_whether_there_was_a_pause(shell: Any) -> None:
    race = race_of(shell)
    assert [await shell.run(race.lost()) for _ in range(3)] == [False, True, True]
    assert len(shell.slept) == 2


async def test_the_end_of_the_tries_may_be_a_result(shell: Any) -> None:
    race = race_of(shell, tries=3)
    assert [await shell.run(race.goes_on()) for _ in range(3)] == [True, True, False]
    assert shell.slept == [0.005]


async def test_what_refused_the_last_try_is_not_shown(shell: Any) -> None:
    """A refused condition is no cause that a person could do anything about."""

    async def refused() -> None:
        try:
            raise KeyError("the condition")
        except KeyError:
            await race_of(shell, tries=1).lost()

    with pytest.raises(TransactionConflict) as raised:
        await shell.run(refused())
    assert raised.value.__suppress_context__


async def test_of_writers_together_each_ends(shell: Any) -> None:
    """One is first in each round, so n writers need at most n tries each."""
    counter = Counter()
    races = [race_of(shell) for _ in range(TRIES)]
    waiting = list(range(TRIES))
    while waiting:
        before = counter.stored
        first = waiting.pop(len(waiting) // 2)
        counter.stored = before + 1
        for loser in waiting:
            await shell.run(races[loser].lost())
        assert races[first].losses == before
    assert counter.stored == TRIES
