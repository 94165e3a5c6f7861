"""Views: a stream whose records lack the images that handlers need is refused, before anything is passed over."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Database, Table, attr
from singletable.errors import NotConfigured
from singletable.streams import Changes, ChangeWorker
from singletable.streams.tail import Tail, TailedChange
from singletable.tables import StreamView
from singletable.tables.definition import STREAM_VIEWS as VIEWS
from tests.streams.models import Note, Seen, Ticket, noted
from tests.support.engines import fresh

EVENTS = ("INSERT", "MODIFY", "REMOVE")
IMAGE = {"pk": {"S": "note#n1"}, "sk": {"S": "note"}, "_type": {"S": "note"}, "_v": {"N": "1"}, "id": {"S": "n1"}}
OTHER = {**IMAGE, "text": {"S": "other"}}


def event(view: str, *names: str, says_view: bool = True) -> dict[str, Any]:
    """A batch as AWS Lambda passes it, of a stream of this view."""
    records: list[Any] = []
    for number, name in enumerate(names, 1):
        has = {"Keys": {"pk": IMAGE["pk"], "sk": IMAGE["sk"]}, "SequenceNumber": str(number)}
        if says_view:
            has["StreamViewType"] = view
        if view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES") and name != "REMOVE":
            has["NewImage"] = OTHER if name == "MODIFY" else IMAGE
        if view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES") and name != "INSERT":
            has["OldImage"] = IMAGE
        records.append({"eventName": name, "dynamodb": {**has, "ApproximateCreationDateTime": 1479499740.0}})
    return {"Records": records}


def handlers(what: str) -> tuple[Changes, Seen]:
    changes, seen = Changes(noted), Seen()
    getattr(changes.on(Note), what)(seen)
    return changes, seen


@pytest.mark.parametrize("says_view", [True, False])
@pytest.mark.parametrize("what", ["inserted", "modified", "removed"])
@pytest.mark.parametrize("view", VIEWS.values())
def test_a_batch_without_the_images_that_a_handler_needs_is_refused(
    engine: Database, view: str, what: str, says_view: bool
) -> None:
    """No batch succeeds whose changes a handler would have had to see."""
    changes, seen = handlers(what)
    handle = ChangeWorker(engine, changes).lambda_handler()
    wanted = {"inserted": ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")}.get(what, ("NEW_AND_OLD_IMAGES",))
    batch = event(view, *EVENTS, says_view=says_view)
    if view in wanted:
        assert handle(batch, None) == {"batchItemFailures": []}
        assert len(seen.changes) == 1
        return
    with pytest.raises(NotConfigured) as refused:
        handle(batch, None)
    said = str(refused.value)
    assert f"handlers of {what} note items need {wanted[0]}" in said
    assert f"records hold {view}" in said or not says_view  # else it is the greatest that such images can be of
    assert 'stream="new_and_old"' in said
    assert "singletable plan" in said
    assert refused.value.table == "noted"
    assert seen.changes == []


@pytest.mark.parametrize("what", ["modified", "removed", "expired"])
def test_the_view_counts_where_this_batch_would_do(engine: Database, what: str) -> None:
    """Of a stream of new images an insertion is whole; the first modification would not be."""
    changes = Changes(noted)
    getattr(changes.on(Ticket), what)(Seen())
    with pytest.raises(NotConfigured, match="NEW_IMAGE"):
        ChangeWorker(engine, changes).lambda_handler()(event("NEW_IMAGE", "INSERT"), None)


@pytest.mark.parametrize("view", VIEWS.values())
def test_without_handlers_no_view_is_refused(engine: Database, view: str) -> None:
    handle = ChangeWorker(engine, Changes(noted)).lambda_handler()
    assert handle(event(view, *EVENTS), None) == {"batchItemFailures": []}


# --- a table that was made otherwise than it is declared --------------------------------------------------------------
def made_with(view: StreamView) -> Database:
    """A database whose table has a stream of this view; `noted` declares both images."""
    db = fresh()
    db.create_table(Table("noted", indexes=["gsi1"], stream=view))
    return db


@pytest.mark.parametrize(("view", "what"), [("keys", "inserted"), ("new", "modified"), ("old", "removed")])
def test_a_worker_refuses_before_it_takes_a_lease(view: StreamView, what: str) -> None:
    changes, seen = handlers(what)
    with made_with(view) as db:
        db.create(Note(id="a"))
        with pytest.raises(NotConfigured, match=VIEWS[view]):
            ChangeWorker(db, changes).drain()
        assert db.describe_table(changes.leases) is None
    assert seen.changes == []


def test_a_worker_reads_what_its_handlers_need_and_no_more() -> None:
    changes, seen = handlers("inserted")
    with made_with("new") as db:
        db.create(Note(id="a"))
        db.update(Note.by_id("a"), attr(Note.text).set("other"))
        db.delete(Note.by_id("a"))
        ChangeWorker(db, changes).drain()
    assert seen.told == ["Inserted note a"]


@pytest.mark.parametrize("view", ["keys", "new", "old"])
def test_a_tail_says_what_its_records_lack(view: StreamView) -> None:
    with made_with(view) as db:
        db.create(Note(id="a"))
        db.update(Note.by_id("a"), attr(Note.text).set("other"))
        db.delete(Note.by_id("a"))
        seen = [each for each in db.run(Tail(db.port, noted, "horizon").read()) if isinstance(each, TailedChange)]
    assert [each.what for each in seen] == list(EVENTS)
    assert all(each.change is None and VIEWS[view] in each.error for each in seen)
