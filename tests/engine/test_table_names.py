"""A table under another name in the account than in its declaration, in both shells."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from singletable import InvalidCursor, InvalidRequest, Table, attr, connect, key_of
from singletable.errors import AlreadyExists, ConditionFailed, NotConfigured, NotFound, TransactionCancelled
from singletable.foundation import flows
from singletable.operations import RAW, Scan, Selection, TableCall
from tests.support.engines import fresh_url
from tests.support.models import Membership, User, app, membership
from tests.support.shells import Shell, opened

ADA = User(email="ada@example.org", name="Ada", age=36, phone="1")


@pytest.fixture
def url() -> Iterator[str]:
    with fresh_url() as address:
        yield address


@pytest.fixture
async def prod(kind: str, url: str) -> AsyncIterator[Shell]:
    async with opened(kind, url, tables={"app": "prod-app"}) as made:
        yield made


async def items_in(shell: Shell, table: str) -> int:
    """The items of a table by its name in the account."""
    with connect(shell.target.endpoint.url) as plain:
        return len(plain.run(plain.port.send(Scan(table, Selection(consistent=True), RAW))).items)


async def test_every_verb_uses_the_name_in_the_account(prod: Shell) -> None:
    members = [membership(n) for n in range(3)]
    await prod.create(ADA)
    await prod.write_many(puts=members)
    await prod.put(ADA)
    changed = await prod.update(key_of(ADA), attr(User.age).set(37))
    async with prod.transaction() as tx:
        tx.update(key_of(ADA), attr(User.age).add(1))
        tx.check(key_of(members[0]))
    await prod.upsert(ADA)
    assert changed.age == 37
    assert await prod.get(key_of(ADA)) == ADA
    assert await prod.get_many([key_of(m) for m in members]) == members
    assert await prod.all(User.by_phone("1")) == [ADA]
    assert [user async for user in prod.scan(User)] == [ADA]
    assert await prod.check(app) == []
    assert await items_in(prod, "prod-app") == 4
    assert await prod.delete(key_of(ADA)) == ADA
    await prod.write_many(deletes=members)
    assert await items_in(prod, "prod-app") == 0
    assert (await prod.describe_table(app) is not None, await prod.diff_table(app)) == (True, [])
    assert await prod.delete_table(app) is True


async def test_requests_and_units_are_the_same(kind: str, url: str) -> None:
    counts: list[Any] = []
    for names in ({}, {"app": "prod-app"}):
        async with opened(kind, url, tables=names) as shell:
            await shell.create(ADA)
            with shell.meter() as meter:
                await shell.get(key_of(ADA))
                await shell.get_many([key_of(ADA)])
                await shell.all(User.by_phone("1"))
                await shell.put(ADA)
            counts.append((meter.requests, meter.round_trips, meter.read_units, meter.write_units))
    assert counts[0] == counts[1]


async def test_two_stages_of_one_declaration_do_not_meet(kind: str, url: str) -> None:
    async with opened(kind, url, table_prefix="dev-") as dev, opened(kind, url, table_prefix="prod-") as prod:
        await dev.create(ADA)
        assert await prod.get(key_of(ADA)) is None
        await prod.write_many(puts=[membership(n) for n in range(2)])
        assert (await items_in(dev, "dev-app"), await items_in(dev, "prod-app")) == (1, 2)
        await dev.write_many(puts=[membership(n) for n in range(2)])
        page = await prod.page(Membership.of_user("ada@example.org"), limit=1)
        with pytest.raises(InvalidCursor):
            await dev.page(Membership.of_user("ada@example.org"), limit=1, after=page.cursor)
        assert len(await prod.page(Membership.of_user("ada@example.org"), after=page.cursor)) == 1
        assert dev.target.place != prod.target.place


async def test_errors_of_the_service_have_both_names(prod: Shell) -> None:
    await prod.create(ADA)
    await prod.run(prod.port.send(TableCall("DeleteTable", {"TableName": "app"})))
    for call in (prod.get(key_of(ADA)), prod.put(ADA), prod.get_many([key_of(ADA)])):
        with pytest.raises(NotConfigured) as caught:
            await call
        assert caught.value.table == "app"
        assert "table app, called prod-app" in str(caught.value)


async def test_errors_of_items_have_both_names(prod: Shell) -> None:
    await prod.create(ADA)
    nobody = replace(ADA, email="nobody@example.org")
    update = attr(User.name).set("B")

    async def of_a_layer() -> None:
        raise NotFound("the document is missing", table="app")

    async def both() -> None:
        async with prod.transaction() as tx:
            tx.create(ADA)

    for call, error in (
        (prod.create(ADA), AlreadyExists),
        (prod.update(key_of(nobody), update), NotFound),
        (prod.put(ADA, where=attr(User.name) == "B"), ConditionFailed),
        (both(), TransactionCancelled),
        (prod.run(flows.update(prod.port, key_of(nobody), (update,))), NotFound),
        (prod.run(of_a_layer()), NotFound),
    ):
        with pytest.raises(error) as caught:
            await call
        assert (caught.value.table, caught.value.called) == ("app", "prod-app")
        assert "table app, called prod-app" in str(caught.value)
    assert caught.type is NotFound


@pytest.mark.embedded("its tables have no ARNs")
def test_a_local_engine_has_no_tables_of_other_accounts() -> None:
    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/app"
    with pytest.raises(InvalidRequest, match="table 'app' has an ARN"):
        connect("local", tables={"app": arn})


@pytest.mark.parametrize(("first", "second"), [("people", "test-people"), ("test-people", "people")])
def test_a_prefix_that_makes_two_tables_one_is_refused(url: str, first: str, second: str) -> None:
    with connect(url, table_prefix="test-") as db:
        db.create_table(Table(first))
        for _ in range(2):
            with pytest.raises(InvalidRequest, match="two tables would be one, test-people") as caught:
                db.create_table(Table(second))
            assert f"ask for '{first}'" in caught.value.hint


def calls_of(verb: Any) -> int:
    """The Python calls of a verb, once it has run."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    verb()
    sys.setprofile(note)
    try:
        verb()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.embedded("an answer of others may come in two pieces, each of which is read by calls of its own")
def test_a_name_costs_no_call(url: str) -> None:
    counts: list[list[int]] = []
    for names in ({}, {"app": "prod-app"}):
        with connect(url, tables=names) as db:
            db.create_table(Table("app", indexes=["gsi1", "gsi2"]))
            verbs = (
                lambda: db.get(key_of(ADA)),
                lambda: db.put(ADA),
                lambda: db.all(User.by_phone("1")),
                lambda: db.update(key_of(ADA), attr(User.age).set(1)),
            )
            # The least: an answer may come in two pieces, and after a slow one the clock is compared.
            counts.append([min(calls_of(verb) for _ in range(5)) for verb in verbs])
    assert counts[0] == counts[1]
