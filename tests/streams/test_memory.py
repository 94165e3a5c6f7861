"""What a worker holds in memory behind changes that fail: bounded in bytes, per shard and in all."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from singletable import Database
from singletable.errors import InvalidRequest
from singletable.streams import Changes, ChangeWorker, Inserted, Modified
from tests.streams.models import Note, noted
from tests.streams.script import Script
from tests.streams.simulation import World, simulated, simulated_worker
from tests.streams.test_shards import NAMES, START

MB = 1024 * 1024
RECORD_BYTES = 100_000


class Heavy:
    """A worker over records of 100 kB each, of which some items' fail."""

    def __init__(self, engine: Database, shards: int, **options: Any) -> None:
        self.world, self.script = World(3, START), Script(3, shards=shards)
        self.script.repeats = self.script.expires_early = self.script.empty_answers = 0.0
        real = self.script.image
        self.script.image = lambda key, count: {**real(key, count), "ballast": {"S": "x" * RECORD_BYTES}}  # type: ignore[method-assign]
        self.changes = Changes(noted, name=f"heavy-{next(NAMES)}")
        self.handled: list[str] = []
        self.is_cured = False
        self.changes.on(Note).inserted(self.handle)
        self.changes.on(Note).modified(self.handle)
        db = simulated(self.world, engine, self.script, "w")
        self.flow: Any = simulated_worker(db, self.changes).run(
            stop=lambda: False, signals=False, tries=1000, backoff_seconds=20.0, **options
        )

    def handle(self, change: Inserted[Note] | Modified[Note]) -> None:
        if change.new.id.startswith("bad") and not self.is_cured:
            raise ValueError("not now")
        self.handled.append(change.new.id)

    def held_megabytes(self, seconds: float) -> float:
        """The most that is held while the worker runs, above what was there before."""
        gc.collect()
        tracemalloc.start()
        try:
            self.world.start(self.flow, "w")
            self.world.run_for(seconds)
            gc.collect()
            return tracemalloc.get_traced_memory()[1] / MB
        finally:
            tracemalloc.stop()


def test_what_is_done_is_not_held_behind_what_fails(engine: Database) -> None:
    heavy = Heavy(engine, shards=1)
    heavy.script.write("bad", 1, START)
    for number in range(400):
        heavy.script.write(f"k{number}", 1, START)
    assert heavy.held_megabytes(60) < 12  # one answer of 7 records, some times over, where 40 MB were read
    assert len(heavy.handled) == 400


@pytest.mark.parametrize("shards", [1, 4])
def test_what_waits_is_bounded_in_all(engine: Database, shards: int) -> None:
    heavy = Heavy(engine, shards=shards, buffer_bytes=8 * MB)
    for count in range(100):
        for number in range(4):
            heavy.script.write(f"bad{number}", count + 1, START)
    held = heavy.held_megabytes(60)
    # Two images a record; an answer may pass the bound in each shard, and each is there as text and as it is read.
    assert 4 < held < 8 + shards * 6, f"{held:.1f} MB of 80 are held"
    assert heavy.handled == []
    heavy.is_cured = True
    heavy.world.run_for(900)
    assert sorted(heavy.handled) == sorted(f"bad{n}" for n in range(4) for _ in range(100))


def test_a_shard_that_is_full_starves_no_other(engine: Database) -> None:
    heavy = Heavy(engine, shards=4, buffer_bytes=2 * MB)
    for count in range(50):
        heavy.script.write("bad", count + 1, START)
    for number in range(100):
        heavy.script.write(f"k{number}", 1, START)
    bad = heavy.script.shard_of_sequence[heavy.script.written["bad"][0]]
    others = [f"k{n}" for n in range(100) if heavy.script.shard_of_sequence[heavy.script.written[f"k{n}"][0]] != bad]
    assert len(others) > 30
    heavy.held_megabytes(30)
    assert set(others) <= set(heavy.handled)


@pytest.mark.parametrize("given", [0, -1])
def test_it_takes_some(engine: Database, given: int) -> None:
    with pytest.raises(InvalidRequest, match="buffer_bytes"):
        ChangeWorker(engine, Changes(noted)).run(buffer_bytes=given)
    with pytest.raises(InvalidRequest, match="buffer_bytes"):
        ChangeWorker(engine, Changes(noted)).drain(buffer_bytes=given)
