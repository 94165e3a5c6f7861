"""One Database in threads, in tasks, and in a forked child."""

from __future__ import annotations

import asyncio  # noqa: TID251
import os
import threading  # noqa: TID251
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from singletable import Database, attr, key_of
from tests.support.engines import fresh
from tests.support.models import Membership, User, membership
from tests.support.shells import opened

ADA = User(email="ada@example.org", age=0)
KEY = key_of(ADA)


def in_a_child(work: Callable[[], bool]) -> bool:
    """What `work` says in a forked child; False where it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process with threads, which is the point
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_share_a_database() -> None:
    with fresh() as db:
        db.put(ADA)
        start = threading.Barrier(8)

        def work(number: int) -> int:
            start.wait(30)
            with db.meter() as meter:
                for n in range(20):
                    db.put(membership(number * 100 + n))
                    db.update(KEY, attr(User.tags).append(f"{number}-{n}"))
            return meter.requests

        with ThreadPoolExecutor(8) as pool:
            counted = list(pool.map(work, range(8)))
        assert counted == [40] * 8
        assert len(db.all(Membership.of_user(ADA.email))) == 160
        found = db.get(KEY)
        assert found is not None
        assert len(set(found.tags)) == len(found.tags) == 160


def test_threads_may_be_the_first_to_use_a_table() -> None:
    with fresh() as db:
        start = threading.Barrier(8)

        def work(number: int) -> None:
            start.wait(30)
            db.put(membership(number))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert len(db.all(Membership.of_user(ADA.email))) == 8


async def test_tasks_share_a_database_each_with_its_meter() -> None:
    async with opened("awaiting") as db:
        await db.put(ADA)

        async def work(number: int) -> int:
            with db.meter() as meter:
                await db.put(membership(number))
                await db.update(KEY, attr(User.tags).append(str(number)))
            return meter.requests

        assert await asyncio.gather(*(work(n) for n in range(40))) == [2] * 40
        found = await db.get(KEY)
        assert found is not None
        assert len(found.tags) == 40


async def test_tasks_may_be_the_first_to_use_a_table() -> None:
    async with opened("awaiting") as db:
        await asyncio.gather(*(db.put(membership(n)) for n in range(10)))
        assert len(await db.all(Membership.of_user(ADA.email))) == 10


def test_parent_and_forked_child_use_the_same_database() -> None:
    with fresh() as db:
        db.put(ADA)

        def child() -> bool:
            for n in range(20):
                db.update(KEY, attr(User.tags).append(f"child {n}"))
            return db.get(KEY) is not None

        with ThreadPoolExecutor(1) as pool:
            both = pool.submit(in_a_child, child)
            for n in range(20):
                db.update(KEY, attr(User.tags).append(f"parent {n}"))
            assert both.result(60)
        found = db.get(KEY)
        assert found is not None
        assert sorted(found.tags) == sorted([f"{who} {n}" for who in ("child", "parent") for n in range(20)])


def test_the_engine_outlives_a_child_that_closes_the_database() -> None:
    with fresh() as db:
        db.put(ADA)
        assert in_a_child(lambda: _close(db))
        assert db.get(KEY) == ADA


def _close(db: Database) -> bool:
    db.close()
    return True
