"""DocumentLocks: one run at a time for each project, and each caller gets a run that began after its call."""

from __future__ import annotations

import asyncio  # noqa: TID251
import random

import pytest

from singletable.sync.event_loop import DocumentLocks, Signal, waiter_for_threads


@pytest.mark.parametrize("seed", range(20))
async def test_each_gets_the_result_of_work_that_began_after_it_asked(seed: int) -> None:
    chance, locks = random.Random(seed), DocumentLocks()
    asked: dict[str, int] = {"a": 0, "b": 0}
    at_work: set[str] = set()
    began: dict[str, int] = {"a": 0, "b": 0}

    async def work(name: str) -> bool:
        assert name not in at_work, "one at a time"
        at_work.add(name)
        began[name] = asked[name]
        for _ in range(chance.randint(0, 3)):
            await asyncio.sleep(0)
        at_work.discard(name)
        if chance.random() < 0.1:
            raise ConnectionError
        return True

    async def ask(name: str) -> None:
        for _ in range(chance.randint(0, 20)):
            await asyncio.sleep(0)
        asked[name] += 1
        own = asked[name]
        try:
            assert await locks.run(name, lambda: work(name))
        except ConnectionError:
            return
        assert began[name] >= own

    await asyncio.gather(*(ask(chance.choice("ab")) for _ in range(60)))
    assert locks._locks == {}


async def test_many_who_wait_share_one_run() -> None:
    locks, runs = DocumentLocks(), 0
    gate = asyncio.Event()

    async def work() -> bool:
        nonlocal runs
        runs += 1
        await gate.wait()
        return True

    tasks = [asyncio.ensure_future(locks.run("p", work)) for _ in range(50)]
    await asyncio.sleep(0.01)
    gate.set()
    await asyncio.gather(*tasks)
    assert runs == 2, "the first, and one for all who asked during it"


async def test_one_who_is_cancelled_blocks_no_other() -> None:
    locks = DocumentLocks()

    async def forever() -> bool:
        await asyncio.Event().wait()
        return True

    async def at_once() -> bool:
        return False

    first = asyncio.ensure_future(locks.run("p", forever))
    await asyncio.sleep(0)
    waiting = [asyncio.ensure_future(locks.run("p", at_once)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    first.cancel()
    assert await asyncio.gather(*waiting[1:]) == [False, False]
    assert locks._locks == {}


async def test_a_signal_that_was_set_before_is_not_lost() -> None:
    signal = Signal()
    signal.set()
    assert await signal.wait(10)
    assert not await signal.wait(0.001)


async def test_a_thread_gets_what_the_loop_says() -> None:
    result_of = waiter_for_threads()

    async def later() -> int:
        await asyncio.sleep(0)
        return 7

    async def broken() -> int:
        raise KeyError("x")

    assert await asyncio.to_thread(lambda: result_of(later())) == 7
    with pytest.raises(KeyError):
        await asyncio.to_thread(lambda: result_of(broken()))
