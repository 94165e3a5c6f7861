"""The law of values at the doors that are workers: what a stream's handler, a task, a queue's consumer and a client are
given."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given

from singletable import Database, Table
from singletable.documents import Mutation
from singletable.errors import DeclarationError, InvalidValue
from singletable.flow import SQS
from singletable.queues import Outgoing, Queue, consume, send
from singletable.streams import Changes, ChangeWorker
from singletable.tasks import TaskFunction, Tasks, TaskWorker
from tests.doors.doors import mutator_of
from tests.doors.law import is_same
from tests.doors.sync_door import HELD, PUTS, last_id, pull_of, pulled, push_of, serve
from tests.doors.things import NAMES, Drawn, Thing, assert_same, emptied, few, fifty, stored, things, type_of
from tests.support.emulators import aws_emulator as aws_emulator
from tests.support.engines import fresh
from tests.support.queue_operations import CreateQueue
from tests.sync.server_process import Server

table = Table("tasks-of-things", indexes=["gsi1"])
tasks = Tasks(table, index="gsi1")
received: dict[int, Any] = {}
"""What the tasks were given, by the numbers of the draws."""


def _task(attribute: str) -> TaskFunction[[int, Any]]:
    def keep(number: int, value: Any) -> None:
        received[number] = value

    keep.__name__ = keep.__qualname__ = f"keep_{attribute}"
    keep.__annotations__ = {"number": int, "value": type_of(attribute)}
    return tasks.task(keep)


KEEPERS = {attribute: _task(attribute) for attribute in NAMES}


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(things)
        db.create_table(table)
        yield db


@few
@given(drawn=fifty)
def test_a_handler_is_given_what_was_written(db: Database, drawn: Drawn) -> None:
    emptied(db)
    changes, new = Changes(things), list[Any]()
    worker = ChangeWorker(db, changes)
    changes.on(Thing).inserted(lambda change: new.append(change.new))
    worker.drain(backoff_seconds=0.001)
    new.clear()
    kept = stored(drawn)
    db.write_many(puts=list(kept.values()))
    worker.drain(backoff_seconds=0.001)
    assert_same(new, kept, drawn)


@few
@given(drawn=fifty)
def test_a_task_is_given_its_arguments(db: Database, drawn: Drawn) -> None:
    received.clear()
    expected: dict[int, tuple[str, Any]] = {}
    with db.transaction() as tx:
        for number, (attribute, value) in enumerate(drawn):
            try:
                call = KEEPERS[attribute](number, value)
            except InvalidValue:
                continue
            expected[number] = attribute, value
            tx.add(tasks.after(timedelta(0), call))
    TaskWorker(db, tasks).drain()
    assert_given(received, expected)


@few
@given(drawn=fifty)
def test_a_message_has_the_arguments_of_a_mutation(db: Database, aws_emulator: str, drawn: Drawn) -> None:
    expected: dict[int, tuple[str, Any]] = {}
    messages: list[Outgoing[Mutation]] = []
    for number, (attribute, value) in enumerate(drawn):
        try:
            call = mutator_of(type_of(attribute), attribute)(number=number, value=value)
        except (InvalidValue, DeclarationError):
            continue
        expected[number] = attribute, value
        messages.append(Outgoing(call))
    queue = Queue(db.run(db.port.to(SQS, aws_emulator).send(CreateQueue(f"q-{secrets.token_hex(6)}", {}))), Mutation)
    db.run(send(db.port, queue, messages))
    found: dict[int, Any] = {}

    def handle(message: Any) -> None:
        arguments = mutator_of(type_of(message.body.name), message.body.name).read(message.body.arguments)
        found[arguments["number"]] = arguments["value"]

    db.run(consume(db.port, queue, handle, stop=lambda: len(found) == len(expected), wait_seconds=1, at_once=2))
    assert len(expected) >= len(drawn) // 2, "a door that refuses all keeps the law"
    assert_given(found, expected)


def assert_given(found: dict[int, Any], expected: dict[int, tuple[str, Any]]) -> None:
    assert found.keys() == expected.keys()
    for number, (attribute, value) in expected.items():
        assert is_same(found[number], value, type_of(attribute)), (NAMES[attribute], value, found[number])


@few
@given(drawn=fifty)
def test_a_client_pulls_what_it_pushed(drawn: Drawn) -> None:
    """A server in a process of its own, over HTTP."""
    pushed = [(number, PUTS[name], name, value) for number, (name, value) in enumerate(drawn) if name in PUTS]
    calls: list[tuple[int, str, str]] = []
    expected: dict[str, tuple[str, Any]] = {}
    for number, put, name, value in pushed:
        try:
            arguments = put(id=f"{number}", value=value).arguments
        except InvalidValue:
            continue
        expected[f"{number}"] = name, value
        calls.append((len(calls) + 1, put.name, arguments))
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), serve)
        with server.running():
            found = _synced(server.url, calls)
    assert len(expected) >= len(pushed) // 2, "a door that refuses all keeps the law"
    assert found.keys() == expected.keys()
    for id, (name, value) in expected.items():
        assert is_same(getattr(found[id], name), value, HELD[name]), (NAMES[name], value, found[id])


def _synced(url: str, calls: list[tuple[int, str, str]]) -> dict[str, Any]:
    """The items that a client sees when all that it pushed is confirmed."""
    headers = {"authorization": "ada", "content-type": "application/json"}
    with httpx.Client(base_url=url, params={"project": "p1"}, headers=headers, timeout=30) as http:
        assert http.post("/push", content=push_of(calls)).status_code == 200
        while last_id((answer := http.post("/pull", content=pull_of())).content) < len(calls):
            assert answer.status_code == 200
    return dict(pulled(answer.content))
