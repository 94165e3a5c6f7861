"""What is refused when handlers are declared, or a worker is begun."""

from __future__ import annotations

import functools
import itertools
import threading  # noqa: TID251
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from singletable import Database, Entity, Key, Table, connect
from singletable.errors import DeclarationError, InvalidRequest, NotConfigured
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.tables.definition import STREAM_VIEWS
from tests.streams.models import Note, Seen, Ticket, noted
from tests.support.engines import again, fresh

NUMBERS = itertools.count()


def table_with(view: Any) -> tuple[Table, Any]:
    table = Table("views", stream=view)

    class Thing(Entity, table=table, type="thing"):
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"thing#{id}", "thing"

    return table, Thing


def test_a_table_without_a_stream_is_refused() -> None:
    with pytest.raises(DeclarationError, match='stream="new_and_old"'):
        Changes(table_with(None)[0])


@pytest.mark.parametrize("view", ["keys", "old"])
def test_new_items_need_new_images(view: Literal["keys", "old"]) -> None:
    table, thing = table_with(view)
    with pytest.raises(DeclarationError, match=f"{STREAM_VIEWS[view]}.*inserted thing items"):
        Changes(table).on(thing).inserted(Seen())


@pytest.mark.parametrize("what", ["modified", "removed", "expired"])
def test_what_was_needs_both_images(what: str) -> None:
    table, thing = table_with("new")
    changes = Changes(table)
    changes.on(thing).inserted(Seen())
    with pytest.raises(DeclarationError, match=f"NEW_IMAGE, and handlers of {what} thing items"):
        getattr(changes.on(thing), what)(Seen())


def test_a_class_of_another_table_is_refused() -> None:
    table, _ = table_with("new_and_old")
    with pytest.raises(DeclarationError, match="Note lies in table noted"):
        Changes(table).on(Note)


def test_only_whole_attributes_can_be_waited_for() -> None:
    on = Changes(noted).on(Note)
    attribute: Any = Note.text
    for wrong in ((attribute, attribute.inner), (attribute, "text"), ("text",)):
        with pytest.raises(DeclarationError, match="whole attributes of Note"):
            on.modified(*wrong)


def test_only_what_can_expire_is_waited_for() -> None:
    changes = Changes(noted)
    changes.on(Ticket).expired(Seen())
    with pytest.raises(DeclarationError, match=r"Note has no attribute that says when.*expires=True"):
        changes.on(Note).expired(Seen())


def test_only_a_table_has_changes() -> None:
    name: Any = "bikes"
    with pytest.raises(DeclarationError, match=r"takes a Table.*str"):
        Changes(name)


@pytest.mark.parametrize("wrong", [{"tries": 0}, {"lease_seconds": 0}, {"backoff_seconds": -1}, {"poll_seconds": 0}])
def test_a_poll_interval_that_cannot_be_kept_is_refused(engine: Database, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="at least one try"):
        ChangeWorker(engine, Changes(noted)).run(**wrong)


def test_a_worker_that_nothing_could_stop_is_refused(engine: Database) -> None:
    errors: list[Exception] = []

    def run() -> None:
        try:
            ChangeWorker(engine, Changes(noted)).run()
        except InvalidRequest as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "stop=" in str(errors[0])


@pytest.mark.parametrize("function", [Seen().later, functools.partial(Seen().later)])
def test_async_handlers_need_an_awaiting_database(engine: Database, function: Any) -> None:
    """Each way to run them refuses them before it begins: nothing is tried, and nothing becomes a dead letter."""
    changes, seen = Changes(noted, name="async-handlers"), Seen()
    changes.on(Note).inserted(seen)
    event: Any = {"Records": []}
    worker, (dead_letter,) = ChangeWorker(engine, changes), a_dead_letter(engine)
    handle = worker.lambda_handler()
    changes.on(Note).modified(function)
    for begin in (
        worker.drain,
        lambda: worker.run(stop=lambda: True, signals=False),
        worker.lambda_handler,
        lambda: handle(event, None),
        lambda: worker.retry(dead_letter),
    ):
        with pytest.raises(InvalidRequest, match=r"of modified note items is an async function.*connect_async"):
            begin()
    assert worker.dead_letters() == []


def a_dead_letter(engine: Database) -> list[Any]:
    changes = Changes(noted, name=f"set-aside-{next(NUMBERS)}")

    @changes.on(Note).inserted
    def fail(change: Inserted[Note]) -> None:
        raise ValueError("never")

    engine.put(Note(id="set-aside"))
    ChangeWorker(engine, changes).drain(tries=1)
    return ChangeWorker(engine, changes).dead_letters()[-1:]


def test_an_async_handler_of_gaps_needs_an_awaiting_database(engine: Database) -> None:
    changes = Changes(noted)
    changes.on_gap(Seen().later)
    with pytest.raises(InvalidRequest, match="the handler later of gaps is an async function"):
        ChangeWorker(engine, changes).drain()


@pytest.mark.embedded("it is refused for what it is")
def test_an_embedded_engine_without_its_file_is_refused() -> None:
    """Before the table of its leases is asked for."""
    changes = Changes(noted)
    with fresh() as engine, connect(engine.target.endpoint.url, environ={}) as db:
        db.create_table(noted)
        with pytest.raises(NotConfigured, match='connect\\("local:'):
            ChangeWorker(db, changes).drain()


def test_a_missing_table_of_leases_is_named() -> None:
    changes = Changes(noted)
    with fresh() as db:
        db.create_table(noted)
        db.port.traits = replace(db.port.traits, creates_tables=False)  # as at an address, and on AWS
        worker = ChangeWorker(db, changes)
        (whole,) = changes.checks().passes
        assert (db.check(noted, changes), worker.check(), db.run(whole.end(db.port, {}))) == ([], [], [])
        assert whole.note == "changes of changes: no worker has run, as the table noted-leases is missing"
        for use in (worker.drain, worker.dead_letters):
            with pytest.raises(NotConfigured, match=r"noted-leases.*db\.create_table\(changes\.leases\)"):
                use()
        db.create_table(changes.leases)
        worker.drain()
        assert worker.check() == []


def test_a_table_whose_stream_is_off_is_refused(engine: Database) -> None:
    plain, _ = table_with(None)
    streaming, thing = table_with("new_and_old")
    changes = Changes(streaming)
    changes.on(thing).inserted(Seen())
    engine.create_table(plain)
    with again(engine) as db:
        db.port.traits = replace(db.port.traits, creates_tables=False)  # as at an address, and on AWS
        with pytest.raises(NotConfigured, match="no stream"):
            ChangeWorker(db, changes).drain()
