"""Bodies that are on their way or at work are bounded in bytes: of one user, and of all together."""

from __future__ import annotations

import asyncio  # noqa: TID251
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from singletable.sync import Limits
from singletable.sync.limits import InFlight
from tests.sync.calling import Exchange, first, scope_of
from tests.sync.simulated import Client
from tests.sync.world import World

CHUNK = 1 << 16
LIMITS = Limits(user_bytes=10 * CHUNK, bytes_at_once=25 * CHUNK, burst=1000)


@asynccontextmanager
async def unfinished(world: World, user: str, *, chunks: int, length: int | None = None) -> AsyncIterator[Any]:
    """A push of which some chunks arrive, and then nothing more; gives its status, None while it is open."""
    exchange = Exchange(b"x" * CHUNK * (chunks + 1), CHUNK)
    arrived, sent = asyncio.Event(), 0

    async def receive() -> Any:
        nonlocal sent
        if sent == chunks:
            arrived.set()
            await asyncio.Event().wait()
        sent += 1
        return await exchange.receive()

    headers = {"authorization": user, "content-type": "application/json"}
    if length is not None:
        headers["content-length"] = str(length)
    task = asyncio.ensure_future(
        world.app(scope_of("POST", "/push", {"project": "p1"}, headers), receive, exchange.send)
    )
    waiting = asyncio.ensure_future(arrived.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    try:
        yield (await first(exchange, task))["status"] if task.done() else None
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_one_user_holds_so_many_bytes_and_others_are_not_touched(world: World) -> None:
    bounded = World(world.db, world.documents.context.store, limits=LIMITS)
    async with unfinished(bounded, "mallory", chunks=6) as one:
        assert one is None
        async with unfinished(bounded, "mallory", chunks=6) as other:
            assert other == 429
        async with unfinished(bounded, "mallory", chunks=0, length=5 * CHUNK) as told:
            assert told == 429, "before anything of it has come"
        async with unfinished(bounded, "ben", chunks=6) as another:
            assert another is None
            ada = Client("ga", "ca")
            ada.mutate("rename", name="x")
            await bounded.push(ada)
            await bounded.pull(ada)
            assert ada.pending == []
    async with unfinished(bounded, "mallory", chunks=9) as again:
        assert again is None, "what was held is let go"


async def test_all_users_together_hold_so_many(world: World) -> None:
    bounded = World(world.db, world.documents.context.store, limits=LIMITS)
    async with (
        unfinished(bounded, "a", chunks=9) as a,
        unfinished(bounded, "b", chunks=9) as b,
        unfinished(bounded, "c", chunks=9) as c,
    ):
        assert (a, b, c) == (None, None, 503)
    async with unfinished(bounded, "c", chunks=9) as c:
        assert c is None


async def test_a_pull_is_small(world: World) -> None:
    ada = Client("ga", "ca")
    answer = await world.send("/pull", {**ada.pull(), "junk": "x" * (64 << 10)})
    assert answer.status == 413
    assert "65536 bytes" in answer.json["message"]


def test_what_is_let_go_is_forgotten() -> None:
    held = InFlight(10, 15)
    held.add("a", 10)
    assert (held.accepts("a", 1), held.accepts("b", 10), held.is_full(6), held.is_full(5)) == (False, True, True, False)
    held.add("a", -10)
    assert (held.accepts("a", 10), held.is_full(15)) == (True, False)
