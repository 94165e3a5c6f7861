"""A scripted life of a table: change after change, while programs of two versions write, and applies are killed.

After each change nothing is lost or doubled against what the writers know that they wrote, `check` finds nothing, and a
second apply writes nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from examples_shared.testing.nursery import Process
from singletable import Database
from singletable.migrations import Migrations
from tests.migrations import life
from tests.migrations.life import CITIES, PROGRAMS, Items, Program, person
from tests.support.children import KILLED, start_child
from tests.support.engines import fresh

POINTS = "request.before", "request.after"
_PATIENCE_SECONDS = 3600.0


def is_kept(db: Database, program: Program, items: Items) -> None:
    """The table is the model, its indexes too."""
    for table in program.tables:
        assert db.check(table) == []
    expected = {int(id): person(program, int(id), place, visits) for id, (place, visits) in items.items()}
    count, at = 0, program.person.by_id
    for found in db.scan(program.person):
        assert expected[found.id] == found
        count += 1
    assert count == len(expected)
    some = list(expected.values())[::17][:200]
    assert db.get_many([at(each.id) for each in some]) == some
    names = program.table.definition.indexes
    if "gsi1" in names:
        assert _ids(db, [program.person.by_place(city) for city in CITIES]) == sorted(expected)
    if "gsi3" in names:
        assert _ids(db, [program.person.by_grade(f"g{n}") for n in range(7)]) == sorted(expected)
    if "gsi2" in names:
        for each in some:
            named = program.person.by_name(each.name if program.is_named else each.last)
            listed = db.all(named.only(program.person.id, program.person.visits))
            assert [(p.id, p.visits) for p in listed] == [(each.id, each.visits)]


def _ids(db: Database, queries: Sequence[Any]) -> list[int]:
    return sorted(each.id for query in queries for each in db.iter(query))


def nothing_is_left_to_do(db: Database, program: Program) -> None:
    for table in program.tables:
        with db.meter() as meter:
            assert Migrations(db, table).apply().done == ()
            assert Migrations(db, table).plan().is_empty
        assert meter.write_units == 0
        assert not {"UpdateTable", "UpdateTimeToLive", "TagResource"} & meter.by_operation.keys()


def killed_applies(target: str, number: int, random: Random, kills: int, count: int) -> int:
    """Applies that die: at some request while others fail, and at some moment; then one that ends. How many died."""
    died = 0
    for kill in range(kills):
        point = f"{random.choice(POINTS)}:{int(random.expovariate(20 / count)) + 1}"
        by_signal = bool(kill % 2)
        with started(number, target, str(random.randrange(1, 10**6)), "" if by_signal else point) as process:
            if by_signal:
                try:
                    process.wait(random.uniform(0.3, 0.6 + count / 5000))
                except subprocess.TimeoutExpired:
                    process.kill()
            ended = process.wait(_PATIENCE_SECONDS)
        assert ended in (0, KILLED)
        died += ended == KILLED
    with started(number, target, "", "") as process:
        assert process.wait(_PATIENCE_SECONDS) == 0
    return died


def started(number: int, target: str, faults: str, point: str) -> Process:
    return start_child(life.apply, target, str(number), faults, dies_at=point or None)


class Writer:
    """A process that writes, as one program after the other."""

    def __init__(self, target: str, name: str, units: float, folder: Path) -> None:
        self.process = start_child(life.work, target, name, str(units), stdin=subprocess.PIPE)
        self.file = folder / f"{name}.json"

    def begin(self, number: int, items: Items, stop: Path) -> None:
        self.file.write_text(json.dumps(items))
        self.begun = items
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([number, str(self.file), str(stop)]).encode() + b"\n")
        self.process.stdin.flush()

    def hears(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().decode().strip() == word

    def end(self) -> Items:
        self.hears("done")
        found: Items = json.loads(self.file.read_text())
        self.changed = sum(self.begun.get(id) != item for id, item in found.items())
        return found

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)

    def kill(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.kill()
        self.process.wait()


@contextmanager
def writing(target: str, count: int, units: float, seed: int, folder: Path) -> Iterator[list[Writer]]:
    writers = [Writer(target, f"{seed}-{n}", units, folder) for n in range(count)]
    try:
        yield writers
        assert [writer.close() for writer in writers] == [0] * count
    finally:
        for writer in writers:
            writer.kill()


def lived(
    tmp_path: Path, numbers: Sequence[int], count: int, writers: int, kills: int, seed: int, units: float = 40.0
) -> int:
    """Live through programs; the first is what the table begins with. How many applies were killed."""
    random, died = Random(seed), 0
    with (
        fresh() as db,
        writing(target := db.target.endpoint.url, writers, units, seed, tmp_path) as all_writers,
    ):
        before = PROGRAMS[numbers[0]]
        Migrations(db, before.table).apply(by="the first")
        items: Items = {str(n): [CITIES[n % 3], n] for n in range(count)}
        db.write_many(puts=[person(before, int(id), *item) for id, item in items.items()])
        for old, number in pairwise(numbers):
            program, stop = PROGRAMS[number], tmp_path / f"stop{number}"
            if db.describe_table(program.table) is None:
                Migrations(db, program.table).apply()  # it is there before the first program that knows it
            for n, writer in enumerate(all_writers):
                own = {id: item for id, item in items.items() if int(id) % writers == n}
                writer.begin(number if n % 2 else old, own, stop)
            for writer in all_writers:
                writer.hears("ready")
            try:
                died += killed_applies(target, number, random, kills, count)
            finally:
                stop.touch()
            items = {id: item for writer in all_writers for id, item in writer.end().items()}
            db.port.ready.clear()  # as for a new process: at its first use here the program's stream is indexed
            assert settle(db, program) <= sum(writer.changed for n, writer in enumerate(all_writers) if not n % 2)
            is_kept(db, program, items)
            nothing_is_left_to_do(db, program)
    return died


def settle(db: Database, program: Program) -> int:
    """The last of the older programs has ended: what it wrote is brought into the new form, and no more is left to do.
    Returns how many items that were. Of an attribute that it doesn't know to be unique, it leaves guards behind."""
    left = 0
    for table in reversed(program.tables):
        filled = Migrations(db, table).fill()
        assert filled.unfilled == ()
        left += filled.written
        findings = db.check(table)
        assert {finding.code for finding in findings} <= {"guard.orphan"}
        assert {repaired.outcome for repaired in Migrations(db, table).repair(findings)} <= {"mended"}
    return left


@pytest.mark.embedded("its processes share one engine's socket")
def test_a_short_life(tmp_path: Path) -> None:
    assert lived(tmp_path, (0, 9, 14, 16), 120, writers=2, kills=1, seed=5) > 0


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.embedded("its processes share one engine's socket")
def test_a_long_life(tmp_path: Path) -> None:
    """Twenty changes under eight writers. `LIFE_ITEMS=100000` is the size of a table in use, and takes longer."""
    count = int(os.environ.get("LIFE_ITEMS", "2500"))
    assert lived(tmp_path, range(len(PROGRAMS)), count, writers=8, kills=2, seed=1, units=20.0) > 15
