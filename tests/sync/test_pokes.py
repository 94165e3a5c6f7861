"""Pokes: told at once of commits of this process, soon of those of others, and never for ever."""

from __future__ import annotations

import asyncio  # noqa: TID251
import time
from typing import Any

import pytest

from singletable.documents import BlobStore, Mutation
from singletable.sync import Limits
from tests.sync.board import table
from tests.sync.calling import Stream
from tests.sync.histories import kept, put_back
from tests.sync.simulated import Client
from tests.sync.world import World


async def test_a_listener_gets_its_first_version_and_each_commit(world: World) -> None:
    stream = world.listen()
    assert await stream.start() == 200
    assert await stream.poke() == 0
    ada = Client("ga", "ca")
    for version in (1, 2, 3):
        ada.mutate("rename", name=f"version {version}")
        await world.push(ada)
        assert await stream.poke() == version
    await stream.leave()
    assert world.sync.pokes.listeners == 0


async def test_events_are_as_event_streams_want_them(world: World) -> None:
    stream = world.listen()
    start = await asyncio.wait_for(stream.exchange.sent.get(), 10)
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-store"
    assert await stream.next() == 'event: poke\ndata: {"version":0}\n\n'
    await stream.leave()


async def test_commits_of_other_processes_are_found(blobs: BlobStore, world: World) -> None:
    """By reading the head while somebody listens."""
    near = World(world.db, blobs, poll_seconds=0.02, monotonic=time.monotonic)
    stream = near.listen()
    await stream.start()
    assert await stream.poke() == 0
    await world.documents.apply("p1", [Mutation.of("rename", {"name": "x"}).by("api", 1)])
    assert await stream.poke() == 1
    await stream.leave()


async def test_a_table_that_is_put_back_is_found(blobs: BlobStore, world: World) -> None:
    """Its head is lower than what the listener was sent."""
    near = World(world.db, blobs, poll_seconds=0.02, monotonic=time.monotonic)
    await world.documents.create("o1", "p1")
    before = await kept(world.db, table.name)
    for number in (1, 2):
        await world.documents.apply("p1", [Mutation.of("rename", {"name": "x"}).by("api", number)])
    stream = near.listen()
    await stream.start()
    assert await stream.poke() == 2
    await put_back(world.db, table.name, before)
    assert await stream.poke() == 0
    await stream.leave()


async def test_one_read_serves_all_listeners_of_a_project(blobs: BlobStore, world: World) -> None:
    heads: list[str] = []
    near = World(world.db, blobs)
    reads = near.sync.head

    async def head(document_id: str) -> int:
        heads.append(document_id)
        return await reads(document_id)

    near.sync.head = head  # type: ignore[method-assign]
    streams = [near.listen(f"user{n}") for n in range(20)]
    for stream in streams:
        await stream.start()
        assert await stream.poke() == 0
    assert len(heads) == 1
    for stream in streams:
        await stream.leave()


async def test_an_application_may_notify_by_itself(world: World) -> None:
    stream = world.listen()
    await stream.start()
    assert await stream.poke() == 0
    world.sync.notify("p1", 7)
    world.sync.notify("p1", 6)
    world.sync.notify("p2", 9)
    world.sync.notify("p1", 8)
    assert await stream.poke() in (7, 8)
    await stream.leave()


async def test_a_silent_stream_shows_signs_of_life(blobs: BlobStore, world: World) -> None:
    lively = World(world.db, blobs, limits=Limits(heartbeat_seconds=0.01), monotonic=time.monotonic)
    stream = lively.listen()
    await stream.start()
    assert await stream.poke() == 0
    assert [await stream.next() for _ in range(2)] == [": still here\n\n"] * 2
    await stream.leave()


async def test_a_user_who_loses_access_gets_no_more_pokes(blobs: BlobStore, world: World) -> None:
    lively = World(world.db, blobs, limits=Limits(heartbeat_seconds=0.01), monotonic=time.monotonic)
    stream = lively.listen()
    await stream.start()
    assert await stream.poke() == 0
    lively.members["p1"] = set()
    while await stream.next():
        continue
    await asyncio.wait_for(stream.task, 10)


async def test_a_listener_that_takes_nothing_is_dropped(blobs: BlobStore, world: World) -> None:
    strict = World(world.db, blobs, limits=Limits(send_seconds=0.01))
    stream = strict.listen()
    await stream.start()
    assert await stream.poke() == 0
    stream.exchange.blocked = True
    strict.sync.notify("p1", 1)
    await asyncio.wait_for(stream.task, 10)
    assert strict.sync.pokes.listeners == 0


async def test_a_slow_listener_gets_the_last_of_several(world: World) -> None:
    stream = world.listen()
    await stream.start()
    assert await stream.poke() == 0
    for version in range(1, 50):
        world.sync.notify("p1", version)
    found = await stream.poke()
    while found < 49:
        found = await stream.poke()
    assert stream.exchange.sent.empty()
    await stream.leave()


async def test_no_more_listeners_than_there_may_be(blobs: BlobStore, world: World) -> None:
    small = World(world.db, blobs, limits=Limits(listeners=3, listeners_per_user=2))
    streams = [small.listen("ada"), small.listen("ada"), small.listen("ben")]
    assert [await stream.start() for stream in streams] == [200, 200, 200]
    assert await small.listen("ada").start() == 429
    assert await small.listen("cy").start() == 503
    await streams[0].leave()
    assert await small.listen("cy").start() == 200
    small.sync.close()


async def test_pokes_of_a_project_that_is_not_theirs(world: World) -> None:
    world.members["p1"] = {"ada"}
    assert await world.listen("ben").start() == 404


async def test_streams_end_when_the_server_does(world: World) -> None:
    streams = [world.listen(f"user{n}") for n in range(3)]
    for stream in streams:
        await stream.start()
    world.sync.close()
    for stream in streams:
        while await stream.next():
            continue
        await asyncio.wait_for(stream.task, 10)
    late = world.listen()
    assert (await late.start(), await late.next()) == (200, ""), "an event source comes back from there, not from a 503"


@pytest.mark.parametrize("said", ["query", "header"])
async def test_an_event_source_can_say_its_name_in_the_query(world: World, said: str) -> None:
    """A browser's EventSource sends no headers of its own."""
    given: dict[str, Any] = {"auth": "ada"} if said == "query" else {"headers": {"authorization": "ada"}}
    stream = Stream(world.app, "p1", **given)
    assert await stream.start() == 200
    await stream.leave()
