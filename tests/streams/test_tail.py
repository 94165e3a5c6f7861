"""Watching a stream that loses, refuses and fails: what is missing is told, what is not is shown once."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Database
from singletable.errors import Unavailable
from singletable.flow import Request
from singletable.streams.tail import Tail, TailedChange, TailedGap
from tests.streams.models import noted
from tests.streams.script import DAY, Script
from tests.streams.simulation import SimulatedPort, Trouble, World
from tests.streams.test_shards import START


class Watching:
    """A tail over a scripted stream."""

    def __init__(self, engine: Database, start: Any = "horizon", shards: int = 1) -> None:
        self.world, self.script = World(1, START), Script(1, shards=shards)
        self.script.repeats = self.script.expires_early = self.script.empty_answers = 0.0
        self.tail = Tail(SimulatedPort(self.world, engine.port, self.script, "t"), noted, start)

    def write(self, *counts: int, key: str = "k1") -> list[str]:
        return [self.script.write(key, count, self.world.now) for count in counts]

    def read(self, times: int = 3) -> list[TailedChange | TailedGap]:
        """What some readings give."""
        found: list[TailedChange | TailedGap] = []
        for _ in range(times):
            task = self.world.start(self.tail.read(), "t")
            self.world.run_until(task)
            found += task.result
        return found


def told(found: list[TailedChange | TailedGap]) -> list[str]:
    """The sequence number of each change, and `gap` for what is missing."""
    return [one.record.dynamodb.sequence_number if isinstance(one, TailedChange) else "gap" for one in found]


@pytest.mark.parametrize("start", ["horizon", "now"])
def test_an_expired_iterator_costs_nothing(engine: Database, start: str) -> None:
    watching = Watching(engine, start)
    watching.read()
    first = watching.write(1, 2)
    assert told(watching.read()) == first
    watching.script.refusals["GetRecords"] = ["ExpiredIteratorException"]
    second = watching.write(3, 4)
    assert told(watching.read()) == second


def test_trimmed_records_are_reported(engine: Database) -> None:
    watching = Watching(engine)
    first = watching.write(1, 2)
    assert told(watching.read()) == first
    watching.write(3, 4)
    watching.world.run_for(DAY + 60)
    rest = watching.write(5, 6)
    watching.script.trim(watching.world.now)
    found = watching.read()
    assert told(found) == ["gap", *rest]
    (gap,) = (one for one in found if isinstance(one, TailedGap))
    assert (gap.after.lstrip("0"), gap.shard) == (first[-1], next(iter(watching.script.shards)))
    assert gap.at == pytest.approx(watching.world.now, abs=60)


def test_records_trimmed_between_reads_are_reported(engine: Database) -> None:
    watching = Watching(engine)
    watching.write(1, 2)
    watching.script.refusals["GetRecords"] = ["TrimmedDataAccessException"]
    assert told(watching.read())[0] == "gap"


def test_a_tail_from_the_newest_reports_the_gap_and_shows_what_came_since(engine: Database) -> None:
    """Its iterator is refused before anything was read behind it: whether something is missing can't be known."""
    watching = Watching(engine, "now")
    old = watching.write(1, 2)
    watching.world.run_for(3600)
    assert watching.read() == []
    fresh = watching.write(3, 4)
    watching.script.refusals["GetRecords"] = ["ExpiredIteratorException"]
    found = told(watching.read())
    assert found == ["gap", *fresh]
    assert not set(old) & set(found)


@pytest.mark.parametrize("number", range(1, 12))
def test_a_reading_that_fails_loses_and_repeats_nothing(engine: Database, number: int) -> None:
    """At each of its requests; it goes on behind what the last one gave."""
    watching = Watching(engine, shards=2)
    written = [*watching.write(1, 2), *watching.write(1, 2, 3, key="k3")]
    watching.script.split(watching.world.now)
    written += [*watching.write(3, 4), *watching.write(4, key="k3")]
    watching.script.refusals["GetRecords"] = ["ExpiredIteratorException"]
    asked: list[str] = []

    def trouble(worker: str, request: Request) -> Trouble | None:
        asked.append(request.operation)
        return Trouble(Unavailable("not now")) if len(asked) == number else None

    watching.world.trouble = trouble
    found: list[TailedChange | TailedGap] = []
    failed = 0
    for _ in range(12):
        watching.world.run_for(11)
        try:
            found += watching.read(1)
        except Unavailable:
            failed += 1
    assert failed == 1
    assert sorted(told(found)) == sorted(written)


def test_a_rate_that_is_refused_is_waited_for(engine: Database) -> None:
    watching = Watching(engine)
    written = watching.write(1)
    watching.script.refusals["GetRecords"] = ["LimitExceededException"]
    assert told(watching.read()) == written
