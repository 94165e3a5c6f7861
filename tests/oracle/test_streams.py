"""A consumer's check sees each fault that is planted in its otherwise sound state, and nothing else."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import msgspec
import pytest

import singletable.streams.check
from singletable import Database, Entity, Key, Table
from singletable.errors import Corrupt
from singletable.operations.stream import Images, Shard, StreamRecord, pad_sequence_number
from singletable.schema import model_of
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.streams.shard_tree import all_shards
from singletable.streams.state import state_entities
from tests.oracle.planting import assert_command_finds, assert_found, put
from tests.support.engines import fresh

app = Table("oracle-streams", stream="new_and_old")
changes = Changes(app, leases="same")


class Person(Entity, table=app, type="person"):
    id: str

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"


@changes.on(Person).inserted
def seen(change: Inserted[Person]) -> None:
    assert change.new.id


@dataclass(frozen=True)
class Consumed:
    """A consumer that has handled a change."""

    db: Database
    lease: Any
    patch: pytest.MonkeyPatch

    def plant(self, kind: type[Any], /, **attributes: Any) -> None:
        of = {"consumer": self.lease.consumer, "stream": self.lease.stream, "shard": self.lease.shard}
        entity = kind(**{**of, **attributes})
        put(self.db, kind, model_of(kind).item(entity))


state = state_entities(app, "same")


@pytest.fixture
def consumed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Consumed]:
    with fresh() as db:
        db.create(Person(id="a"))
        ChangeWorker(db, changes).drain()
        assert ChangeWorker(db, changes).check() == []
        (lease,) = db.scan(state.lease)
        assert lease.position, "it has a checkpoint"
        yield Consumed(db, lease, monkeypatch)


def child_before_its_parent(consumed: Consumed) -> None:
    """A checkpoint in a shard whose parent is not over: the embedded engine's one shard never closes, so it is told."""

    async def two_shards(port: Any, stream: Any) -> list[Shard]:
        return [*await all_shards(port, stream), Shard("child", consumed.lease.shard)]

    consumed.patch.setattr(singletable.streams.check, "all_shards", two_shards)
    consumed.plant(state.lease, shard="child", position="1", made_at=NOW)


def dead_letter(consumed: Consumed, payload: bytes, number: str = "1") -> None:
    said = {"kind": "person", "event": "INSERT", "error": "x", "tries": 9, "at": NOW}
    consumed.plant(state.dead_letter, sequence=pad_sequence_number(number), part=0, payload=payload, **said)


RECORD = zlib.compress(msgspec.json.encode(StreamRecord("INSERT", Images({"pk": {"S": "person#a"}}, "1"))))
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
PLANTED: dict[str, tuple[list[str], Callable[[Consumed], None]]] = {
    "a lease of a shard that is gone": (["lease.orphan"], lambda c: c.plant(state.lease, shard="gone", made_at=NOW)),
    "a child that was read before its parent's end": (["lease.order"], child_before_its_parent),
    "a try before the checkpoint": (["try.stale"], lambda c: c.plant(state.attempt, sequence="0", tries=1)),
    "a try of no lease": (["try.stale"], lambda c: c.plant(state.attempt, shard="gone", sequence="0", tries=1)),
    "a dead letter": (["change.dead-letter"], lambda c: dead_letter(c, RECORD)),
    "a dead letter that is cut": (["dead-letter.damaged"], lambda c: dead_letter(c, RECORD[:-9])),
    "a dead letter that is not compressed": (["dead-letter.damaged"], lambda c: dead_letter(c, b"{}")),
    "a dead letter without a record": (["dead-letter.damaged"], lambda c: dead_letter(c, zlib.compress(b"{}"))),
    "a dead letter with another's record": (["dead-letter.damaged"], lambda c: dead_letter(c, RECORD, "2")),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(consumed: Consumed, fault: str) -> None:
    wanted, plant = PLANTED[fault]
    plant(consumed)
    assert_found(ChangeWorker(consumed.db, changes).check, wanted)
    assert_command_finds(consumed.db, __name__, wanted)


def test_a_damaged_dead_letter_hides_no_other(consumed: Consumed) -> None:
    worker = ChangeWorker(consumed.db, changes)
    dead_letter(consumed, b"{}", "1")
    dead_letter(consumed, RECORD, "2")
    damaged, _ = worker.dead_letters()
    assert (damaged.type, damaged.error, damaged.tries) == ("person", "x", 9)
    with pytest.raises(Corrupt, match="damaged"):
        worker.retry(damaged)
    assert len(worker.dead_letters()) == 2, "what can't be handled stays"
