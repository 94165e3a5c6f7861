"""What handlers are told of what happens to items, on the engine, in both shells."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from singletable import attr
from singletable.operations import DeleteItem, RawCondition
from singletable.operations.answers import RAW
from singletable.streams import Changes, Expired, Inserted, Modified, Removed
from tests.streams.models import Account, Draft, Note, Paper, Parcel, Seen, Ticket, noted, shared
from tests.support.raw import put_raw
from tests.support.shells import Shell
from tests.support.workers import change_worker

NOW = datetime.now(timezone.utc)
LATER, BEFORE = NOW + timedelta(hours=1), NOW - timedelta(hours=1)


def watching(changes: Changes) -> Seen:
    """Handlers for everything of every class."""
    seen = Seen()
    for kind in (Note, Ticket, Account):
        on = changes.on(kind)
        for what in (on.inserted, on.modified, on.removed):
            what(seen)
    changes.on(Ticket).expired(seen)
    return seen


@pytest.fixture
def changes() -> Changes:
    return Changes(noted)


async def drain(changes: Changes, shell: Shell) -> None:
    await change_worker(shell, changes).drain(backoff_seconds=0.001)


async def test_each_event_brings_what_was_and_what_is(shell: Shell, changes: Changes) -> None:
    seen = watching(changes)
    note, began = Note(id="n1", text="one", tags={"a", "b"}), datetime.now(timezone.utc)
    await shell.create(note)
    await shell.update(Note.by_id("n1"), attr(Note.text).set("two"))
    await shell.delete(Note.by_id("n1"))
    await drain(changes, shell)
    inserted, modified, removed = seen.changes
    assert (type(inserted), inserted.new, inserted.event) == (Inserted, note, "INSERT")
    assert (type(modified), modified.old, modified.new.text, modified.event) == (Modified, note, "two", "MODIFY")
    assert (type(removed), removed.old, removed.event) == (Removed, modified.new, "REMOVE")
    assert inserted.sequence < modified.sequence < removed.sequence
    assert await shell.get(modified.key) is None
    assert began - timedelta(seconds=1) <= inserted.time <= datetime.now(timezone.utc)  # whole seconds


async def test_a_write_that_changes_nothing_is_no_change(shell: Shell, changes: Changes) -> None:
    seen = watching(changes)
    await shell.put(Note(id="n1", tags={"a", "b", "c"}))
    await shell.put(Note(id="n1", tags={"c", "b", "a"}))
    await shell.update(Note.by_id("n1"), attr(Note.text).set(""))
    await drain(changes, shell)
    assert seen.told == ["Inserted note n1"]


async def test_a_handler_of_an_attribute_hears_of_that_alone(shell: Shell, changes: Changes) -> None:
    seen, either = Seen(), Seen()
    changes.on(Note).modified(Note.text)(seen)
    changes.on(Note).modified(Note.text, Note.count)(either)
    await shell.put(Note(id="n1", text="one"))
    await shell.put(Note(id="n1", text="one", count=1))
    await shell.put(Note(id="n1", text="two", count=1))
    await shell.put(Note(id="n1", text="two", count=1, tags={"x"}))
    await drain(changes, shell)
    assert [(c.old.text, c.new.text) for c in seen.changes] == [("one", "two")]
    assert len(either.changes) == 2


async def test_handlers_run_in_the_order_of_their_declaration(shell: Shell, changes: Changes) -> None:
    order: list[str] = []
    for name in ("first", "second", "third"):

        def handler(change: Inserted[Note], name: str = name) -> None:
            order.append(name)

        changes.on(Note).inserted(handler)
    await shell.create(Note(id="n1"))
    await drain(changes, shell)
    assert order == ["first", "second", "third"]


async def test_what_is_deleted_after_its_time_has_expired(shell: Shell, changes: Changes) -> None:
    seen = watching(changes)
    await put_expired(shell, "t1")
    await shell.run(remove_raw(shell, "t1"))
    await shell.put(Ticket(id="t2", ends=LATER))
    await shell.delete(Ticket.by_id("t2"))
    await drain(changes, shell)
    assert [told for told in seen.told if "t1" in told] == ["Inserted ticket t1", "Expired ticket t1"]
    assert [told for told in seen.told if "t2" in told] == ["Inserted ticket t2", "Removed ticket t2"]


async def test_an_expired_item_that_is_overwritten_expires_and_is_inserted(shell: Shell, changes: Changes) -> None:
    seen = watching(changes)
    await put_expired(shell, "t1")
    await shell.create(Ticket(id="t1", owner="next", ends=LATER))
    await drain(changes, shell)
    expired, inserted = seen.changes[1:]
    assert (type(expired), expired.old.owner, type(inserted), inserted.new.owner) == (
        Expired,
        "first",
        Inserted,
        "next",
    )
    assert expired.event == inserted.event == "MODIFY"


async def test_an_item_that_changes_its_type_is_removed_and_inserted(shell: Shell) -> None:
    changes, seen = Changes(shared), Seen()
    for kind in (Draft, Paper):
        on = changes.on(kind)
        for what in (on.inserted, on.modified, on.removed):
            what(seen)
    await shell.create(Draft(id="n1"))
    await shell.run(put_raw(shell.port, Paper, item_of(Paper(id="n1"))))
    await drain(changes, shell)
    assert seen.told == ["Inserted draft n1", "Removed draft n1", "Inserted paper n1"]


async def test_an_item_under_another_key_reaches_no_handler(shell: Shell, changes: Changes) -> None:
    """What a handler would write of it would be a second item."""
    seen = watching(changes)
    await shell.run(put_raw(shell.port, Note, {**item_of(Note(id="n1")), **key_of_note("n2")}))
    await shell.create(Note(id="n3"))
    await drain(changes, shell)
    assert seen.told == ["Inserted note n3"]
    (aside,) = await change_worker(shell, changes).dead_letters()
    assert "has another pk" in aside.error


async def test_unhandled_records_are_counted_by_type(shell: Shell, changes: Changes) -> None:
    changes.on(Note).inserted(Seen())
    await shell.create(Note(id="n1"))
    await shell.update(Note.by_id("n1"), attr(Note.count).set(1))
    await shell.put(Ticket(id="t1", ends=LATER))
    await shell.run(put_raw(shell.port, Note, {**key_of_note("n9"), "_type": {"S": "stranger"}}))
    await shell.run(put_raw(shell.port, Note, key_of_note("n10")))
    await drain(changes, shell)
    assert changes.unknown == {"note#MODIFY": 1, "ticket#INSERT": 1, "stranger#INSERT": 1, "#INSERT": 1}


async def test_the_librarys_own_items_reach_no_handler(shell: Shell, changes: Changes) -> None:
    seen = watching(changes)
    await shell.create(Account(id="a1", email="a@x"))
    await shell.update(Account.by_id("a1"), attr(Account.email).set("b@x"))
    await shell.delete(Account.by_id("a1"))
    await drain(changes, shell)
    assert seen.told == ["Inserted account a1", "Modified account a1", "Removed account a1"]
    assert changes.unknown == {}


async def test_an_older_schema_version_arrives_as_the_current_one(shell: Shell, changes: Changes) -> None:
    seen = Seen()
    changes.on(Parcel).inserted(seen)
    old = {**item_of(Parcel(id="p1", grams=0)), "_v": {"N": "1"}, "kilograms": {"N": "2"}}
    await shell.run(put_raw(shell.port, Parcel, old))
    await drain(changes, shell)
    assert seen.changes[0].new == Parcel(id="p1", grams=2000)


async def test_methods_and_async_functions_are_handlers_too(kind: str, shell: Shell, changes: Changes) -> None:
    seen = Seen()
    changes.on(Note).inserted(seen.later if kind == "awaiting" else seen.at_once)
    changes.on(Note).inserted(seen)
    await shell.create(Note(id="n1"))
    await drain(changes, shell)
    assert seen.told == ["Inserted note n1"] * 2


async def put_expired(shell: Shell, id: str) -> None:
    await shell.run(put_raw(shell.port, Ticket, item_of(Ticket(id=id, owner="first", ends=BEFORE))))


async def remove_raw(shell: Shell, id: str) -> None:
    model: Any = Ticket.__model__
    await shell.port.send(DeleteItem(noted.name, model.key_item(Ticket.by_id(id)), RawCondition(), RAW))


def item_of(entity: Any) -> dict[str, Any]:
    item: dict[str, Any] = type(entity).__model__.item(entity)
    return item


def key_of_note(id: str) -> dict[str, Any]:
    return {"pk": {"S": f"note#{id}"}, "sk": {"S": "note"}}
