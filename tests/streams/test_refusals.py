"""What the service refuses a reader of a stream, by scripted answers: each as its documentation means it.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html, and its neighbours.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from singletable import Database
from singletable.errors import NotConfigured, Throttled
from singletable.flow import Response
from singletable.operations.stream import DescribeStream, GetRecords, GetShardIterator, pad_sequence_number
from singletable.streams import Changes, Inserted, Modified
from tests.streams.models import Note, noted
from tests.streams.script import DAY, Script
from tests.streams.simulation import World, simulated, simulated_worker
from tests.streams.test_shards import NAMES, START

OPERATIONS = ("DescribeStream", "GetShardIterator", "GetRecords")


class Reading:
    """A worker over a stream that answers as it is told."""

    def __init__(self, engine: Database, shards: int = 2) -> None:
        self.engine, self.world, self.script = engine, World(1, START), Script(1, shards=shards)
        self.script.repeats = self.script.expires_early = self.script.empty_answers = 0.0
        self.changes = Changes(noted, name=f"refused-{next(NAMES)}")
        self.handled: list[str] = []
        self.gaps: list[Any] = []
        self.told: list[str] = []
        """What was handled and, as a reason, each gap: in order."""
        self.is_to_stop = False
        self.changes.on(Note).inserted(self.handle)
        self.changes.on(Note).modified(self.handle)
        self.changes.on_gap(self.miss)
        db = simulated(self.world, engine, self.script, "w")
        flow: Any = simulated_worker(db, self.changes).run(
            stop=lambda: self.is_to_stop, signals=False, lease_seconds=2.0
        )
        self.task = self.world.start(flow, "w")

    def handle(self, change: Inserted[Note] | Modified[Note]) -> None:
        self.handled.append(change.sequence)
        self.told.append(change.sequence)

    def miss(self, gap: Any) -> None:
        self.gaps.append(gap)
        self.told.append(gap.reason)

    def write(self, *keys: str) -> list[str]:
        return [pad_sequence_number(self.script.write(key, 1, self.world.now)) for key in keys]

    def end(self) -> None:
        self.is_to_stop = True
        self.world.run_until(self.task)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("count", [1, 5])
def test_a_rate_that_is_too_high_slows_it_and_loses_nothing(
    engine: Database, operation: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """LimitExceededException is not a limit of the account here: more than two processes read a shard at once."""
    caplog.set_level(logging.INFO, "singletable")
    reading = Reading(engine)
    written = reading.write("k1", "k2", "k3")
    reading.script.refusals[operation] = ["LimitExceededException"] * count
    reading.world.run_for(60)
    written += reading.write("k4")
    reading.script.refusals["GetRecords"] = ["ExpiredIteratorException"]  # so that it asks for an iterator again
    reading.script.refusals.setdefault(operation, []).extend(["LimitExceededException"] * count)
    reading.world.run_for(60)
    reading.end()
    assert sorted(reading.handled) == sorted(written)
    assert (reading.gaps, reading.script.refusals[operation]) == ([], [])
    assert "the stream is read more often than the service allows" in caplog.text or operation == "GetRecords"
    assert {record.levelno for record in caplog.records} == {logging.INFO}


def test_a_shard_that_is_refused_waits_alone(engine: Database) -> None:
    reading = Reading(engine)
    reading.world.run_for(5)
    written = reading.write(*(f"k{number}" for number in range(20)))
    slow = reading.script.shard_of_sequence[reading.script.written["k1"][0]]
    reading.script.refused_shards[slow] = "LimitExceededException"
    reading.world.run_for(30)
    there = {s for s in written if reading.script.shard_of_sequence[s.lstrip("0")] != slow}
    assert set(reading.handled) == there != set()
    reading.script.refused_shards.clear()
    reading.world.run_for(10)
    reading.end()
    assert sorted(reading.handled) == sorted(written)


def test_a_drain_that_gives_up_raises_why(engine: Database) -> None:
    reading = Reading(engine)
    reading.end()
    reading.script.refusals["GetRecords"] = ["LimitExceededException"] * 1000
    db = simulated(reading.world, engine, reading.script, "drain")
    flow: Any = simulated_worker(db, reading.changes).drain(lease_seconds=2.0)
    with pytest.raises(Throttled, match="more often than the service allows"):
        reading.world.run_until(reading.world.start(flow, "drain"))


def test_an_expired_iterator_is_asked_for_again_behind_what_was_read(engine: Database) -> None:
    reading = Reading(engine)
    written = reading.write("k1", "k2")
    reading.world.run_for(5)
    reading.script.refusals["GetRecords"] = ["ExpiredIteratorException"] * 3
    written += reading.write("k1", "k3")
    reading.world.run_for(5)
    reading.end()
    assert (sorted(reading.handled), reading.gaps) == (sorted(written), [])


@pytest.mark.parametrize("operation", ["GetShardIterator", "GetRecords"])
def test_trimmed_records_are_reported_and_the_rest_is_read(engine: Database, operation: str) -> None:
    reading = Reading(engine, shards=1)
    written = reading.write("k1")
    reading.world.run_for(5)
    if operation == "GetShardIterator":
        reading.script.refusals["GetRecords"] = ["ExpiredIteratorException"]
    reading.script.refusals[operation] = [*reading.script.refusals.get(operation, ()), "TrimmedDataAccessException"]
    written += reading.write("k2")
    reading.world.run_for(5)
    reading.end()
    (gap,) = reading.gaps
    assert (gap.reason, gap.after) == ("trimmed", written[0])
    assert set(reading.handled) == set(written)
    assert reading.told.index("trimmed") < reading.told.index(written[1]), "told before what is behind it is handled"


def test_a_shard_that_has_gone_while_it_was_read_is_a_gap(engine: Database) -> None:
    """ResourceNotFoundException: the shard was closed over a day ago. The others are read on."""
    reading = Reading(engine)
    reading.write("k1", "k2", "k3", "k4")
    reading.world.run_for(5)
    reading.script.split(reading.world.now)
    closed = next(shard for shard in reading.script.shards.values() if shard.closed_at is not None)
    reading.world.hold_up("w", DAY + 60)
    reading.world.run_for(DAY + 30)
    reading.script.trim(reading.world.now)
    assert closed.id not in reading.script.shards
    written = reading.write("k1", "k2", "k3", "k4")
    reading.world.run_for(60)
    reading.end()
    assert set(written) <= set(reading.handled)
    assert closed.id in {gap.shard for gap in reading.gaps}


def test_a_stream_that_is_no_more_ends_the_worker_and_says_so(engine: Database) -> None:
    reading = Reading(engine)
    reading.world.run_for(5)
    reading.script.refusals["DescribeStream"] = ["ResourceNotFoundException"]
    with pytest.raises(NotConfigured):
        reading.world.run_until(reading.task)


@pytest.mark.parametrize(
    "operation", [DescribeStream("s"), GetShardIterator("s", "shard"), GetShardIterator("s", "shard", "1")]
)
def test_throttling_is_reported_as_throttling(operation: Any) -> None:
    body = b'{"__type":"com.amazonaws.dynamodb.v20120810#LimitExceededException","message":"..."}'
    with pytest.raises(Throttled, match="two readers") as raised:
        operation.answer(Response(400, body, False, ""))
    assert raised.value.operation == operation.request().operation
    assert GetRecords("s", "i").answer(Response(400, body, False, ""))[0].refused == "throttled"
