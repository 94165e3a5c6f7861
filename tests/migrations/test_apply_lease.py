"""The lease of an apply: one at a time, judged by beats that are seen to change; who lost it writes nothing more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import pytest

from singletable import Database, Table
from singletable.flow.port import Port
from singletable.migrations import ApplyRefused, Migrations
from singletable.migrations.apply_lease import BEAT_SECONDS, LEASE_SECONDS, beat, take
from singletable.migrations.items import ApplyLease, ModelRecord
from singletable.migrations.leased_port import LeasedPort
from singletable.operations import PutItem
from singletable.tables import Provisioned, TableSettings, describe
from singletable.tables.changes import Setting, apply_setting, create_index, drop_index, remove_setting
from tests.migrations.models import OldPerson, Person, new, old, written
from tests.migrations.test_fill import Killed, before_each, is_filled, people, places
from tests.support.engines import again, fresh

WHEN = 1_700_000_000.0


class Pace:
    """A monotonic clock that only sleeping moves; `then` is called at each sleep."""

    def __init__(self, db: Database, patched: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.then: Any = lambda: None
        patched.setattr(db.port, "sleep", self.sleep)
        patched.setattr(db.port, "monotonic", lambda: self.now)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.then()


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh(clock=lambda: WHEN) as made:
        Migrations(made, old).apply()
        made.write_many(puts=places(60))
        for person in people(60):
            made.create(person)
        yield made


@pytest.fixture
def other(db: Database) -> Iterator[Database]:
    with again(db) as made:
        yield made


def stored(db: Database, kind: Any) -> Any:
    """What an apply left in the table."""
    return db.get(kind.only())


def test_a_live_apply_is_not_disturbed(db: Database, other: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clock may be years off: only that its beats change is seen."""
    held, pace, beats = db.run(take(db.port, new, "ada")), Pace(other, monkeypatch), 0

    def work() -> None:
        nonlocal beats
        if pace.now >= (beats + 1) * BEAT_SECONDS:
            beats += 1
            db.run(beat(db.port, new, held, beats, "fill people, 7 items read, 7 written"))

    pace.then = work
    with pytest.raises(ApplyRefused) as refused, other.meter() as meter:
        Migrations(other, new).apply(by="bob")
    assert refused.value.reason == "another apply"
    assert refused.value.what == (
        "ada changes the table since 2023-11-14 22:13:20 UTC; it is at: fill people, 7 items read, 7 written"
    )
    assert pace.now <= 2 * BEAT_SECONDS
    assert (meter.write_units, "UpdateTable" in meter.by_operation) == (beats, False)  # ada's beats
    assert "Scan" not in meter.by_operation  # it met the lease before it read


@pytest.mark.parametrize("beats", [True, False])
def test_whether_another_apply_has_the_table_is_known_before_it_is_read(
    db: Database, other: Database, monkeypatch: pytest.MonkeyPatch, beats: bool
) -> None:
    migrations, pace = Migrations(other, new), Pace(other, monkeypatch)
    with other.meter() as meter:
        migrations.check_free(by="bob")
    assert (meter.requests, meter.read_units, meter.write_units, pace.now) == (1, 1, 0, 0)
    held = db.run(take(db.port, new, "ada"))
    number = iter(range(1, 100))
    pace.then = lambda: db.run(beat(db.port, new, held, next(number), "")) if beats else None
    if beats:
        with pytest.raises(ApplyRefused, match="ada changes the table"):
            migrations.check_free(by="bob")
        return
    migrations.check_free(by="bob")
    assert LEASE_SECONDS <= pace.now <= LEASE_SECONDS + 3
    migrations.apply(by="bob")  # waits for nobody
    assert pace.now <= LEASE_SECONDS + 3


def test_a_missing_table_is_free(other: Database) -> None:
    Migrations(other, Table("missing")).check_free()


def test_a_dead_apply_is_taken_over(db: Database, other: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.run(take(db.port, new, "ada"))
    pace = Pace(other, monkeypatch)
    outcome = Migrations(other, new).apply(by="bob")
    assert LEASE_SECONDS <= pace.now <= LEASE_SECONDS + 3
    assert [done.step.name for done in outcome.done] == ["add index gsi1", "fill people", "record people"]
    assert (stored(db, ModelRecord.of(new)).by, stored(db, ModelRecord.of(new)).fence) == ("bob", 4)


@pytest.mark.parametrize("after", range(1, 12))
def test_an_apply_that_was_taken_over_writes_nothing_more(
    db: Database, other: Database, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """It stands still at some request, another one takes over and ends, and it wakes up."""
    expected = sorted((written(person) for person in db.scan(OldPerson)), key=lambda p: p.id)
    mine, left = Pace(db, monkeypatch), after

    def stand_still(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            with monkeypatch.context() as patched:
                Pace(other, patched)
                Migrations(other, new).apply(by="bob")
            mine.now += LEASE_SECONDS

    with monkeypatch.context() as patched:
        before_each(db, patched, stand_still)
        assert _how_it_ends(db) in ("lease lost", "nothing to do")
    assert left <= 0
    assert stored(db, ModelRecord.of(new)).by == "bob"
    is_filled(other, expected)


@pytest.mark.parametrize("kind", ["UpdateTable", "UpdateAttempt", "TransactWriteItems"])
def test_what_it_sends_all_the_same_changes_nothing(
    db: Database, other: Database, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """It stands still after it checked the lease: the index is there, the item is written, the record is refused."""
    expected = sorted((written(person) for person in db.scan(OldPerson)), key=lambda p: p.id)
    mine, stood = Pace(db, monkeypatch), False

    def stand_still(operation: Any) -> None:
        nonlocal stood
        if kind in (type(operation).__name__, _named(operation)) and not stood:
            stood = True
            with monkeypatch.context() as patched:
                Pace(other, patched)
                Migrations(other, new).apply(by="bob")
            mine.now += LEASE_SECONDS

    with monkeypatch.context() as patched:
        before_each(db, patched, stand_still)
        assert _how_it_ends(db) == "lease lost"
    assert stood
    assert stored(db, ModelRecord.of(new)).by == "bob"
    is_filled(other, expected)


def _named(operation: Any) -> str:
    """A call about a table by its name; a fill's try of a write as the write."""
    return str(getattr(operation, "operation", type(getattr(operation, "write", None)).__name__))


def _how_it_ends(db: Database) -> str:
    try:
        outcome = Migrations(db, new).apply(by="ada")
    except ApplyRefused as refused:
        return refused.reason
    return "something was done" if outcome.done else "nothing to do"


def test_a_released_lease_is_free(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace(db, monkeypatch)
    Migrations(db, new).apply(by="ada")
    lease = stored(db, ApplyLease.of(new))
    assert (lease.owner, lease.by, lease.doing, lease.fence) == ("", "ada", "", 2)
    assert pace.now == 0


def test_an_error_releases_it(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    left = 40

    def fail(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise ValueError("a full disk")

    with monkeypatch.context() as patched:
        before_each(db, patched, fail)
        with pytest.raises(ValueError, match="a full disk"):
            Migrations(db, new).apply()
    assert stored(db, ApplyLease.of(new)).owner == ""


def test_an_index_that_was_begun_is_not_begun_again(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed right after UpdateTable: the next apply waits for the index, and makes no other."""
    Pace(db, monkeypatch)
    begun = False

    def kill(operation: Any) -> None:
        nonlocal begun
        if begun:
            raise Killed
        begun = getattr(operation, "operation", "") == "UpdateTable"

    with monkeypatch.context() as patched:
        before_each(db, patched, kill)
        with pytest.raises(Killed):
            Migrations(db, new).apply()
    found = db.run(describe(db.port, new.definition))
    assert found is not None
    assert "gsi1" in found.indexes
    with db.meter() as meter:
        Migrations(db, new).apply()
    assert "UpdateTable" not in meter.by_operation
    assert len(list(db.scan(Person))) == 60


def test_a_beat_right_before_it_is_taken_keeps_it(
    db: Database, other: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner stood still for long, and wakes up between the last look of another one and its take, which is refused:
    the owner lives."""
    held, pace, beats = db.run(take(db.port, new, "ada")), Pace(other, monkeypatch), 0

    def wake(operation: Any) -> None:
        nonlocal beats
        if isinstance(operation, PutItem):
            beats += 1
            db.run(beat(db.port, new, held, beats, "fill people"))

    with monkeypatch.context() as patched:
        before_each(other, patched, wake)
        with pytest.raises(ApplyRefused, match=r"ada changes the table .* it is at: fill people"):
            Migrations(other, new).apply(by="bob")
    lease = stored(db, ApplyLease.of(new))
    assert (lease.owner, lease.by, lease.beats, beats) == (held.owner, "ada", 1, 1)
    assert LEASE_SECONDS <= pace.now <= LEASE_SECONDS + 3
    db.run(beat(db.port, new, held, beats + 1, "fill people"))


def test_beats_that_change_at_the_last_moment_keep_it(
    db: Database, other: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner is slow, and beats between the last two looks of another one."""
    held, pace = db.run(take(db.port, new, "ada")), Pace(other, monkeypatch)

    def wake() -> None:
        if LEASE_SECONDS <= pace.now < LEASE_SECONDS + 1:
            db.run(beat(db.port, new, held, 1, "fill people"))

    pace.then = wake
    with pytest.raises(ApplyRefused, match="ada changes the table"):
        Migrations(other, new).apply(by="bob")
    assert pace.now >= LEASE_SECONDS
    assert stored(db, ApplyLease.of(new)).owner == held.owner


EVERYTHING = Table(
    "people",
    indexes=["gsi1", "gsi2"],
    stream="keys",
    ttl_attribute="ends",
    deletion_protection=True,
    encryption_key="1234abcd",
    settings=TableSettings(
        tags={"team": "shop"}, point_in_time_recovery=True, billing=Provisioned(1, 1), table_class="standard"
    ),
).definition
CHANGES: dict[str, Callable[[Port], Any]] = {
    **{name: partial(apply_setting, table=EVERYTHING, setting=name, raw={}) for name in get_args(Setting)},
    "no TTL": lambda port: remove_setting(port, EVERYTHING, "TTL", "ends"),
    "no stream": lambda port: remove_setting(port, EVERYTHING, "stream", ""),
    "an index": lambda port: create_index(port, EVERYTHING, "gsi2"),
    "no index": lambda port: drop_index(port, EVERYTHING, "gsi1"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_who_lost_it_changes_no_setting(
    db: Database, other: Database, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Even at once after its last beat, by its own clock: DynamoDB takes no condition with these calls."""
    db.run(create_index(db.port, new.definition, "gsi1"))
    port = LeasedPort(db.port, new, db.run(take(db.port, new, "ada")))
    with monkeypatch.context() as patched:
        Pace(other, patched)
        other.run(take(other.port, new, "bob"))
    sent: list[str] = []
    with monkeypatch.context() as patched:
        Pace(db, patched)
        before_each(db, patched, lambda operation: sent.append(str(getattr(operation, "operation", ""))))
        with pytest.raises(ApplyRefused, match="the lease was lost to bob"):
            db.run(CHANGES[change](port))
    assert [call for call in sent if call and not call.startswith(("Describe", "List"))] == []


def test_a_long_pause_is_no_silence(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an apply waits, as for an index, its lease is renewed as often as otherwise."""
    held, pace = db.run(take(db.port, new, "ada")), Pace(db, monkeypatch)
    port = LeasedPort(db.port, new, held)
    db.run(port.sleep(4 * BEAT_SECONDS))
    assert pace.now == 4 * BEAT_SECONDS
    assert port.tenure.beats >= 4
