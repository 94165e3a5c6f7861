"""A scripted life of a table: change after change, while programs of two versions write, and applies are killed.

After each change nothing is lost or doubled against what the writers know that they wrote, `check` finds nothing, and a
second apply writes nothing.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from singletable import Database, connect
from singletable.migrations import Migrations
from tests.migrations import life
from tests.migrations.life import CITIES, PROGRAMS, Program, person
from tests.support.children import KILLED, run_child, start_child

Items = dict[str, list[Any]]
POINTS = "request.before", "request.after"


def is_kept(db: Database, program: Program, items: Items) -> None:
    """The table is the model, its indexes too."""
    assert db.check(program.table) == []
    expected = {int(id): person(program, int(id), place, visits) for id, (place, visits) in items.items()}
    assert {found.id: found for found in db.scan(program.person)} == expected
    if "gsi1" in program.table.definition.indexes:
        found = [p for city in CITIES for p in db.iter(program.person.by_place(city))]
        assert sorted(found, key=lambda p: p.id) == sorted(expected.values(), key=lambda p: p.id)
    if "gsi2" in program.table.definition.indexes:
        for each in list(expected.values())[::17]:
            names = program.person.by_last(each.last).only(program.person.id, program.person.visits)
            assert [(p.id, p.visits) for p in db.iter(names)] == [(each.id, each.visits)]


def nothing_is_left_to_do(db: Database, program: Program) -> None:
    with db.meter() as meter:
        assert Migrations(db, program.table).apply().done == ()
        assert Migrations(db, program.table).plan().is_empty
    assert meter.write_units == 0
    assert not {"UpdateTable", "UpdateTimeToLive", "TagResource"} & meter.by_operation.keys()


def killed_applies(target: str, number: int, random: Random, kills: int) -> int:
    """Applies that die at some request; then one that ends. How many died."""
    died = 0
    for _ in range(kills):
        point = f"{random.choice(POINTS)}:{int(random.expovariate(1 / 25)) + 1}"
        ended = run_child(life.apply, target, str(number), dies_at=point)
        assert ended in (0, KILLED)
        died += ended == KILLED
    assert run_child(life.apply, target, str(number)) == 0
    return died


def lived(tmp_path: Path, numbers: Sequence[int], count: int, writers: int, kills: int, seed: int) -> int:
    """Live through programs; the first is what the table begins with. How many applies were killed."""
    random, died = Random(seed), 0
    with connect("local") as db:
        target = db.target.endpoint.url
        before = PROGRAMS[numbers[0]]
        Migrations(db, before.table).apply(by="the first")
        items: Items = {str(n): [CITIES[n % 3], n] for n in range(count)}
        db.write_many(puts=[person(before, int(id), *item) for id, item in items.items()])
        for old, number in pairwise(numbers):
            stop, files = tmp_path / f"stop{number}", [tmp_path / f"{number}-{n}.json" for n in range(writers)]
            for n, file in enumerate(files):
                file.write_text(json.dumps({id: item for id, item in items.items() if int(id) % writers == n}))
            running = [
                start(target, str(number if n % 2 else old), str(file), str(stop), f"{seed}-{number}-{n}")
                for n, file in enumerate(files)
            ]
            try:
                died += killed_applies(target, number, random, kills)
            finally:
                stop.touch()
                for process in running:
                    process.communicate(timeout=60)
                    assert process.returncode == 0
            items = {id: item for file in files for id, item in json.loads(file.read_text()).items()}
            program = PROGRAMS[number]
            Migrations(db, program.table).fill()  # the last of the older programs has ended
            is_kept(db, program, items)
            nothing_is_left_to_do(db, program)
    return died


def start(*arguments: str) -> subprocess.Popen[bytes]:
    process = start_child(life.work, *arguments)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.embedded("its processes share one engine's socket")
def test_a_short_life(tmp_path: Path) -> None:
    assert lived(tmp_path, (0, 2, 9), 120, writers=2, kills=1, seed=5) > 0


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.embedded("its processes share one engine's socket")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_long_life(tmp_path: Path, seed: int) -> None:
    assert lived(tmp_path, range(len(PROGRAMS)), 2000, writers=4, kills=3, seed=seed) > 8
