"""Cursors: whatever is wrong with one, the same error; and what may change between two pages goes on."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from singletable import ANY, Entity, InvalidCursor, Key, Query, Table, attr, before
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.support.models import EPOCH, Membership, Note, app, membership
from tests.support.shells import Shell

ADA = "ada@example.org"
QUERY = Membership.of_user(ADA)
MANY = [membership(n) for n in range(12)]
twin = Table("twin", indexes=["gsi1"])


class Twin(Entity, table=twin, type="membership"):
    """Another table's class with the same key texts."""

    email: str
    org_id: str

    @twin.key
    @staticmethod
    def of_user(email: str, org_id: str = ANY) -> Key:
        """Those of a user."""
        return f"user#{email}", f"member#{org_id}"


class Long(Entity, table=twin, type="long"):
    """Its keys are as long as they may be."""

    group: str
    name: str

    @twin.key
    @staticmethod
    def of_group(group: str, name: str = ANY) -> Key:
        """Those of a group."""
        return f"{group}#{group}", f"long#{name}"

    @twin.index("gsi1")
    @staticmethod
    def also_of_group(group: str, name: str = ANY) -> Key:
        """Those of a group, again."""
        return f"long#{group}#{group}", f"long#{name}"


@dataclass
class Reading:
    shell: Shell
    clock: Clock
    cursor: str

    async def refusal(self, query: Query[Any], cursor: str, principal: str | None = "p1") -> str:
        with pytest.raises(InvalidCursor) as caught:
            await self.shell.page(query, limit=5, after=cursor, principal=principal)
        assert caught.value.__cause__ is None
        return str(caught.value)


@pytest.fixture
async def reading(kind: str, engine_url: str, clock: Clock) -> AsyncIterator[Reading]:
    async with opened_at(kind, engine_url, clock=clock, tables=(app, twin)) as shell:
        await shell.write_many(puts=MANY)
        cursor = (await shell.page(QUERY, limit=5, principal="p1")).cursor
        assert cursor is not None
        yield Reading(shell, clock, cursor)


async def test_every_flipped_byte_is_the_one_error(reading: Reading) -> None:
    raw = urlsafe_b64decode(reading.cursor + "=" * (-len(reading.cursor) % 4))
    said = set()
    for at in range(len(raw)):
        for mask in (0x01, 0x80, 0xFF):
            changed = bytes([*raw[:at], raw[at] ^ mask, *raw[at + 1 :]])
            said.add(await reading.refusal(QUERY, urlsafe_b64encode(changed).rstrip(b"=").decode()))
    for at, letter in enumerate(reading.cursor):
        other = "A" if letter != "A" else "B"
        said.add(await reading.refusal(QUERY, reading.cursor[:at] + other + reading.cursor[at + 1 :]))
    for length in range(0, len(reading.cursor), 7):
        said.add(await reading.refusal(QUERY, reading.cursor[:length]))
    said.add(await reading.refusal(QUERY, reading.cursor + "="))
    assert len(said) == 1


async def test_a_foreign_expired_or_unreadable_one_is_the_same_error(
    reading: Reading, kind: str, engine_url: str
) -> None:
    cursor = reading.cursor
    said = {
        await reading.refusal(Membership.of_user("eve@example.org"), cursor),
        await reading.refusal(Note.of_user(ADA), cursor),
        await reading.refusal(Membership.of_org("o0001"), cursor),
        await reading.refusal(QUERY.newest_first(), cursor),
        await reading.refusal(Twin.of_user(ADA), cursor),
        await reading.refusal(QUERY, cursor, "p2"),
        await reading.refusal(QUERY, cursor, None),
        await reading.refusal(QUERY, ""),
        await reading.refusal(QUERY, "é" * 80),
        await reading.refusal(QUERY, "A" * 50_000),
    }
    async with opened_at(
        kind, engine_url, clock=reading.clock, tables=(app,), cursor_keys=("a key of another service",)
    ) as foreign:
        said.add(await Reading(foreign, reading.clock, cursor).refusal(QUERY, cursor))
    reading.clock.advance(24 * 3600 - 1)
    assert list(await reading.shell.page(QUERY, limit=5, after=cursor, principal="p1")) == MANY[5:10]
    reading.clock.advance(2)
    said.add(await reading.refusal(QUERY, cursor))
    assert len(said) == 1


async def test_keys_are_replaced_one_after_another(reading: Reading, kind: str, engine_url: str) -> None:
    old, new = "the first of two secrets", "the second of two secrets"
    cursors = {}
    for keys in ((old,), (new, old), (new,)):
        async with opened_at(kind, engine_url, clock=reading.clock, tables=(app,), cursor_keys=keys) as shell:
            cursors[keys] = (await shell.page(QUERY, limit=5)).cursor
            for sealed_by, cursor in cursors.items():
                if sealed_by[0] in keys:
                    assert list(await shell.page(QUERY, limit=5, after=cursor)) == MANY[5:10]
                else:
                    with pytest.raises(InvalidCursor):
                        await shell.page(QUERY, limit=5, after=cursor)


async def test_nothing_of_a_key_can_be_read_from_a_cursor(reading: Reading) -> None:
    raw = urlsafe_b64decode(reading.cursor + "=" * (-len(reading.cursor) % 4))
    # Texts of four and more: a shorter one may well stand in a random text.
    for hidden in (b"user", b"ada@", b"example", b"member", b"o0004"):
        assert hidden not in raw
        assert hidden.decode() not in reading.cursor
    again = (await reading.shell.page(QUERY, limit=5, principal="p1")).cursor
    assert again is not None
    assert again[8:] != reading.cursor[8:]


async def test_bounds_limit_and_filter_may_change(reading: Reading) -> None:
    notes = [Note(email=ADA, written_at=EPOCH + timedelta(minutes=n), text=str(n % 2)) for n in range(12)]
    await reading.shell.write_many(puts=notes)
    first = await reading.shell.page(Note.of_user(ADA, before(EPOCH + timedelta(minutes=8))), limit=3)
    later = Note.of_user(ADA, before(EPOCH + timedelta(minutes=11)))
    second = await reading.shell.page(later, limit=4, after=first.cursor)
    odd = later.where(attr(Note.text) == "1")
    third = await reading.shell.page(odd, limit=9, after=second.cursor)
    assert [*first, *second] == notes[:7]
    assert list(third) == notes[7:11:2]


async def test_the_longest_keys_have_cursors_too(reading: Reading) -> None:
    """Every letter of them doubled in JSON, which a cursor has inside."""
    long = "\\" * 1000
    longest = [Long(group=long, name="\\" * 900 + str(n)) for n in range(3)]
    await reading.shell.write_many(puts=longest)
    for query in (Long.of_group(long), Long.also_of_group(long)):
        page = await reading.shell.page(query, limit=1)
        assert list(await reading.shell.page(query, limit=9, after=page.cursor)) == longest[1:]
