"""`db.check` of a table: in segments, of a sample, with layers, from any round on, beside writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from singletable import AsyncDatabase, Database, InvalidRequest, connect
from singletable.errors import Throttled
from singletable.flow import Rate
from singletable.records import CheckOptions, CheckRound, flows
from singletable.tasks import TaskWorker
from tests.oracle import test_tasks
from tests.oracle.planting import edit
from tests.oracle.test_records import Person, app
from tests.support.engines import fresh
from tests.support.shells import opened

pytestmark = pytest.mark.embedded("it counts the requests of pages, which an engine may cut otherwise")
STALE = range(0, 60, 7)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        for n in range(60):
            made.create(Person(id=f"p{n}", email=f"{n}@example.org", city="Oslo"))
        for n in STALE:
            edit(made, Person.by_id(f"p{n}"), gsi1pk={"S": "city#Rome"})
        yield made


def keys(found: Any) -> list[str]:
    return sorted(finding.key[0] for finding in found)


WANTED = sorted(f"person#p{n}" for n in STALE)


@pytest.mark.parametrize("segments", [None, 1, 3, 16])
def test_segments_find_the_same(db: Database, segments: int | None) -> None:
    assert keys(db.check(app, segments=segments)) == WANTED


def test_what_it_costs(db: Database) -> None:
    """A page of all 120 items, their guards and owners, the items with findings again, and their guards; and the
    table's description."""
    with db.meter() as meter:
        db.check(app)
    assert (meter.requests, meter.round_trips) == (6, 5)
    assert meter.by_operation["Scan"].requests == 1
    assert meter.write_units == 0


async def test_in_both_shells() -> None:
    async with opened("awaiting", "local") as shell:
        assert isinstance(shell, AsyncDatabase)
        await shell.create(Person(id="a", email="a@example.org", city="Oslo"))
        rounds: list[CheckRound] = []
        assert await shell.check(app, segments=2, progress=rounds.append) == []
        assert (rounds[-1].seen, rounds[-1].found, rounds[-1].part) == (2, 0, "items")


def test_layers_are_checked_with_it() -> None:
    with fresh() as db, db.transaction() as tx:
        tx.add(test_tasks.tasks.after(timedelta(days=1), test_tasks.remind("ada")))
    with fresh() as db:
        with db.transaction() as tx:
            tx.add(test_tasks.tasks.after(timedelta(days=1), test_tasks.remind("ada")))
        test_tasks.dead_without_error(db)
        told = TaskWorker(db, test_tasks.tasks).check()
        assert [finding.code for finding in told] == ["task.no-error"]
        assert [finding.code for finding in db.check(test_tasks.app)] == ["index-key.stale"]
        assert {finding.code for finding in db.check(test_tasks.app, test_tasks.tasks)} == {
            "index-key.stale",
            "task.no-error",
        }


def watch(db: Database, patch: pytest.MonkeyPatch, happens: Callable[[Any], None]) -> None:
    """Call a function before each wave of requests."""
    send_all = db.port.send_all

    async def watched(operations: Any) -> list[Any]:
        happens(operations)
        return await send_all(operations)

    patch.setattr(db.port, "send_all", watched)


def test_a_write_in_between_is_no_finding(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item that is deleted with its guard after its page was read, and one that is mended."""
    with connect(db.target.endpoint.url) as other:

        def write(operations: Any) -> None:
            if type(operations[0]).__name__ == "BatchGetItem":
                other.delete(Person.by_id("p1"))
                edit(other, Person.by_id("p0"), gsi1pk={"S": "city#Oslo"})

        watch(db, monkeypatch, write)
        assert keys(db.check(app)) == WANTED[1:]


def test_from_any_round_on(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("singletable.records.check_passes.PAGE", 7)
    monkeypatch.setattr("singletable.records.check_passes.ItemCheck.page", 7)
    passes, _ = flows.check_passes(app, (), is_sample=False)
    options, rounds = CheckOptions(3), list[CheckRound]()
    db.run(flows.run_check(db.port, passes, options, rounds.append, None, repairs=None))
    assert len(rounds) > 5
    assert keys(finding for made in rounds for finding in made.findings) == WANTED
    for at, made in enumerate(rounds):
        rest: list[CheckRound] = []
        end = db.run(flows.run_check(db.port, passes, options, rest.append, made.state, repairs=None))
        assert [each.findings for each in rest] == [each.findings for each in rounds[at + 1 :]]
        assert end == rounds[-1].state


def test_a_sample_reads_a_part_that_its_seed_decides(db: Database) -> None:
    def sampled(seed: int, part: float = 0.3) -> tuple[list[str], int]:
        rounds: list[CheckRound] = []
        found = db.check(app, sample=part, seed=seed, progress=rounds.append)
        return keys(found), rounds[-1].seen

    assert sampled(1) == sampled(1)
    assert len({tuple(sampled(seed)[0]) for seed in range(5)}) > 1
    found, seen = sampled(1)
    assert 0 < seen < 120
    assert set(found) <= set(WANTED)
    assert sum(sampled(seed)[1] for seed in range(20)) / 20 == pytest.approx(36, rel=0.3)


def test_a_throttled_round_is_read_again(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, left = list[float](), 9

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    def refuse(_: Any) -> None:
        nonlocal left
        left -= 1
        if left > 0 and left % 3:
            raise Throttled("slow down")

    def always(_: Any) -> None:
        raise Throttled("slow down")

    monkeypatch.setattr(db.port, "sleep", sleep)
    with monkeypatch.context() as patch:
        watch(db, patch, refuse)
        assert keys(db.check(app)) == WANTED
    assert waits
    with monkeypatch.context() as patch:
        watch(db, patch, always)
        with pytest.raises(Throttled):
            db.check(app)


def test_a_rate(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal waited
        waited += seconds

    monkeypatch.setattr(db.port, "monotonic", lambda: waited)
    monkeypatch.setattr(db.port, "sleep", sleep)
    with db.meter() as meter:
        db.check(app, rate=Rate(read_units=10))
    assert waited > meter.read_units / 10 * 0.5


@pytest.mark.parametrize("options", [{"segments": 0}, {"segments": 17}, {"sample": 0.0}, {"sample": 1.0}])
def test_what_can_not_be_is_refused(db: Database, options: dict[str, Any]) -> None:
    with db.meter() as meter, pytest.raises(InvalidRequest):
        db.check(app, **options)
    assert meter.requests == 0
