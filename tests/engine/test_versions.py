"""Schema versions, and items that can't be read: the item alone is at fault, never the others of its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from singletable import ANY, ConditionFailed, Entity, Key, Table, TransactionCancelled, attr, key_of
from singletable.errors import Corrupt
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell

library = Table("library", indexes=["gsi1"])


class Book(Entity, table=library, type="book", version=3):
    shelf: str
    title: str
    pages: int = 0
    lent_to: str | None = None

    @library.key
    @staticmethod
    def on_shelf(shelf: str, title: str = ANY) -> Key:
        return f"shelf#{shelf}", f"book#{title}"

    @library.index("gsi1")
    @staticmethod
    def by_borrower(lent_to: str, title: str = ANY) -> Key:
        return f"lent#{lent_to}", f"{title}"


@Book.upcast(1)
def name_became_title(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "title": item["name"], "name": None}


@Book.upcast(2)
def pages_were_text(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "pages": int(item["pages"])}


def raw(name_: str, version: int | None, **attributes: Mapping[str, Any]) -> dict[str, Any]:
    keys = {"pk": {"S": "shelf#a"}, "sk": {"S": f"book#{name_}"}, "_type": {"S": "book"}, "shelf": {"S": "a"}}
    said = {} if version is None else {"_v": {"N": str(version)}}
    return {**keys, **said, **attributes}


FIRST = raw("1", 1, name={"S": "1"}, pages={"S": "10"}, extra={"S": "kept"})
SECOND = raw("2", 2, title={"S": "2"}, pages={"S": "20"})
THIRD = Book(shelf="a", title="3", pages=30)
NEWER = raw("4", 4, title={"S": "4"}, pages={"N": "40"})
UNVERSIONED = raw("0", None, name={"S": "0"}, pages={"S": "5"})


async def test_older_items_are_read_through_the_chain(shell: Shell) -> None:
    for item in (FIRST, SECOND, UNVERSIONED):
        await put_raw(shell.port, Book, item)
    await shell.put(THIRD)
    assert [(b.title, b.pages) for b in await shell.all(Book.on_shelf("a"))] == [
        ("0", 5),
        ("1", 10),
        ("2", 20),
        ("3", 30),
    ]
    assert await shell.get(Book.on_shelf("a", "1")) == Book(shelf="a", title="1", pages=10)
    found = await shell.get_many([Book.on_shelf("a", "2"), Book.on_shelf("a", "3")])
    assert [b.pages for b in found] == [20, 30]


@pytest.mark.parametrize("item", [FIRST, SECOND, UNVERSIONED])
async def test_an_update_writes_an_older_item_whole_then_changes_it(shell: Shell, item: Mapping[str, Any]) -> None:
    await put_raw(shell.port, Book, item)
    title = item["sk"]["S"].removeprefix("book#")
    changed = await shell.update(Book.on_shelf("a", title), attr(Book.pages).add(1), attr(Book.lent_to).set("ada"))
    assert changed.title == title
    after = await stored(shell.port, key_of(changed))
    assert after is not None
    assert after["_v"] == {"N": "3"}
    assert after["pages"] in ({"N": "11"}, {"N": "21"}, {"N": "6"})
    assert "name" not in after
    assert after.get("extra") == item.get("extra")
    assert (after["gsi1pk"], after["gsi1sk"]) == ({"S": "lent#ada"}, {"S": title})
    assert await shell.all(Book.by_borrower("ada")) == [changed]


async def test_an_update_in_a_transaction_does_the_same(shell: Shell) -> None:
    await put_raw(shell.port, Book, FIRST)
    async with shell.transaction() as tx:
        tx.update(Book.on_shelf("a", "1"), attr(Book.pages).add(1))
        tx.create(THIRD)
    assert await shell.get(Book.on_shelf("a", "1")) == Book(shelf="a", title="1", pages=11)


async def test_a_failing_condition_on_an_older_item_is_raised(shell: Shell) -> None:
    await put_raw(shell.port, Book, FIRST)
    with pytest.raises(ConditionFailed) as caught:
        await shell.update(Book.on_shelf("a", "1"), attr(Book.pages).set(1), where=attr(Book.title) == "other")
    assert caught.value.stored == Book(shelf="a", title="1", pages=10)


async def test_a_newer_item_is_an_error_on_read(shell: Shell) -> None:
    await put_raw(shell.port, Book, NEWER)
    key = Book.on_shelf("a", "4")
    for read in (shell.get(key), shell.get_many([key]), shell.all(Book.on_shelf("a")), shell.page(Book.on_shelf("a"))):
        with pytest.raises(Corrupt, match="schema version 4; this program knows version 3"):
            await read
    with pytest.raises(Corrupt, match="Deploy"):
        await anext(shell.scan(Book))


async def test_a_newer_item_refuses_writes(shell: Shell) -> None:
    await put_raw(shell.port, Book, NEWER)
    key, book = Book.on_shelf("a", "4"), Book(shelf="a", title="4")
    for write in (
        shell.update(key, attr(Book.pages).set(1)),
        shell.update(key, attr(Book.pages).add(1), exactly_once=True),
        shell.upsert(book),
        shell.upsert(book, attr(Book.pages).set(1)),
        shell.put(book),
        shell.delete(key),
    ):
        with pytest.raises(Corrupt, match="schema version 4"):
            await write
    with pytest.raises(TransactionCancelled) as caught:
        async with shell.transaction() as tx:
            tx.update(key, attr(Book.pages).set(1))
    assert isinstance(caught.value.failures[0].error, Corrupt)
    assert await stored(shell.port, key) == NEWER


async def test_a_missing_upcaster_is_named(shell: Shell) -> None:
    old = {"pk": {"S": "lone#1"}, "sk": {"S": "lone"}, "_type": {"S": "lone"}, "_v": {"N": "1"}, "id": {"S": "1"}}
    await put_raw(shell.port, Lone, old)
    with pytest.raises(Corrupt, match=r"no upcaster from it.*@Lone\.upcast\(1\)"):
        await shell.get(Lone.by_id("1"))


class Lone(Entity, table=library, type="lone", version=2):
    id: str

    @library.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"lone#{id}", "lone"


async def test_a_bad_item_is_named_by_its_class_and_attribute(shell: Shell) -> None:
    """One bad item makes its page an error that names it: leaving it out would be a silent loss."""
    await shell.put(THIRD)
    await put_raw(shell.port, Book, raw("9", 3, title={"S": "9"}, pages={"N": "1.5"}))
    for read in (shell.get(Book.on_shelf("a", "9")), shell.all(Book.on_shelf("a")), shell.page(Book.on_shelf("a"))):
        with pytest.raises(Corrupt, match=r"an item of Book.*fraction.*attribute pages") as caught:
            await read
        assert "1.5" not in str(caught.value)
    assert await shell.get(Book.on_shelf("a", "3")) == THIRD


async def test_an_attribute_that_no_class_declares_is_kept_by_updates(shell: Shell) -> None:
    await put_raw(shell.port, Book, raw("5", 3, title={"S": "5"}, pages={"N": "1"}, extra={"S": "kept"}))
    await shell.update(Book.on_shelf("a", "5"), attr(Book.pages).add(1))
    await shell.upsert(Book(shelf="a", title="5", pages=7))
    after = await stored(shell.port, Book.on_shelf("a", "5"))
    assert after is not None
    assert (after["extra"], after["pages"]) == ({"S": "kept"}, {"N": "7"})
