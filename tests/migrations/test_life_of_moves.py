"""The life of one class: its key changes three times, under writers of two programs, with fills that are killed."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from singletable import ANY, Database, Entity, Key, NotFound, Table, attr, field
from singletable.migrations import Migrations
from tests.migrations.watching import Killed, before_each
from tests.support.engines import again, fresh


def by_number(number: int) -> Key:
    return f"job#{number}", "job"


def of_team(team: str, number: int) -> Key:
    return f"team#{team}", f"job#{number}"


def of_team_wide(team: str, number: int = ANY) -> Key:
    return f"team#{team}", f"job#{number:06}"


def declared(key: Any, was: Any) -> Any:
    """The class as one version of the program has it."""
    table = Table("life", indexes=["gsi1"])

    class Job(Entity, table=table, type="job"):
        number: int
        team: str
        name: str = field(unique=True)
        runs: int = 0

        by_key = table.key(key) if was is None else table.key(was=was)(key)

        @table.index("gsi1")
        @staticmethod
        def by_runs(team: str, runs: int = ANY, number: int = ANY) -> Key:
            """By how often they ran."""
            return f"runs#{team}", f"{runs}#{number}"

    return Job


def named(team: str, number: int, name: str) -> Key:
    return f"tenant#{team}", f"job#{number}#{name}"


VERSIONS = [
    declared(by_number, None),
    declared(of_team, by_number),
    declared(of_team_wide, of_team),
    declared(named, of_team_wide),
]
COUNT = 16


class Life:
    """What the writers did, and what has to be there."""

    def __init__(self, db: Database, seed: int) -> None:
        self.db, self.random = db, Random(seed)
        self.jobs: dict[int, dict[str, Any]] = {
            n: {"number": n, "team": f"t{n % 3}", "name": f"job {n}", "runs": 0} for n in range(COUNT)
        }
        self.next = COUNT

    def key(self, kind: Any, job: dict[str, Any]) -> Any:
        return kind.__model__.key_of(kind(**job))

    def write(self, kinds: list[Any]) -> None:
        """One write of one of the programs. Only the older one may miss an item, which has moved."""
        kind, job = self.random.choice(kinds), self.jobs[self.random.choice(list(self.jobs))]
        chance = self.random.random()
        if chance < 0.08 and kind is kinds[-1]:
            assert self.db.delete(self.key(kind, job)) is not None
            del self.jobs[job["number"]]
            self.create(kind)
        elif chance < 0.2 and kind is kinds[-1]:
            job["name"] = job["name"] if "name" in kind.__model__.identity else f"{job['name']}'"
            job["runs"] += 1
            self.db.put(kind(**job))
        else:
            try:
                self.db.update(self.key(kind, job), attr(kind.runs).add(1))
                job["runs"] += 1
            except NotFound:
                assert kind is not kinds[-1]

    def create(self, kind: Any) -> None:
        job: dict[str, Any] = {"number": self.next, "team": f"t{self.next % 3}", "name": f"job {self.next}", "runs": 0}
        self.next += 1
        self.db.create(kind(**job))
        self.jobs[job["number"]] = job

    def is_kept(self, kind: Any) -> None:
        assert self.db.check(kind.__table__) == []
        found: dict[int, dict[str, Any]] = {job.number: vars(job) for job in self.db.scan(kind)}
        assert found == self.jobs
        for job in self.jobs.values():
            assert self.db.get(self.key(kind, job)) == kind(**job)
        for team in ("t0", "t1", "t2"):
            listed = [job.number for job in self.db.iter(kind.by_runs(team))]
            assert sorted(listed) == sorted(n for n, job in self.jobs.items() if job["team"] == team)


@pytest.mark.parametrize("seed", range(3))
def test_the_life_of_a_key(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 6)
    with fresh() as db, again(db) as other:
        db.create_table(VERSIONS[0].__table__)
        life = Life(other, seed)
        for job in life.jobs.values():
            db.create(VERSIONS[0](**job))
        for kinds in pairwise(VERSIONS):
            kills = 0
            while not filled(db, life, list(kinds), monkeypatch):
                kills += 1
            life.is_kept(kinds[1])
            second = Migrations(db, kinds[1].__table__).fill()
            assert (second.written, len(second.obsolete)) == (0, 1)


def filled(db: Database, life: Life, kinds: list[Any], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run a fill, with writes before its requests, that may be killed. Returns whether nothing is left to move."""
    left = life.random.randint(1, 60)

    def happens(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed
        if life.random.random() < 0.5:
            life.write(kinds)

    with monkeypatch.context() as patched, suppress(Killed):
        before_each(db, patched, happens)
        return bool(Migrations(db, kinds[1].__table__).fill().obsolete)
    return False
