"""A program that meets an item of the library in a newer form: it stands back, and writes nothing over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from singletable.errors import Newer, NotUnique
from singletable.exchange import Imports
from singletable.foundation import Model, model_for
from singletable.migrations.items import ApplyLease
from singletable.operations import PutItem
from tests.docs.stored_samples import own_models
from tests.previous import program
from tests.previous.program import Steps, Stopped, User, app, people, stop, tasks
from tests.support.raw import all_items

pytestmark = pytest.mark.embedded("a program opens one file")
Step = Callable[[Steps], Any]
PAST = datetime(2026, 1, 1, tzinfo=timezone.utc)


def _nothing(steps: Steps) -> None:
    """All are there already."""


def _lane(steps: Steps) -> None:
    _put(steps, tasks.entities.lane(order="a", turn="other", fence=1, until=PAST))


def _apply_lease(steps: Steps) -> None:
    _put(steps, ApplyLease.of(people)(fence=1))


def _export_and_import(steps: Steps) -> None:
    steps.end_export("whole")
    _import(steps)


def _import(steps: Steps) -> None:
    try:
        Imports(steps.db, people).run(str(steps.folder / "whole"), progress=stop)
    except Stopped:
        return
    raise AssertionError("the import has ended")


def _put(steps: Steps, entity: Any) -> None:
    model = model_for(entity)
    steps.db.run(steps.db.port.send(PutItem(model.table.name, model.item(entity))))


def _board(steps: Steps) -> list[Any]:
    return steps.change_board("a")


STANDS_BACK: dict[str, tuple[Step, Step]] = {
    "_turn": (_nothing, Steps.work),
    "_lane": (_lane, Steps.work),
    "_consumer": (_nothing, Steps.handle),
    "_lease": (_nothing, Steps.handle),
    "_aside": (_nothing, Steps.retry_changes),
    "BoardVersion": (_nothing, _board),
    "BoardShapes": (_nothing, _board),
    "BoardMutation": (_nothing, _board),
    "BoardClient": (_nothing, _board),
    "BoardInbox": (_nothing, _board),
    "BoardTag": (_nothing, _board),
    "BoardBranch": (_nothing, _board),
    "BoardGcEpoch": (lambda steps: steps.documents.collect_garbage("a"), _board),
    "Board": (_nothing, lambda steps: steps.documents.page("o1")),
    "_migration": (_nothing, Steps.end_fill),
    "_model": (Steps.apply, Steps.apply),
    "_apply": (_apply_lease, Steps.apply),
    "_transfer": (_export_and_import, _import),
}


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Steps]:
    """A program that has begun everything."""
    program.done.clear()
    made = Steps(str(tmp_path / "data.db"), tmp_path)
    made.write_user("a")
    made.write_board("a")
    made.schedule("a")
    made.handle()
    made.write_user("b")
    made.fail_changes()
    made.write_people()
    made.begin_fill()
    yield made
    made.db.close()


def _items(steps: Steps, type_name: str) -> list[tuple[str, dict[str, Any]]]:
    """The items of a type, each with its table."""
    tables = (app.name, people.name)
    items = [(table, dict(item)) for table in tables for item in steps.db.run(all_items(steps.db.port, table))]
    return [(table, item) for table, item in items if item.get("_type") == {"S": type_name}]


def _made_newer(steps: Steps, type_name: str) -> list[tuple[str, dict[str, Any]]]:
    """The items of a type, which are now as a newer library wrote them."""
    newer = [(table, {**item, "_v": {"N": "2"}, "new": {"S": "x"}}) for table, item in _items(steps, type_name)]
    assert newer
    steps.db.run(steps.db.port.send_all([PutItem(table, item) for table, item in newer]))
    return newer


@pytest.mark.parametrize("type_name", STANDS_BACK)
def test_a_newer_item_of_the_librarys_own_stays(steps: Steps, type_name: str) -> None:
    begin, meet = STANDS_BACK[type_name]
    begin(steps)
    newer = _made_newer(steps, type_name)
    with pytest.raises(Newer, match="has schema version 2; this program knows version 1"):
        meet(steps)
    stored = _items(steps, type_name)  # with the new ones of what was done before it was met
    assert [each for each in newer if each not in stored] == []


def test_a_newer_guard_holds_its_value(steps: Steps) -> None:
    newer = _made_newer(steps, "_unique")
    with pytest.raises(NotUnique):
        steps.db.create(User(id="other", email="a@example.org"))
    assert _items(steps, "_unique") == newer
    steps.db.delete(User.by_id("a"))  # what has the value gives it up
    assert [item["owner"] for _, item in _items(steps, "_unique")] == [{"S": "user#b"}]


def test_a_newer_task_waits_for_a_newer_worker(steps: Steps) -> None:
    with steps.db.transaction() as tx:
        for key in ("a-1", "a-2", "a-later"):
            tx.add(tasks.cancel(key))
    newer = _made_newer(steps, "_task")
    assert steps.work() == []
    assert _items(steps, "_task") == newer


@pytest.mark.parametrize("model", [*own_models()], ids=lambda model: model.type)
def test_each_class_refuses_what_is_newer(model: Model[Any]) -> None:
    item = {"_type": {"S": model.type}, "_v": {"N": str(model.version + 1)}}
    with pytest.raises(Newer, match=f"version {model.version + 1}; this program knows version {model.version}"):
        model.load(item)
