"""A request that ends the engine's process: the program goes on, and all that was acknowledged is there.

The request is an expression of 4,096 open parentheses. The library never sends one; another program of the user can.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec
import pytest

from singletable import Database, Entity, Key, Table, attr, connect
from singletable.errors import InvalidRequest, InvalidValue, OutcomeUnknown, Unavailable
from singletable.expressions import Condition
from singletable.flow import DECLARED, Consumed, Request, Response, TableNames
from singletable.wire import RetryPolicy

notes = Table("notes")
DEADLY = "(" * 4096
KEY = {"pk": {"S": "note#deadly"}, "sk": {"S": "note"}}


class Note(Entity, table=notes, type="note"):
    name: str
    count: int = 0
    free: Any = None

    @notes.key
    @staticmethod
    def by_name(name: str) -> Key:
        return f"note#{name}", "note"


class Raw(msgspec.Struct, frozen=True):
    """A request as another program would send it."""

    operation: str
    body: dict[str, Any]
    repeatable: bool

    def request(self, names: TableNames = DECLARED) -> Request:
        return Request(self.operation, msgspec.json.encode(self.body), notes.name, repeatable=self.repeatable)

    def answer(self, response: Response) -> tuple[int, Consumed]:
        return response.status, Consumed()


DELETE = Raw("DeleteItem", {"TableName": "notes", "Key": KEY, "ConditionExpression": DEADLY}, repeatable=False)
SCAN = Raw("Scan", {"TableName": "notes", "FilterExpression": DEADLY}, repeatable=True)


@pytest.fixture(params=["memory", "file"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "local" if request.param == "memory" else f"local:{tmp_path / 'notes.db'}"


@pytest.fixture
def db(target: str) -> Iterator[Database]:
    with connect(target, retry=RetryPolicy(attempts=3)) as made:
        for number in range(20):
            made.create(Note(name=f"{number:02}", count=number))
        yield made


def stored(db: Database) -> list[int]:
    return sorted(note.count for note in db.scan(Note))


@pytest.mark.malformed
def test_a_write_that_ends_it_is_of_unknown_outcome_and_the_data_is_there(db: Database) -> None:
    with pytest.raises(OutcomeUnknown):
        db.run(db.port.send(DELETE))
    assert stored(db) == list(range(20))
    db.create(Note(name="next"))
    assert db.get(Note.by_name("next")) is not None
    assert db.check(notes) == []


@pytest.mark.malformed
def test_a_read_that_ends_it_each_time_says_so(db: Database) -> None:
    """It is repeated as every read is, and ends the engine again."""
    with pytest.raises(Unavailable):
        db.run(db.port.send(SCAN))
    assert stored(db) == list(range(20))


@pytest.mark.malformed
def test_other_programs_on_the_file_go_on(tmp_path: Path) -> None:
    target = f"local:{tmp_path / 'notes.db'}"
    with connect(target) as one, connect(target) as other:
        other.create(Note(name="other"))
        for round_ in range(3):
            with pytest.raises(OutcomeUnknown):
                one.run(one.port.send(DELETE))
            assert other.update(Note.by_name("other"), attr(Note.count).set(round_)).count == round_
    with connect(target) as again:
        assert stored(again) == [2]


def nested(depth: int) -> Any:
    value: Any = "innermost"
    for _ in range(depth):
        value = [value]
    return value


def test_the_library_sends_nothing_that_is_nested_deeper_than_aws_takes(db: Database) -> None:
    too_deep: Condition = reduce(lambda inner, _: ~inner, range(4000), attr(Note.count) == 1)
    with db.meter() as meter:
        for value in (nested(32), nested(100_000)):
            with pytest.raises(InvalidValue, match="32 levels"):
                db.create(Note(name="deep", free=value))
        with pytest.raises(InvalidRequest, match="operators"):
            db.put(Note(name="00"), where=too_deep)
    assert meter.requests == 0
    assert stored(db) == list(range(20))


def test_what_is_nested_as_deep_as_aws_takes_leaves_the_engine_running(db: Database) -> None:
    deepest: Condition = reduce(lambda inner, _: ~inner, range(290), attr(Note.count) == 1)
    db.create(Note(name="deep", free=nested(31)))
    db.update(Note.by_name("01"), attr(Note.free).set("changed"), where=deepest)
    assert db.get(Note.by_name("deep")) == Note(name="deep", free=nested(31))
    changed = db.get(Note.by_name("01"))
    assert changed is not None
    assert changed.free == "changed"
