"""Items of a table that others write too: an object is never read from under another's key, and so never written twice.

What an item says of itself in its key alone is read from there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from singletable import ANY, Entity, Key, Table, attr
from singletable.errors import Applied, Corrupt
from tests.faults.opening import findings
from tests.rules.bench import Bench
from tests.support.raw import all_items, put_raw

foreign = Table("foreign", indexes=["gsi1"])


class Person(Entity, table=foreign, type="person"):
    """Its address has a default, so that an item without it can be read."""

    email: str = ""
    name: str = ""

    @foreign.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One person."""
        return f"person#{email}", "person"


class Step(Entity, table=foreign, type="step", version=2):
    """Its number is needed."""

    email: str
    number: int
    text: str = ""

    @foreign.key
    @staticmethod
    def of_person(email: str, number: int = ANY) -> Key:
        """The steps of a person."""
        return f"person#{email}", f"step#{number:03}"

    @foreign.index("gsi1")
    @staticmethod
    def by_text(text: str, email: str = ANY) -> Key:
        """Those of a text."""
        return f"text#{text}", f"{email}"


@Step.upcast(1)
def _said(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "text": values["said"]}


ADA, BEN = Person.by_email("ada"), Person.by_email("ben")
FIRST = Step.of_person("ada", 1)
INDEXED = {"gsi1pk": {"S": "text#t"}, "gsi1sk": {"S": "ada"}, "text": {"S": "t"}}
Read = Callable[[Bench], Awaitable[Any]]


async def place(bench: Bench, key: Any, **attributes: Any) -> dict[str, Any]:
    """An item of the key's class, with these attributes and no others."""
    model = key.kinds[0].__model__
    item = {**model.key_item(key), "_type": {"S": model.type}, "_v": {"N": str(model.version)}, **attributes}
    await put_raw(bench.shell.port, model.kind, item)
    return item


async def in_pages(bench: Bench, query: Any) -> list[Any]:
    page = await bench.shell.page(query, limit=9)
    return list(page.items)


# --- in the key only --------------------------------------------------------------------------------------------------
async def test_what_stands_in_the_key_only_is_read_from_there(bench: Bench) -> None:
    await place(bench, ADA, name={"S": "Ada"})
    await place(bench, FIRST, **INDEXED)
    ada, first = Person(email="ada", name="Ada"), Step(email="ada", number=1, text="t")
    shell = bench.shell
    assert await shell.get(ADA) == ada
    assert await shell.get_many([ADA, FIRST]) == [ada, first]
    assert await shell.all(ADA.also(Step)) == [ada, first]
    assert await in_pages(bench, Step.of_person("ada")) == [first]
    assert await shell.all(Step.by_text("t")) == [first]
    (part,) = await shell.all(Step.of_person("ada").only(Step.number, Step.email))
    assert (part.email, part.number) == ("ada", 1)
    assert [p async for p in shell.scan(Person)] == [ada]
    assert await findings(shell, foreign) == []


async def test_what_was_read_so_is_written_back_where_it_lies(bench: Bench) -> None:
    await place(bench, ADA, name={"S": "Ada"})
    await place(bench, FIRST, **INDEXED)
    ada, first = await bench.shell.get(ADA), await bench.shell.get(FIRST)
    assert ada is not None
    assert first is not None
    ada.name = "Ada L."
    await bench.shell.put(ada)
    changed = await bench.shell.update(first, attr(Step.text).set("u"))
    assert changed == Step(email="ada", number=1, text="u")
    items = await all_items(bench.shell.port, "foreign")
    assert {(i["pk"]["S"], i["sk"]["S"]) for i in items} == {("person#ada", "person"), ("person#ada", "step#001")}
    assert await bench.shell.get(ADA) == ada
    assert await bench.shell.delete(ada) == ada
    assert await bench.shell.delete(FIRST) == changed
    assert await all_items(bench.shell.port, "foreign") == []


async def test_an_older_version_of_it_too(bench: Bench) -> None:
    await place(bench, FIRST, _v={"N": "1"}, said={"S": "t"})
    first = Step(email="ada", number=1, text="t")
    assert await bench.shell.get(FIRST) == first
    changed = await bench.shell.update(FIRST, attr(Step.text).set("u"))
    assert changed == Step(email="ada", number=1, text="u")


# --- under another key ------------------------------------------------------------------------------------------------
READS: dict[str, Read] = {
    "get": lambda bench: bench.shell.get(FIRST),
    "consistent get": lambda bench: bench.shell.get(FIRST.consistent()),
    "get_many": lambda bench: bench.shell.get_many([ADA, FIRST]),
    "all": lambda bench: bench.shell.all(Step.of_person("ada")),
    "page": lambda bench: in_pages(bench, Step.of_person("ada")),
    "several classes": lambda bench: bench.shell.all(ADA.also(Step)),
    "an index": lambda bench: bench.shell.all(Step.by_text("t")),
    "a part": lambda bench: bench.shell.all(Step.of_person("ada").only(Step.email, Step.number)),
}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another partition": ({"email": {"S": "ben"}, "number": {"N": "1"}}, "pk"),
    "another number": ({"email": {"S": "ada"}, "number": {"N": "2"}}, "sk"),
    "none that has a place": ({"email": {"S": "ada"}, "number": {"N": "1000"}}, "sk"),
    "another case": ({"email": {"S": "Ada"}, "number": {"N": "1"}}, "pk"),
}


@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize("what", WRONG)
async def test_an_item_under_another_key_is_corrupt(what: str, how: str, bench: Bench) -> None:
    attributes, where = WRONG[what]
    await place(bench, ADA, email={"S": "ada"})
    stored = await place(bench, FIRST, **(INDEXED | attributes))
    with pytest.raises(Corrupt, match=f"has another {where} than") as caught:
        await READS[how](bench)
    error = caught.value
    assert (error.table, error.attribute) == ("foreign", where)
    assert "check(table)" in error.hint
    assert await bench.raw(FIRST) == stored
    assert [f.code for f in await findings(bench.shell, foreign) if f.code == "key.wrong"] == ["key.wrong"]


async def test_its_neighbours_are_read_without_it(bench: Bench) -> None:
    """A part that leaves the key's attributes out has nothing to write back, and is read."""
    await place(bench, FIRST, **(INDEXED | WRONG["another number"][0]))
    found = await bench.shell.all(Step.of_person("ada").only(Step.text))
    assert [each.text for each in found] == ["t"]


@pytest.mark.parametrize(
    ("pk", "sk", "email"),
    [
        ("person#ada", "people", "ada"),  # another literal
        ("person#50%", "person", "50%"),  # not written as this library does
        ("person#a#b", "person", "a#b"),
        ("person#a$b", "person", "a$b"),
        ("person#", "person", "ada"),
        ("ada", "person", "ada"),
    ],
)
async def test_a_key_that_this_class_would_not_write(pk: str, sk: str, email: str, bench: Bench) -> None:
    item = {"pk": {"S": pk}, "sk": {"S": sk}, "_type": {"S": "person"}, "_v": {"N": "1"}, "email": {"S": email}}
    await put_raw(bench.shell.port, Person, item)
    with pytest.raises(Corrupt, match="has another"):
        [person async for person in bench.shell.scan(Person)]


@pytest.mark.parametrize("email", ["", "a#b", "50%", "$", "a b", "%23", "é", "😀", "a" * 900, "\uffff"])
async def test_a_key_that_it_would_write_is_read(email: str, bench: Bench) -> None:
    people = [Person(email=email), Person(email=email + "x"), Person(email="plain")]
    for person in people:
        await bench.shell.put(person)
    found = [person async for person in bench.shell.scan(Person)]
    assert sorted(found, key=str) == sorted(people, key=str)
    assert await bench.shell.get(Person.by_email(email)) == people[0]


async def test_a_write_that_meets_one_takes_nothing_from_it(bench: Bench) -> None:
    """By its key it can be changed or deleted: it is what the key names, and the answer says that it was done."""
    await place(bench, FIRST, **(INDEXED | WRONG["another number"][0]))
    with pytest.raises(Applied) as caught:
        await bench.shell.delete(FIRST)
    assert caught.value.item is not None
    assert caught.value.item["number"] == 2
    assert await bench.raw(FIRST) is None
