"""Different reads in one round trip, in both shells."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from singletable import Collection, Entity, InvalidRequest, Key, Table, attr, collect, key_of
from singletable.errors import Corrupt, NotConfigured
from singletable.flow import Port, side_by_side
from singletable.operations import RAW, Scan, Selection, TableCall
from tests.support.models import Membership, User, membership
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada", age=36, phone="1")
MEMBERS = [membership(n) for n in range(30)]
other = Table("other")


class Report(Entity, table=other, type="report"):
    id: str
    text: str = ""

    @other.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"report#{id}", "report"


class Mine(Collection):
    user: User
    members: list[Membership]

    of_user = collect(User.by_email)


async def test_different_reads_are_one_round_trip_with_typed_answers(shell: Shell) -> None:
    await shell.create(ADA)
    await shell.create(Report(id="r1"))
    await shell.write_many(puts=MEMBERS)
    with shell.meter() as meter:
        user, missing, phone, members, report = await shell.together(
            User.by_email("ada@example.org"),
            User.by_email("bob@example.org"),
            User.by_phone("1"),
            Membership.of_user("ada@example.org").every(),
            Report.by_id("r1").consistent(),
        )
    assert (user, missing, phone, members, report) == (ADA, None, [ADA], MEMBERS, Report(id="r1"))
    assert (meter.requests, meter.round_trips) == (5, 1)


async def test_tables_are_made_at_their_first_use_together(shell: Shell) -> None:
    """Each once, though several flows ask for one table at the same step."""
    assert await shell.together(key_of(ADA), User.by_phone("1"), Report.by_id("r1")) == (None, [], None)


async def test_the_others_end_with_the_first_error(shell: Shell) -> None:
    await shell.create(ADA)
    ended: list[str] = []

    async def read(port: Port, table: str) -> None:
        try:
            await port.send(Scan(table, Selection(limit=1), RAW))
            await port.sleep(0)
            await port.send(Scan("app" if table == "app" else "nowhere", Selection(limit=1), RAW))
        finally:
            ended.append(table)

    flows = [partial(read, table=table) for table in ("app", "nowhere")]
    with pytest.raises(NotConfigured) as caught:
        await shell.run(side_by_side(shell.port, flows))
    assert ended == ["app", "nowhere"], "they end with the call, not with the last reference to its error"
    assert caught.value.table == "nowhere"


async def test_it_costs_what_the_reads_cost_alone(shell: Shell) -> None:
    await shell.create(ADA)
    await shell.write_many(puts=MEMBERS)
    with shell.meter() as alone:
        await shell.get(key_of(ADA))
        await shell.all(Membership.of_user("ada@example.org"))
    with shell.meter() as together:
        await shell.together(key_of(ADA), Membership.of_user("ada@example.org").every())
    assert together.read_units == alone.read_units
    assert (alone.round_trips, together.round_trips) == (2, 1)


async def test_pages_beyond_the_first_are_further_round_trips(shell: Shell) -> None:
    """Two partitions of three pages each: three round trips."""
    large = [
        User(email=f"{who}{n}@example.org", phone=who, age=n, name="x" * 390_000) for who in "ab" for n in range(7)
    ]
    for user in large:
        await shell.put(user)
    with shell.meter() as meter:
        first, second, ada = await shell.together(User.by_phone("a"), User.by_phone("b"), key_of(ADA))
    assert (first, second, ada) == (large[:7], large[7:], None)
    assert (meter.requests, meter.round_trips) == (9, 4)


async def test_a_query_that_was_made_of_a_key_is_a_list(shell: Shell) -> None:
    await shell.create(ADA)
    await shell.write_many(puts=MEMBERS[:3])
    is_36 = attr(User.age) == 36
    assert await shell.together(
        key_of(ADA).where(is_36),
        key_of(ADA).where(~is_36),
        Membership.of_user("ada@example.org").newest_first(),
        key_of(ADA).also(Membership),
    ) == ([ADA], [], MEMBERS[2::-1], [*MEMBERS[:3], ADA])


async def test_a_collection_is_read_beside_others(shell: Shell) -> None:
    await shell.create(ADA)
    await shell.write_many(puts=MEMBERS[:2])
    mine, nobody = await shell.together(Mine.of_user("ada@example.org"), Mine.of_user("bob@example.org"))
    assert (mine, nobody) == (Mine(user=ADA, members=MEMBERS[:2]), None)


async def test_more_than_sixteen_reads_are_two_round_trips(shell: Shell) -> None:
    await shell.write_many(puts=MEMBERS)
    with shell.meter() as meter:
        assert await shell.together(*(key_of(m) for m in MEMBERS)) == tuple(MEMBERS)
    assert (meter.requests, meter.round_trips) == (30, 2)
    with shell.meter() as meter:
        assert await shell.together() == ()
    assert meter.requests == 0


async def test_the_first_error_is_raised_and_nothing_goes_on(shell: Shell) -> None:
    await shell.create(ADA)
    await shell.create(Report(id="r1"))
    await shell.run(shell.port.send(TableCall("DeleteTable", {"TableName": "other"})))
    with shell.meter() as meter, pytest.raises(NotConfigured, match="table other"):
        await shell.together(key_of(ADA), Report.by_id("r1"), User.by_phone("1"))
    assert meter.requests == 3
    assert await shell.together(key_of(ADA)) == (ADA,)


async def test_an_invalid_read_is_refused_before_any_is_sent(shell: Shell) -> None:
    await shell.create(ADA)
    wrong: tuple[tuple[Any, str], ...] = (
        (Membership.of_user("ada@example.org"), r"Membership.of_user\(...\).every\(\)"),
        (ADA, "a key or a query is expected, not a User"),
    )
    for read, why in wrong:
        with shell.meter() as meter, pytest.raises(InvalidRequest, match=why):
            await shell.together(key_of(ADA), read)
        assert meter.requests == 0


async def test_what_cant_be_read_is_told_or_ends_all(shell: Shell) -> None:
    await shell.create(ADA)
    bad = {"pk": {"S": "user#eve@example.org"}, "sk": {"S": "user"}, "_type": {"S": "user"}, "age": {"S": "old"}}
    await shell.run(shell.port.send(TableCall("PutItem", {"TableName": "app", "Item": bad})))
    with pytest.raises(Corrupt):
        await shell.together(key_of(ADA), User.by_email("eve@example.org"))
    found: list[Any] = []
    read = await shell.together(key_of(ADA), User.by_email("eve@example.org"), unreadable=found.append)
    assert (read, len(found)) == ((ADA, None), 1)
