"""DynamoDB's limits: found here, before anything is sent, with what to change."""

from __future__ import annotations

import functools
import operator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from singletable import (
    ANY,
    Condition,
    Entity,
    InvalidRequest,
    Key,
    Table,
    after,
    at_most,
    attr,
    before,
    key_of,
    starting_with,
)
from singletable.errors import TooLarge
from singletable.flow import DECLARED, Consumed, Request, Response, TableNames
from singletable.operations import PutItem
from singletable.operations.answers import encode
from singletable.records.first_use import ready
from singletable.schema.models import model_of
from singletable.values import MAX_ITEM_BYTES, item_size
from singletable.values.sizes import number_size
from tests.support.models import EPOCH, Note, Photo, User
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell, opened

ADA = "ada@example.org"
KEY = Photo.of_user(ADA)
paths = Table("paths")


class Path(Entity, table=paths, type="path"):
    name: str

    @paths.key
    @staticmethod
    def of(name: str = ANY) -> Key:
        """By name."""
        return "paths", f"{name}"


async def test_an_item_over_400_kb_is_refused_with_its_largest_attributes(shell: Shell) -> None:
    large = Note(email=ADA, written_at=EPOCH, text="é" * 210_000)
    await shell.get(key_of(large))
    with shell.meter() as meter:
        for write in (shell.put(large), shell.create(large), shell.write_many(puts=[large])):
            with pytest.raises(TooLarge, match=r"text \(420004 bytes\)") as caught:
                await write
            assert "é" not in str(caught.value)
        with pytest.raises(TooLarge, match="text"):
            async with shell.transaction() as tx:
                tx.create(large)
    assert meter.requests == 0


async def test_an_upsert_over_400_kb_is_refused(shell: Shell) -> None:
    with pytest.raises(TooLarge):
        await shell.upsert(Note(email=ADA, written_at=EPOCH, text="é" * 210_000))


async def test_ranges_over_keys_that_are_as_long_as_a_key_can_be(shell: Shell) -> None:
    """The bounds have room for no more than a key, and still take in what they name."""
    first, second = "x" * 1020 + "aaaa", "x" * 1020 + "bbbb"
    await shell.create_table(paths)
    for name in (first, second):
        await shell.create(Path(name=name))
    for asked, found in (
        (starting_with(first[:1022]), [first]),
        (starting_with(first[:1020]), [first, second]),
        (at_most(first), [first]),
        (after(first), [second]),
        (before(second), [first]),
        (after(second), []),
        (starting_with("x" * 1025), []),
    ):
        assert [path.name for path in await shell.all(Path.of(asked))] == found


async def test_the_last_byte_of_400_kb(shell: Shell) -> None:
    empty = {"pk": {"S": KEY.partition}, "sk": {"S": KEY.low}, "text": {"S": ""}}
    room = MAX_ITEM_BYTES - item_size(empty)
    await put_raw(shell.port, Photo, {**empty, "text": {"S": "x" * room}})
    with pytest.raises(TooLarge, match=str(MAX_ITEM_BYTES)):
        await put_raw(shell.port, Photo, {**empty, "text": {"S": "x" * (room + 1)}})


async def test_an_update_is_counted_above_a_put_of_the_same_item(shell: Shell) -> None:
    """The service adds some bytes for each attribute that is set: near the limit it refuses what a put writes."""
    user, key = User(email=ADA, name="a", tags=[""]), User.by_email(ADA)
    room = MAX_ITEM_BYTES - item_size(model_of(User).item(user))
    full = replace(user, tags=["x" * (room - 12)])
    await shell.put(full)
    changes: dict[str, Any] = {"name": "b", "score": Decimal(1), "active": False}  # as large as before
    with shell.meter() as meter, pytest.raises(TooLarge) as refused:
        await shell.update(key, *(attr(getattr(User, name)).set(value) for name, value in changes.items()))
    assert (meter.requests, meter.retries) == (1, 0), "sent once"
    assert (refused.value.table, refused.value.operation) == ("app", "UpdateItem")
    assert await shell.get(key.consistent()) == full
    await shell.put(replace(full, **changes))
    assert await shell.get(key.consistent()) == replace(full, **changes)


async def test_binary_counts_its_bytes_and_not_its_text(shell: Shell) -> None:
    photo = Photo(email=ADA, content=bytes(400_000))
    await shell.put(photo)
    assert await shell.get(KEY) == photo


NUMBERS = ["0", "5", "42", "123", "100", "120", "12345", "-7", "-100", "1.5", "0.05", "-0.25", "123456789.987654321"]
NUMBERS += ["1E20", "-1.5", "10.01", "10.001", "100.1", "0.001", "0.0123", "9" * 38, "1E-100", "1E125", "12E3"]


@pytest.mark.malformed
@pytest.mark.parametrize("text", NUMBERS)
async def test_a_number_counts_what_the_engine_counts(text: str) -> None:
    """The room that 1,000 copies of a number leave for a text, on the last byte of the engine's limit."""

    numbers = {"L": [{"N": text}] * 1000}
    base: dict[str, dict[str, Any]] = {"pk": {"S": "p"}, "sk": {"S": "s"}, "numbers": numbers, "text": {"S": ""}}
    room = MAX_ITEM_BYTES - item_size(base)
    table = model_of(Photo).table
    async with opened("blocking") as shell:
        await ready(shell.port, table)

        async def fits(length: int) -> bool:
            try:
                await shell.port.send(Unchecked(PutItem(table.name, {**base, "text": {"S": "x" * length}})))
            except TooLarge:
                return False
            return True

        low, high = max(room - 25_000, 0), room + 25_000
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if await fits(middle) else (low, middle - 1)
    counted = number_size(text) + (room - low) / 1000
    assert (number_size(text), counted) == (counted, counted)


class Unchecked:
    """A put without the library's own check of its size."""

    def __init__(self, operation: PutItem) -> None:
        self.operation = operation

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {"TableName": self.operation.table, "Item": self.operation.item}
        return Request("PutItem", encode(body), self.operation.table, repeatable=True)

    def answer(self, response: Response) -> tuple[None, Consumed]:
        return self.operation.answer(response)


async def test_300_operators_and_4_kb_of_condition(shell: Shell) -> None:
    await shell.put(User(email=ADA))
    key = User.by_email(ADA)

    def any_of(count: int) -> Condition:
        return functools.reduce(operator.or_, [attr(User.name) == str(n) for n in range(count)])

    assert await shell.all(key.where(any_of(150))) == []
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="300"):
        await shell.all(key.where(any_of(400)))
    assert meter.requests == 0


async def test_is_in_takes_a_hundred(shell: Shell) -> None:
    await shell.put(User(email=ADA, age=99))
    key = User.by_email(ADA)
    assert len(await shell.all(key.where(attr(User.age).is_in(*range(100))))) == 1
    for values in (range(101), range(0)):
        with pytest.raises(InvalidRequest, match="1 to 100 values"):
            await shell.all(key.where(attr(User.age).is_in(*values)))


async def test_empty_sets_none_and_empty_text(shell: Shell) -> None:
    user = User(email=ADA, name="", groups=set(), phone=None, tags=[])
    await shell.put(user)
    item = await stored(shell.port, key_of(user))
    assert item is not None
    assert {"groups", "phone"}.isdisjoint(item)
    assert (item["name"], item["tags"]) == ({"S": ""}, {"L": []})
    assert await shell.get(key_of(user)) == user


async def test_the_last_member_takes_the_set_with_it(shell: Shell) -> None:
    user = User(email=ADA, groups={"a", "b"})
    await shell.put(user)
    assert (await shell.update(key_of(user), attr(User.groups).exclude({"a", "b", "c"}))).groups == set()
    assert "groups" not in (await stored(shell.port, key_of(user)) or {})
    assert await shell.all(key_of(user).where(attr(User.groups).exists())) == []
    assert (await shell.update(key_of(user), attr(User.groups).include({"z"}))).groups == {"z"}
    assert (await shell.update(key_of(user), attr(User.groups).set(set()))).groups == set()


async def test_sums_are_exact(shell: Shell) -> None:
    user = User(email=ADA, score=Decimal("0.1"))
    await shell.put(user)
    for _ in range(10):
        user = await shell.update(key_of(user), attr(User.score).add(Decimal("0.1")))
    assert user.score == Decimal("1.1")
