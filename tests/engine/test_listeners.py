"""What listeners hear of a database: each request, with the pattern that it is of; never a value or a key."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from singletable import ANY, AlreadyExists, Entity, Key, Meter, Table, attr, field
from singletable.events import CredentialsKept, RequestEnded, RequestTried
from singletable.flow import DYNAMODB_STREAMS
from singletable.wire.credentials import CachedCredentials, Credentials
from tests.support.shells import KINDS, Shell, opened

CANARY = "canary-7f3a"
table = Table("orders", indexes=["gsi1"])


class Order(Entity, table=table, type="order"):
    customer: str
    number: int
    note: str = CANARY
    email: str | None = field(default=None, unique=True)

    @table.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer}", f"order#{number:06}"

    @table.index("gsi1")
    @staticmethod
    def by_note(note: str, number: int = ANY) -> Key:
        return f"note#{note}", f"order#{number:06}"


class Note(Entity, table=table, type="note"):
    customer: str
    text: str = CANARY

    @table.key
    @staticmethod
    def of_customer(customer: str) -> Key:
        return f"customer#{customer}", "note"


class Restless(CachedCredentials):
    """Loads for each request, and can't after the first."""

    loads = 0

    def _load(self, renew: bool) -> Credentials:
        self.loads += 1
        if self.loads > 1:
            raise OSError(f"{CANARY} is down")
        return Credentials("local", CANARY)

    def _used_between(self, cached: Credentials, now: float) -> tuple[float, float]:
        return now, now


@pytest.fixture
def heard() -> list[Any]:
    return []


@pytest.fixture(params=KINDS)
async def shell(request: pytest.FixtureRequest, heard: list[Any]) -> AsyncIterator[Shell]:
    async with opened(request.param, listeners=[heard.append]) as made:
        await made.create_table(table)
        heard.clear()
        yield made


def calls(heard: list[Any]) -> list[tuple[str, tuple[str, ...], int]]:
    return [(e.operation, e.patterns, e.items) for e in heard if isinstance(e, RequestEnded)]


def ada(number: int) -> Any:
    return Order(customer=CANARY, number=number)


OF_CUSTOMER, NOTES = ("Order.of_customer",), ("Note.of_customer",)


async def test_each_verb_tells_the_pattern_that_it_is_of(shell: Shell, heard: list[Any]) -> None:
    note, key = Note(customer=CANARY), Note.of_customer(CANARY)
    await shell.put(note)
    await shell.get(key)
    await shell.get(Note.of_customer("nobody"))
    await shell.update(key, attr(Note.text).set("other"))
    await shell.upsert(note)
    await shell.delete(key)
    await shell.create(ada(1))
    with pytest.raises(AlreadyExists):
        await shell.create(ada(1))
    await shell.write_many(puts=[note], deletes=[Note.of_customer("nobody")])
    await shell.get_many([key, Order.of_customer(CANARY, 1), Order.of_customer(CANARY, 2)])
    await shell.all(Order.of_customer(CANARY))
    await shell.page(Order.by_note(CANARY))
    async with shell.transaction() as tx:
        tx.create(ada(3))
        tx.put(note)
        tx.check(Order.of_customer(CANARY, 1))
    assert [item async for item in shell.scan(Note)] == [note]
    assert calls(heard) == [
        ("PutItem", NOTES, 1),
        ("GetItem", NOTES, 1),
        ("GetItem", NOTES, 0),
        ("UpdateItem", NOTES, 1),
        ("UpdateItem", NOTES, 1),
        ("DeleteItem", NOTES, 1),
        ("TransactWriteItems", OF_CUSTOMER, 1),
        ("TransactWriteItems", OF_CUSTOMER, 1),
        ("BatchWriteItem", NOTES, 2),
        ("BatchGetItem", NOTES + OF_CUSTOMER, 2),
        ("Query", OF_CUSTOMER, 1),
        ("Query", ("Order.by_note",), 1),
        ("TransactWriteItems", OF_CUSTOMER + NOTES, 3),
        ("Scan", (), 1),
    ]
    outcomes = Counter(event.outcome for event in heard if isinstance(event, RequestEnded))
    assert outcomes == {"ok": 13, "conflict": 1}
    assert [e.index for e in heard if isinstance(e, RequestEnded) and e.index] == ["gsi1"]


async def test_events_count_what_a_meter_counts(shell: Shell, heard: list[Any]) -> None:
    with Meter() as meter:
        await shell.put(Order(customer=CANARY, number=1, email=f"{CANARY}@example.org"))
        await shell.all(Order.of_customer(CANARY))
        await shell.write_many(puts=[Note(customer=str(number)) for number in range(101)])
    ends = [event for event in heard if isinstance(event, RequestEnded)]
    assert meter.requests == len([event for event in heard if isinstance(event, RequestTried)]) == len(ends)
    assert meter.read_units == sum(event.read_units for event in ends)
    assert meter.write_units == sum(event.write_units for event in ends)


async def test_no_event_holds_a_value_or_a_key(shell: Shell, heard: list[Any]) -> None:
    await test_each_verb_tells_the_pattern_that_it_is_of(shell, heard)
    told = "".join(f"{event!r} {event.text} {event.cause}" for event in heard)
    assert (CANARY in told, len(heard) > 20) == (False, True)


@pytest.mark.parametrize("kind", KINDS)
async def test_requests_of_other_services_are_told_too(kind: str, heard: list[Any]) -> None:
    async with opened(kind, listeners=[heard.append]) as shell:
        assert shell.port.to(DYNAMODB_STREAMS).events is shell.port.events


@pytest.mark.parametrize(("imports", "lines"), [("", 0), ("import logging; logging.basicConfig(level=10)", 2)])
def test_logging_that_is_imported_later_is_followed(imports: str, lines: int) -> None:
    program = (
        "import sys; from singletable import connect; from singletable.wire import RetryPolicy\n"
        "db = connect('http://127.0.0.1:1', retry=RetryPolicy(attempts=1))\n"
        "assert 'logging' not in sys.modules\n"
        f"{imports}\n"
        "from singletable.operations import GetItem, RAW\n"
        "from singletable.flow import drive\n"
        "from singletable.errors import Unavailable\n"
        "try: drive(db.port.send(GetItem('orders', {'pk': {'S': 'a'}}, RAW)))\n"
        "except Unavailable: pass\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr.count("try 1, undelivered") == bool(lines)


@pytest.mark.parametrize("kind", KINDS)
async def test_credentials_that_could_not_be_renewed_are_told(
    kind: str, heard: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(kind, listeners=[heard.append], credentials=Restless()) as shell:
        await shell.create_table(table)
        await shell.put(Order(customer="ada", number=1))
    (kept,) = [event for event in heard if isinstance(event, CredentialsKept)]
    assert "OSError" in kept.text
    assert "the cached ones are still valid" in caplog.text
    assert CANARY not in caplog.text


async def partitions_of(kind: str, wanted: bool) -> tuple[list[tuple[str, tuple[str, ...]]], Any]:
    """What each call tells of its partitions, and the hash of a partition."""
    told: list[tuple[str, tuple[str, ...]]] = []

    def listen(event: Any) -> None:
        if isinstance(event, RequestEnded):
            told.append((event.operation, event.partitions))

    if wanted:
        listen.wants_partitions = True  # type: ignore[attr-defined]
    async with opened(kind, listeners=[listen]) as shell:
        await shell.create_table(table)
        told.clear()
        note, key = Note(customer="ada"), Note.of_customer("ada")
        await shell.put(note)
        await shell.get(key)
        await shell.update(key, attr(Note.text).set("other"))
        await shell.delete(key)
        await shell.write_many(puts=[note, Note(customer="bob")])
        await shell.get_many([key, Order.of_customer("ada", 1)])
        await shell.all(Order.of_customer("ada"))
        await shell.all(Order.by_note("ada"))
        async with shell.transaction() as tx:
            tx.put(note)
            tx.check(Note.of_customer("bob"))
        assert [item async for item in shell.scan(Note)]
        return told, shell.port.events.hash_of


@pytest.mark.parametrize("kind", KINDS)
async def test_a_listener_may_ask_for_the_hashes_of_partitions(kind: str) -> None:
    told, hash_of = await partitions_of(kind, wanted=True)
    ada, bob = hash_of("orders", "", "customer#ada"), hash_of("orders", "", "customer#bob")
    singles = [(operation, (ada,)) for operation in ("PutItem", "GetItem", "UpdateItem", "DeleteItem")]
    assert told == [
        *singles,
        ("BatchWriteItem", (ada, bob)),
        ("BatchGetItem", (ada,)),
        ("Query", (ada,)),
        ("Query", (hash_of("orders", "gsi1", "note#ada"),)),
        ("TransactWriteItems", (ada, bob)),
        ("Scan", ()),
    ]


async def test_nobody_pays_for_partitions_that_nobody_asks_for() -> None:
    told, _ = await partitions_of("blocking", wanted=False)
    assert {partitions for _, partitions in told} == {()}
