"""Presence: the others are told who is here and what they say; entries end, and are bounded."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable import Meter
from singletable.documents import BlobStore
from singletable.sync import Limits
from singletable.sync.limits import Limits as AllLimits, TooMany
from singletable.sync.presence import PresencePost, PresenceRooms
from tests.support.raw import all_items
from tests.sync.calling import Answer, Stream
from tests.sync.world import World


class Room(World):
    """Streams that name their client."""

    def enter(self, user: str, client: str, project: str = "p1") -> Stream:
        return Stream(self.app, project, {"authorization": user}, client=client)

    async def say(self, user: str, client: str, state: Any, project: str = "p1") -> Answer:
        return await self.send("/presence", {"client": client, "state": state}, user=user, project=project)


@pytest.fixture
def room(world: World, blobs: BlobStore) -> Room:
    return Room(world.db, blobs, limits=Limits(presence_interval_seconds=0))


async def presence(stream: Stream) -> dict[str, Any]:
    """The next event of presence, past the others."""
    while not (said := await stream.next()).startswith("event: presence\n"):
        assert said, "the stream has ended"
    found: dict[str, Any] = json.loads(said.partition("data: ")[2])
    return found


async def test_the_others_are_told_and_oneself_is_not(room: Room) -> None:
    ada, ben = room.enter("ada", "tab-a"), room.enter("ben", "tab-b")
    for stream in (ada, ben):
        assert await stream.start() == 200
        assert await presence(stream) == {"clear": True}
    assert (await room.say("ada", "tab-a", {"x": 1})).json == {"id": 1}
    assert await presence(ben) == {"put": [{"id": 1, "user": "ada", "state": {"x": 1}}]}
    assert (await room.say("ada", "tab-a", {"x": 2})).json == {"id": 1}
    assert await presence(ben) == {"put": [{"id": 1, "user": "ada", "state": {"x": 2}}]}
    assert (await room.say("ben", "tab-b", {})).json == {"id": 2}
    assert await presence(ada) == {"put": [{"id": 2, "user": "ben", "state": {}}]}
    assert (await room.say("ben", "tab-b", None)).json == {}
    assert await presence(ada) == {"del": [2]}
    for stream in (ada, ben):
        await stream.leave()


async def test_who_comes_later_is_told_who_is_there(room: Room) -> None:
    await room.say("ada", "tab-a", {"name": "</script>\n\nevent: poke"})
    late = room.enter("ben", "tab-b")
    await late.start()
    shown = {"id": 1, "user": "ada", "state": {"name": "</script>\n\nevent: poke"}}
    assert await presence(late) == {"clear": True, "put": [shown]}
    await late.leave()


async def test_the_end_of_the_last_stream_is_the_end_of_the_entry(room: Room) -> None:
    one, again, other = (room.enter("ada", "tab-a"), room.enter("ada", "tab-a"), room.enter("ben", "tab-b"))
    for stream in (one, again, other):
        await stream.start()
        await presence(stream)
    await room.say("ada", "tab-a", {})
    assert len((await presence(other))["put"]) == 1
    await one.leave()
    assert room.sync.presence.entries == 1
    await again.leave()
    assert await presence(other) == {"del": [1]}
    await other.leave()
    assert room.sync.presence.entries == 0
    assert room.sync.pokes.listeners == 0


async def test_an_entry_expires_unless_it_is_posted_again(room: Room, blobs: BlobStore) -> None:
    near = Room(room.db, blobs, limits=Limits(present_seconds=30, presence_interval_seconds=0), poll_seconds=0.0)
    other = near.enter("ben", "tab-b")
    await other.start()
    await presence(other)
    await near.say("ada", "tab-a", {})
    assert (await presence(other))["put"]
    near.now += 29
    await near.say("ada", "tab-a", {})
    assert (await presence(other))["put"]
    near.now += 29
    assert near.sync.presence.entries == 1
    near.now += 1
    assert await presence(other) == {"del": [1]}
    await other.leave()


async def test_nobody_speaks_for_another_user(room: Room) -> None:
    """The same client of another user is another entry."""
    await room.say("ada", "tab-a", {"x": 1})
    await room.say("eve", "tab-a", None)
    assert (await room.say("eve", "tab-a", {"x": 9})).json == {"id": 2}
    watch = room.enter("ben", "tab-b")
    await watch.start()
    assert [each["user"] for each in (await presence(watch))["put"]] == ["ada", "eve"]
    await watch.leave()


async def test_only_readers_are_present_and_are_told(room: Room) -> None:
    room.members["p1"] = {"ada"}
    assert (await room.say("ada", "tab-a", {})).status == 200
    assert (await room.say("eve", "tab-e", {})).status == 404
    assert (await room.say("eve", "tab-e", {}, project="p2")).status == 200
    assert (await room.send("/presence", {"client": "t", "state": {}}, user=None)).status == 401
    stream = room.enter("eve", "tab-e")
    assert await stream.start() == 404


async def test_who_may_not_read_any_more_is_told_nothing_more(room: Room, blobs: BlobStore) -> None:
    """Checked every `heartbeat_seconds`, also where something happens all the time."""
    near = Room(room.db, blobs, limits=Limits(heartbeat_seconds=15))
    stream = near.enter("eve", "tab-e")
    await stream.start()
    await presence(stream)
    near.members["p1"] = {"ada"}
    near.now += 16
    await near.say("ada", "tab-a", {})
    assert "presence" not in await stream.next()
    await stream.task


BAD: list[Any] = [
    {},
    [],
    {"client": "", "state": {}},
    {"client": "x" * 129, "state": {}},
    {"client": "\n", "state": {}},
    {"client": 7, "state": {}},
    {"client": "t", "state": "text"},
    {"client": "t", "state": [1]},
    b'{"client": "t", "state": {"x": NaN}}',
    b'{"client": "t", "state": {"x": 1, "x": 2}}',
    b"{",
]


@pytest.mark.parametrize("body", BAD, ids=str)
async def test_a_malformed_post_is_refused(room: Room, body: Any) -> None:
    assert (await room.send("/presence", body)).status == 400
    assert room.sync.presence.entries == 0


async def test_a_post_is_small_and_not_too_often(room: Room, blobs: BlobStore) -> None:
    small = Room(room.db, blobs, limits=Limits(presence_bytes=100, presence_per_second=1, presence_burst=2))
    assert (await small.say("ada", "t", {"x": "x" * 100})).status == 413
    assert (await small.say("ada", "t", {})).status == 200
    refused = await small.say("ada", "t", {})
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert (await small.say("ben", "t", {})).status == 200
    assert (await small.send("/pull", {})).status == 400, "pulls are counted by themselves"


async def test_entries_are_bounded(room: Room, blobs: BlobStore) -> None:
    small = Room(room.db, blobs, limits=Limits(present=2, listeners_per_user=2, listeners=3))
    assert [(await small.say("ada", f"t{n}", {})).status for n in range(3)] == [200, 200, 429]
    assert (await small.say("ada", "t1", {"x": 1})).status == 200, "an entry that is there may change"
    assert (await small.say("ben", "t", {})).status == 503
    assert (await small.say("ben", "t", {}, project="p2")).status == 200
    assert (await small.say("cy", "t", {}, project="p3")).status == 503
    small.now += 31
    assert (await small.say("cy", "t", {}, project="p3")).status == 200, "entries that nobody looks at expire too"
    assert small.sync.presence.entries == 1


async def test_presence_costs_no_request_and_writes_nothing(room: Room) -> None:
    await room.say("ada", "tab-a", {})  # finds that the project is there
    before: Any = await room.db.run(all_items(room.db.port, room.documents.context.model.table.name))
    with Meter() as meter:
        for x in range(50):
            assert (await room.say("ada", "tab-a", {"x": x})).status == 200
    assert (meter.requests, meter.read_units, meter.write_units) == (0, 0, 0)
    assert before == await room.db.run(all_items(room.db.port, room.documents.context.model.table.name))


async def test_a_slow_stream_is_sent_the_last_of_many(room: Room, blobs: BlobStore) -> None:
    near = Room(room.db, blobs, limits=Limits(presence_interval_seconds=0.2), monotonic=time.monotonic)
    stream = near.enter("ben", "tab-b")
    await stream.start()
    await presence(stream)
    for x in range(40):
        await near.say("ada", "tab-a", {"x": x})
    events = [await presence(stream)]
    while events[-1]["put"][0]["state"]["x"] != 39:
        events.append(await presence(stream))
    assert len(events) < 10
    await stream.leave()


async def test_two_servers_of_one_table_know_their_own_clients(room: Room, blobs: BlobStore) -> None:
    """As the documentation says: presence is in the memory of a server, the document is in the table."""
    elsewhere = Room(room.db, blobs, limits=Limits(presence_interval_seconds=0))
    stream = elsewhere.enter("ben", "tab-b")
    await stream.start()
    assert await presence(stream) == {"clear": True}
    await room.say("ada", "tab-a", {"at": "one"})
    await elsewhere.say("cy", "tab-c", {"at": "the other"})
    assert [each["user"] for each in (await presence(stream))["put"]] == ["cy"]
    await stream.leave()


class Woken:
    """A signal that nobody waits for."""

    def set(self) -> None:
        self.was_set = True


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["post", "leave", "open", "close", "take", "wait"]),
        st.sampled_from("abc"),
        st.integers(0, 40),
    ),
    max_size=60,
)


@given(STEPS)
def test_every_stream_ends_with_what_is_there(steps: list[tuple[str, str, int]]) -> None:
    """Random comings and goings: what a stream was sent adds up to the entries of the others."""
    now = [0.0]
    limits = AllLimits(present=2, listeners_per_user=9, present_seconds=30, presence_interval_seconds=0)
    rooms = PresenceRooms(limits, lambda: now[0])
    open_streams: dict[str, Any] = {}
    seen: dict[str, dict[int, Any]] = {}
    posted: dict[str, tuple[int, float]] = {}

    def take(client: str) -> None:
        change = rooms.take("p", open_streams[client][1])
        if change is None:
            return
        if change.clear:
            seen[client] = {}
        seen[client] |= {each.id: json.loads(bytes(each.state)) for each in change.put}
        for id in change.gone:
            seen[client].pop(id, None)

    for what, client, number in steps:
        if what == "wait":
            now[0] += number
        elif what == "post":
            is_new = posted.get(client, (0, 0.0))[1] <= now[0]
            is_full = sum(until > now[0] for _, until in posted.values()) >= 2
            if is_new and is_full:
                with pytest.raises(TooMany):
                    rooms.post("p", client, PresencePost(client, b"%d" % number))
            else:
                rooms.post("p", client, PresencePost(client, b"%d" % number))
                posted[client] = (number, now[0] + 30)
        elif what == "leave":
            rooms.post("p", client, PresencePost(client, None))
            posted.pop(client, None)
        elif what == "open" and client not in open_streams:
            stream = rooms.watch("p", client, client, Woken())  # type: ignore[arg-type]
            open_streams[client] = (stream, stream.__enter__())
        elif what == "close" and client in open_streams:
            open_streams.pop(client)[0].__exit__(None, None, None)
            posted.pop(client, None)
        elif what == "take" and client in open_streams:
            take(client)
    there = {client: number for client, (number, until) in posted.items() if until > now[0]}
    for client in open_streams:
        take(client)
        assert sorted(seen[client].values()) == sorted(n for who, n in there.items() if who != client)
    for client in list(open_streams):
        open_streams.pop(client)[0].__exit__(None, None, None)
    now[0] += 31
    rooms.post("q", "x", PresencePost("x", None))
    assert rooms._rooms.keys() <= {"p"}
