"""The images of a record: looked at once for the events of it, and compared attribute by attribute."""

from __future__ import annotations

import json
from typing import Any

import pytest

from singletable import Entity, Key, Table, field
from singletable.operations import StreamRecord, read_records
from singletable.schema.models import model_of
from singletable.streams import Changes
from singletable.streams.router import Handler, RecordEvents, Router
from tests.streams.models import Note, Seen, noted
from tests.support.shells import Shell
from tests.support.workers import change_worker

WRITE_ID = noted.definition.write_id_attribute


async def test_a_record_is_looked_at_once_for_its_events(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, looked, changes, events_of = Seen(), list[str](), Changes(noted), Router.events_of
    changes.on(Note).inserted(seen)

    def noting(router: Router, record: StreamRecord) -> RecordEvents:
        looked.append(record.sequence)
        return events_of(router, record)

    monkeypatch.setattr(Router, "events_of", noting)
    await shell.write_many(puts=[Note(id=f"n{number}") for number in range(101)])
    await change_worker(shell, changes).drain()
    assert len(seen.told) == 101
    assert len(looked) == len(set(looked)) == 101


async def test_an_attribute_of_a_foreign_table_is_a_change_under_any_name(shell: Shell) -> None:
    theirs = Table("theirs", stream="new_and_old", foreign=True, own_items=Table("theirs-own"))

    class Visit(Entity, table=theirs, type="visit"):
        id: str
        trace: str | None = field(name="_trace", default=None)

        @theirs.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"visit#{id}", "visit"

    seen, changes = Seen(), Changes(theirs)
    changes.on(Visit).modified(seen)
    for text in ("1", "2", "3", None):
        write = shell.upsert if text == "3" else shell.put
        await write(Visit(id="1", trace=text))
        assert await shell.get(Visit.by_id("1")) == Visit(id="1", trace=text)
    await change_worker(shell, changes).drain()
    assert [change.new.trace for change in seen.changes] == ["2", "3", None]


async def test_an_attribute_more_or_less_is_a_change(shell: Shell) -> None:
    seen, changes = Seen(), Changes(noted)
    changes.on(Note).modified(seen)
    await shell.put(Note(id="n1"))
    await shell.put(Note(id="n1", tags={"a"}))
    await shell.put(Note(id="n1"))
    await change_worker(shell, changes).drain()
    assert [(change.old.tags, change.new.tags) for change in seen.changes] == [(set(), {"a"}), ({"a"}, set())]


def modified(old: Any, new: Any) -> list[str]:
    """The handlers that a record with these attributes calls, over those of a note."""
    router = Router(noted)
    router.add(Handler("note", "modified", print))
    images = {"OldImage": image_of(old), "NewImage": image_of(new)}
    common: dict[str, Any] = {"Keys": {}, "SequenceNumber": "1", "StreamViewType": "NEW_AND_OLD_IMAGES"}
    record: dict[str, Any] = {"eventName": "MODIFY", "dynamodb": {**common, **images, "ApproximateCreationDateTime": 1}}
    read = next(iter(read_records(json.dumps([record]).encode())))
    return [handler.what for handler, _ in router.calls(read, router.events_of(read))]


def image_of(attributes: Any) -> Any:
    model = model_of(Note)
    return {**model.item(Note(id="n1")), **attributes}


@pytest.mark.parametrize(
    ("old", "new", "calls"),
    [
        ({"tags": {"SS": ["a", "b"]}}, {"tags": {"SS": ["b", "a"]}}, []),
        ({"x": {"M": {"a": {"N": "1"}, "b": {"N": "2"}}}}, {"x": {"M": {"b": {"N": "2"}, "a": {"N": "1"}}}}, []),
        ({"x": {"L": [{"N": "1"}, {"N": "2"}]}}, {"x": {"L": [{"N": "2"}, {"N": "1"}]}}, ["modified"]),
        ({"x": {"S": "1"}}, {"x": {"N": "1"}}, ["modified"]),
        ({"x": {"S": "1"}}, {}, ["modified"]),
        ({}, {"x": {"S": "1"}}, ["modified"]),
        ({}, {}, []),
        ({WRITE_ID: {"S": "1"}}, {WRITE_ID: {"S": "2"}}, []),
        ({WRITE_ID: {"S": "1"}}, {}, []),
        ({"_trace": {"S": "1"}}, {"_trace": {"S": "2"}}, []),
    ],
)
def test_another_order_of_what_has_none_is_no_change(old: Any, new: Any, calls: list[str]) -> None:
    assert modified(old, new) == calls
