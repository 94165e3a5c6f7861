"""The scanner of `pytest --scan-output`: it finds what is planted, and nothing in a sample of the suites."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from singletable.errors import Corrupt, ShownKey
from singletable.events import MessageFailed, ShardOpened
from singletable.migrations import Counted, ModelDifference, PlanRefused
from tests.support import output_scan
from tests.support.output_scan import OutputScan
from tools.distributions import ROOT

SAMPLE = (
    *("tests/engine/test_get.py", "tests/engine/test_listeners.py"),
    *("tests/graph/test_link.py", "tests/graph/test_deletion.py", "tests/queues", "tests/holds/test_workers.py"),
    *("tests/documents/test_mutations.py", "tests/documents/test_two_versions.py"),
    *("tests/streams/test_events.py", "tests/streams/test_worker.py", "tests/streams/test_lambda.py"),
    *("tests/tasks/test_tasks.py", "tests/tasks/test_workers.py", "tests/sync/test_processors.py"),
    *("tests/e2e/cli/test_reading.py", "tests/e2e/cli/test_work.py", "tests/e2e/cli/test_erase.py"),
    *("tests/migrations/test_conversions.py", "tests/erasure/test_personal.py", "tests/hygiene/test_hygiene.py"),
)
"""A part of each layer, with what goes wrong in it. Its tests plant no application's error into the library's words."""
SECRET = "canary-of-an-item"
PUT = {"TableName": "orders", "Item": {"pk": {"S": f"order#{SECRET}"}, "n": {"N": "918273645"}, "m": {"M": {}}}}


def scan_of(body: dict[str, Any]) -> OutputScan:
    scan = OutputScan()
    scan.note_request(json.dumps(body).encode())
    return scan


@pytest.mark.parametrize(
    "body",
    [
        PUT,
        {"TableName": "orders", "Key": {"pk": {"S": f"order#{SECRET}"}}},
        {"RequestItems": {"orders": [{"PutRequest": {"Item": {"a": {"L": [{"M": {"b": {"SS": [SECRET]}}}]}}}}]}},
        {"TransactItems": [{"Update": {"TableName": "orders", "ExpressionAttributeValues": {":v": {"S": SECRET}}}}]},
    ],
)
def test_a_value_or_a_key_in_an_event_is_a_leak(body: dict[str, Any]) -> None:
    scan = scan_of(body)
    scan.hear(ShardOpened(consumer="search", shard="shard-1"))
    assert scan.leaks() == []
    scan.hear(ShardOpened(consumer="search", shard=f"shard of ({SECRET})"))
    assert any(leak.startswith("ShardOpened: ") and SECRET in leak for leak in scan.leaks())


def test_a_text_of_several_words_is_found() -> None:
    scan = scan_of({"Item": {"b": {"S": "Ada, of 12 Long Street"}}})
    scan.hear(ShardOpened(consumer="search", shard="for Ada, of 12 Long Street now"))
    assert [leak.partition(": ")[0] for leak in scan.leaks()] == ["ShardOpened"]


@pytest.mark.parametrize("place", ["what", "hint", "attribute", "table"])
def test_a_value_in_an_error_is_a_leak(place: str) -> None:
    scan = scan_of(PUT)
    words: dict[str, str] = {"what": "an item can't be read", place: f"about {SECRET}"}
    scan.errors.append(Corrupt(**words))
    assert [leak.partition(": ")[0] for leak in scan.leaks()] == ["Corrupt"]


def test_a_credential_is_a_leak() -> None:
    scan = OutputScan()
    scan.note_secret("a-secret-access-key", None)
    scan.hear(ShardOpened(consumer="search", shard="signed by a-secret-access-key"))
    assert scan.leaks() == ["ShardOpened: 'a-secret-access-key'"]


def test_names_and_the_library_s_own_items_are_no_values() -> None:
    scan = scan_of(
        {"TableName": "orders-of-all", "Item": {"pk": {"S": "orders-of-all"}, "_type": {"S": "an-order-type"}}}
    )
    scan.note_request(json.dumps({"TableName": "orders-leases", "Key": {"pk": {"S": SECRET}}}).encode())
    scan.note_request(json.dumps({"RequestItems": {"orders-leases": {"Keys": [{"pk": {"S": SECRET}}]}}}).encode())
    scan.hear(ShardOpened(consumer="orders-of-all", shard=f"an-order-type {SECRET}"))
    failed = MessageFailed(queue="q", error=ValueError(SECRET), message="m1", attempt=1)
    scan.hear(failed)  # the application's words: its class alone is told
    assert scan.leaks() == []


def test_a_cause_a_note_and_a_program_are_scanned() -> None:
    scan = scan_of(PUT)
    try:
        try:
            raise OSError(f"no file {SECRET}")
        except OSError as fault:
            raise Corrupt("an item") from fault
    except Corrupt as error:
        scan.errors.append(error)
    assert [leak.partition(": ")[0] for leak in scan.leaks()] == ["OSError, the cause of Corrupt"]
    noted, with_note = scan_of(PUT), Corrupt("an item")
    with_note.add_note(f"of {SECRET}")
    noted.errors.append(with_note)
    assert [leak.partition(": ")[0] for leak in noted.leaks()] == ["Corrupt"]


def test_a_chain_of_causes_that_is_a_circle_ends() -> None:
    scan, error, cause = scan_of(PUT), Corrupt("an item"), OSError(f"no file {SECRET}")
    error.__cause__, cause.__cause__ = cause, error
    scan.errors += [error, error]
    assert [leak.partition(": ")[0] for leak in scan.leaks()] == ["OSError, the cause of Corrupt"]


def test_an_error_that_is_made_while_another_is_told_is_not_waited_for() -> None:
    scan = scan_of(PUT)

    class Told(Corrupt):
        def summary(self) -> str:
            if len(scan.errors) < 100:
                scan.errors.append(Told("an item"))
            return super().summary()

    scan.errors.append(Told("an item"))
    assert scan.leaks() == []
    assert len(scan.errors) < 10


@pytest.mark.parametrize(
    "value",
    ["shardId-00000001-orders", "erase Order.by_id", "fill-6qb3b7ti", "job plan-t3imagri", "0f" * 32],
)
def test_a_name_that_the_library_makes_is_not_a_value_but_a_text_around_it_is(value: str) -> None:
    scan = scan_of({"Item": {"a": {"S": value}, "b": {"S": f"Ada {value}"}}})
    scan.hear(ShardOpened(consumer="c", shard=f"of {value}"))
    assert scan.leaks() == []
    scan.hear(ShardOpened(consumer="c", shard=f"of Ada {value}"))
    assert len(scan.leaks()) == 1


def test_what_a_run_keeps_of_itself_is_not_a_value() -> None:
    key = {"pk": {"S": "_migration"}, "sk": {"S": "apply#lease"}}
    scan = scan_of({"TableName": "orders", "Key": key, "ExpressionAttributeValues": {":0": {"S": "add index gsi2"}}})
    scan.hear(ShardOpened(consumer="c", shard="at add index gsi2"))
    assert scan.leaks() == []


@pytest.mark.parametrize(("rule", "leaks"), [("enum.lost", 0), ("key.changed", 1)])
def test_an_enum_s_members_are_declared(rule: str, leaks: int) -> None:
    scan, lost = scan_of(PUT), ModelDifference(rule, "Order.state", f"{SECRET} is gone")
    scan.values = {SECRET}
    scan.errors.append(PlanRefused(f"10 items: {lost}", counted=(Counted(lost, 10),)))
    assert len(scan.leaks()) == leaks


def test_an_attribute_s_name_may_be_said_and_a_map_s_may_not() -> None:
    scan = scan_of({"Item": {"nick": {"S": "nick"}, "a": {"M": {SECRET: {"S": SECRET}}}}})
    scan.hear(ShardOpened(consumer="c", shard=f"nick {SECRET}"))
    assert [leak.partition(": ")[2] for leak in scan.leaks()] == [repr(SECRET)]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("collect", ["stderr of collect", "stdout of collect"]),
        ("get", ["stderr of get"]),
        ("plan", ["stdout of plan"]),
    ],
)
def test_a_program_shows_what_was_asked_for_alone(
    monkeypatch: pytest.MonkeyPatch, command: str, said: list[str]
) -> None:
    scan = scan_of(PUT)
    monkeypatch.setattr(output_scan, "SCAN", scan)
    output_scan.note_program(command, f"out {SECRET}", f"err {SECRET}")
    assert sorted({leak.partition(": ")[0] for leak in scan.leaks()}) == said


def test_the_words_of_a_pattern_are_the_program_s() -> None:
    scan = scan_of(PUT)
    scan.values |= {"order", "source/"}
    scan.errors.append(Corrupt("an item", key=ShownKey("Order.by_id order#{id} / order")))
    scan.errors.append(Corrupt("an item", key=ShownKey("Source.by_key source/{id} / source")))
    assert scan.leaks() == []


PLANTED = f'''
import logging, subprocess, sys
from opentelemetry.sdk.trace import TracerProvider
from singletable import ANY, Entity, Key, Table, connect
from singletable.errors import Corrupt
from singletable.events import ShardOpened

table = Table("planted")

class Order(Entity, table=table, type="order"):
    id: str

    @table.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"order#{{id}}", "order"

def put(db):
    db.put(Order(id="{SECRET}"))
    assert db.get(Order.by_id("{SECRET}")) is not None

def test_says_nothing():
    with connect("local") as db:
        put(db)
        assert db.port.events.listens

def test_tells_a_key():
    with connect("local") as db:
        put(db)
        db.port.events.emit(ShardOpened(consumer="c", shard="of {SECRET}"))

def test_raises_a_key():
    with connect("local") as db:
        put(db)
    Corrupt("an item", hint="Look at {SECRET}.")

def test_logs_a_key():
    with connect("local") as db:
        put(db)
    logging.getLogger("singletable.records").warning("of %s", "{SECRET}")

def test_prints_a_key():
    with connect("local") as db:
        put(db)
    print("of {SECRET}")

def test_traces_a_key():
    with connect("local") as db:
        put(db)
    TracerProvider().get_tracer("t").start_span("s", attributes={{"a": "{SECRET}"}}).end()

def test_starts_a_program_that_prints_a_key():
    with connect("local") as db:
        put(db)
    subprocess.run([sys.executable, "-c", "import sys; print('of {SECRET}', file=sys.stderr)"], capture_output=True)

def test_says_nothing_after_that():
    Corrupt("an item", hint="Look at {SECRET}.")
'''


def scanned(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--scan-output", *arguments]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.soak
def test_planted_leaks_fail_their_tests_alone(tmp_path: Path) -> None:
    (tmp_path / "test_planted.py").write_text(PLANTED)
    ran = scanned("-p", "tests.support.output_scan", "--rootdir", str(tmp_path), str(tmp_path / "test_planted.py"))
    assert "8 passed, 6 errors" in ran.stdout, ran.stdout + ran.stderr
    assert f"ShardOpened: '{SECRET}'" in ran.stdout
    for place in ("Corrupt", "the log, singletable.records", "stdout", "the span s", "stderr of a child"):
        assert f"  {place}: '{SECRET}'" in ran.stdout


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_sample_of_the_suites_says_nothing_of_its_data() -> None:
    ran = scanned("-m", "not soak", *SAMPLE)
    assert ran.returncode == 0, ran.stdout[-4000:]
