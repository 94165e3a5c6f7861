"""A table that is deleted and made again under workers that run: they go on with its new stream, and tell the gap.

On AWS the stream of a deleted table can be read for a day, and says that it is closed.
"""

from __future__ import annotations

import json

from msgspec.structs import replace

from singletable import Database
from singletable.flow import Request, Response
from singletable.streams import Changes, Gap, Inserted
from tests.streams.models import Note, noted
from tests.streams.script import ARN, Clock, Script
from tests.streams.simulation import World, simulated, simulated_worker


class Streams(Script):
    """The streams of a table that is made again."""

    def __init__(self) -> None:
        super().__init__(1)
        self.before: Script | None = None
        self.described = 0

    def remake(self) -> None:
        self.before = Script(1)
        self.before.__dict__.update(self.__dict__)
        super().__init__(2)
        self.arn = f"{ARN}-again"

    def respond(self, request: Request, clock: Clock) -> Response:
        self.described += request.operation == "DescribeTable"
        if self.before is None or not self._is_old(request, self.before):
            return super().respond(request, clock)
        answer = self.before.respond(request, clock)
        if request.operation != "DescribeStream":
            return answer
        body = json.loads(answer.body)
        body["StreamDescription"]["StreamStatus"] = "DISABLED"
        return replace(answer, body=json.dumps(body).encode())

    def _is_old(self, request: Request, before: Script) -> bool:
        body = json.loads(request.body)
        return body.get("StreamArn") == before.arn or body.get("ShardIterator", "").partition("|")[0] in before.shards


def test_a_running_worker_goes_on_with_the_new_stream(engine: Database) -> None:
    streams, world = Streams(), World(1, 1_800_000_000.0)
    changes, told, gaps = Changes(noted, name="remade"), list[str](), list[Gap]()

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        told.append(change.new.id)

    changes.on_gap(gaps.append)
    stopping = list[bool]()
    flow = simulated_worker(simulated(world, engine, streams, "w"), changes).run(
        stop=lambda: bool(stopping), signals=False, lease_seconds=2.0
    )
    worker = world.start(flow, "w")
    streams.write("first", 1, world.now)
    world.run_for(60)
    assert told == ["first"]
    described = streams.described
    world.run_for(60)
    assert streams.described == described  # nothing more is asked for while the stream is open
    streams.remake()
    world.run_for(5)
    assert streams.before is not None
    streams.before.write("late", 1, world.now)
    streams.write("second", 1, world.now)
    world.run_for(60)
    assert told == ["first", "second"]
    assert [(gap.shard, gap.reason) for gap in gaps] == [("", "replaced")]
    stopping.append(True)
    world.run_until(worker)


def test_a_stream_that_is_switched_off_is_read_to_its_end(engine: Database) -> None:
    """Its table is there, and has no other one."""
    streams, world = Streams(), World(2, 1_800_000_000.0)
    changes, told, gaps = Changes(noted, name="switched"), list[str](), list[Gap]()

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        told.append(change.new.id)

    changes.on_gap(gaps.append)
    stopping = list[bool]()
    flow = simulated_worker(simulated(world, engine, streams, "w"), changes).run(
        stop=lambda: bool(stopping), signals=False, lease_seconds=2.0
    )
    worker = world.start(flow, "w")
    world.run_for(30)
    streams.remake()
    assert streams.before is not None
    streams.arn = streams.before.arn  # as DescribeTable says it still
    streams.before.write("last", 1, world.now)
    world.run_for(60)
    assert (told, gaps) == (["last"], [])
    stopping.append(True)
    world.run_until(worker)
