"""Search by the beginning of a text: a folded key in an index, kept by every write, in both shells."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import ANY, Entity, InvalidRequest, Key, Table, attr, starting_with
from tests.support.shells import Shell

people = Table("people", indexes=["gsi1"])


class Person(Entity, table=people, type="person"):
    team: str
    number: int
    name: str
    note: str = ""

    @people.key
    @staticmethod
    def of_team(team: str, number: int = ANY) -> Key:
        """The people of a team."""
        return f"team#{team}", f"person#{number:04}"

    @people.index("gsi1")
    @staticmethod
    def by_name(team: str, name: str = ANY, number: int = ANY) -> Key:
        """The people of a team whose names begin with a text, in any case and with any accents."""
        return f"names#{team}", f"{name:folded}#{number:04}"


def person(number: int, name: str, team: str = "t1") -> Person:
    return Person(team=team, number=number, name=name)


def names(team: str, begins: str) -> Any:
    return Person.by_name(team, starting_with(begins))


async def test_every_write_keeps_it(shell: Shell) -> None:
    await shell.create(person(1, "Ádám Kovács"))
    await shell.put(person(2, "ADA Lovelace"))
    await shell.upsert(person(3, "Adele"))
    await shell.write_many(puts=[person(4, "Bea"), person(5, "Ada", team="t2")])
    assert [one.number for one in await shell.all(names("t1", "ad"))] == [2, 1, 3]
    assert [one.number for one in await shell.all(names("t1", "ÀDÁM  k"))] == [1]
    assert await shell.all(names("t1", "lovelace")) == []

    with shell.meter() as meter:
        await shell.update(Person.of_team("t1", 1), attr(Person.name).set("Zoë"))
    assert (meter.requests, meter.write_units) == (1, 3)  # the item, and its entry's key: one goes, one comes
    await shell.put(person(3, "zoe"))
    await shell.delete(Person.of_team("t1", 2))
    assert await shell.all(names("t1", "ad")) == []
    assert [one.number for one in await shell.all(names("t1", "ZO"))] == [1, 3]


async def test_a_page_is_a_query_of_what_begins_so(shell: Shell) -> None:
    await shell.write_many(puts=[person(n, f"Ada {n:03}") for n in range(101)])
    await shell.write_many(puts=[person(n + 200, f"Adb {n:03}") for n in range(101)])
    with shell.meter() as meter:
        page = await shell.page(names("t1", "ADA"), limit=100)
    assert ([one.number for one in page], meter.requests) == ([*range(100)], 1)
    assert meter.read_units == 1.5  # of the 100, not of the 202
    rest = await shell.page(names("t1", "ADA"), limit=100, after=page.cursor)
    assert ([one.number for one in rest], rest.cursor) == ([100], None)
    newest = await shell.page(names("t1", "ada").newest_first(), limit=2)
    assert [one.number for one in newest] == [100, 99]
    assert [one.number for one in await shell.all(names("t1", "ada").where(attr(Person.number) < 3))] == [0, 1, 2]


async def test_a_whole_name_is_found_with_all_that_fold_so(shell: Shell) -> None:
    await shell.write_many(puts=[person(1, "Ádám"), person(2, "adam"), person(3, "Adams")])
    assert [one.number for one in await shell.all(Person.by_name("t1", "ADAM"))] == [1, 2]


async def test_no_text_is_refused_for_its_length_and_none_for_its_signs(shell: Shell) -> None:
    odd = ["", "\u0301", "#%", "x" * 30_000, "한" * 400, "😀\u200d", "\0\n", "ﷺ" * 90]
    for number, name in enumerate(odd):
        await shell.create(person(number, name))
    for number, name in enumerate(odd):
        found = await shell.all(names("t1", name))
        assert number in [one.number for one in found]
        assert await shell.get(Person.of_team("t1", number)) == person(number, name)
    assert len(await shell.all(names("t1", ""))) == len(odd)


async def test_it_says_what_it_sends_and_is_no_consistent_read(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match="never consistent"):
        names("t1", "a").consistent()
    (entry,) = shell.explain(names("t1", "ÁD"))
    assert (entry.operation, entry.place) == ("Query", "people/gsi1")
    assert {"S": "ad"} in entry.body["ExpressionAttributeValues"].values()
