"""get and get_many: order, absence, other classes, more than a request takes."""

from __future__ import annotations

import pytest

from singletable import ANY, InvalidRequest, KeyOf, attr, key_of
from tests.support.models import Membership, User, membership
from tests.support.raw import put_raw
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada")


async def test_absent_is_none(shell: Shell) -> None:
    assert await shell.get(User.by_email("nobody")) is None
    await shell.put(ADA)
    assert await shell.get(User.by_email("ada@example.org")) == ADA
    assert await shell.get(User.by_email("ada@example.org").consistent()) == ADA


async def test_the_wrong_class_is_the_same_as_absent(shell: Shell) -> None:
    key = User.by_email("ada@example.org")
    item = {"pk": {"S": key.partition}, "sk": {"S": key.low}, "_type": {"S": "alien"}, "_v": {"N": "1"}}
    await put_raw(shell.port, User, item)
    assert await shell.get(key) is None
    assert await shell.get_many([key]) == []
    assert await shell.all(key) == []
    assert [user async for user in shell.iter(key)] == []
    assert list(await shell.page(key)) == []
    assert [user async for user in shell.scan(User)] == []


async def test_get_takes_one_whole_key(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match="of its key is missing"):
        await shell.get(Membership.of_user("a", ANY))
    with pytest.raises(InvalidRequest, match="no filter"):
        await shell.get(User.by_email("a").where(attr(User.age) == 1))  # type: ignore[call-overload]


async def test_get_many_keeps_the_order_and_leaves_out_what_is_missing(shell: Shell) -> None:
    members = [membership(n) for n in range(5)]
    await shell.write_many(puts=members)
    wanted = [Membership.of_user("ada@example.org", f"o{n:04}") for n in (4, 9, 0, 2)]
    assert await shell.get_many(wanted) == [members[4], members[0], members[2]]
    assert await shell.get_many([]) == []


async def test_get_many_of_250_is_one_round_trip_of_three_requests(shell: Shell) -> None:
    members = [membership(n) for n in range(250)]
    await shell.write_many(puts=members)
    with shell.meter() as meter:
        found = await shell.get_many([key_of(m) for m in reversed(members)])
    assert found == members[::-1]
    assert (meter.requests, meter.round_trips, meter.read_units) == (3, 1, 125)


async def test_get_many_asks_for_a_key_once_and_answers_it_each_time(shell: Shell) -> None:
    await shell.put(ADA)
    key = key_of(ADA)
    with shell.meter() as meter:
        assert await shell.get_many([key, key, key]) == [ADA, ADA, ADA]
    assert meter.read_units == 0.5


async def test_get_many_of_several_classes(shell: Shell) -> None:
    await shell.put(ADA)
    await shell.put(membership(1))
    keys: list[KeyOf[User | Membership]] = [Membership.of_user("ada@example.org", "o0001"), key_of(ADA)]
    assert await shell.get_many(keys) == [membership(1), ADA]


async def test_get_many_consistent_costs_twice(shell: Shell) -> None:
    await shell.put(ADA)
    with shell.meter() as meter:
        await shell.get_many([key_of(ADA)], consistent=True)
    assert meter.read_units == 1


async def test_get_many_heeds_a_key_that_asks_for_consistency(shell: Shell) -> None:
    await shell.put(ADA)
    with shell.meter() as meter:
        await shell.get_many([key_of(ADA).consistent()])
    assert meter.read_units == 1


async def test_get_many_takes_whole_entities(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match="only"):
        await shell.get_many([key_of(ADA).only(User.name)])
