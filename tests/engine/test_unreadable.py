"""One item that its class can't read, among many: the error names it, reads go past it, and others cost the same."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import pytest

from singletable import ANY, Collection, Entity, Key, Meter, Table, attr, collect
from singletable.errors import Corrupt, InvalidRequest, InvalidValue
from singletable.records import Unreadable
from singletable.schema.models import Model, model_of
from tests.support.raw import put_raw
from tests.support.shells import Shell

shelf = Table("shelf", indexes=["gsi1"])
COUNT, BAD = 250, (0, 7, 100, 249)
"""Of a page's first, some inside, and the last: unreadable."""


class Book(Entity, table=shelf, type="book"):
    room: str
    number: int
    pages: int = 0
    text: str = ""

    @shelf.key
    @staticmethod
    def of(room: str, number: int = ANY) -> Key:
        """The books of a room."""
        return f"room#{room}", f"book#{number}"

    @shelf.index("gsi1")
    @staticmethod
    def by_text(text: str, number: int = ANY) -> Key:
        """The books with a text."""
        return f"text#{text}", f"{number}"


WATTS_ERRORS = {9002: InvalidValue, 9003: InvalidRequest}


class Lamp(Entity, table=shelf, type="lamp"):
    room: str
    name: str
    watts: int

    @shelf.key
    @staticmethod
    def of(room: str, name: str = ANY) -> Key:
        """The lamps of a room."""
        return f"room#{room}", f"lamp#{name}"

    def __post_init__(self) -> None:
        if self.watts == 9001:
            raise ValueError(f"{self.watts} is too many")
        if self.watts > 9001:
            raise WATTS_ERRORS[self.watts]("too many", attribute="watts")


class Room(Collection):
    books: list[Book]
    lamps: list[Lamp]

    by_name = collect(Book.of)


def stored(number: int) -> dict[str, Any]:
    item: dict[str, Any] = model_of(Book).item(Book(room="a", number=number, pages=number, text="x"))
    return item | {"pages": {"S": "secret"}} if number in BAD else item


LAMP: Mapping[str, Any] = {
    "pk": {"S": "room#a"}, "sk": {"S": "lamp#z"}, "_type": {"S": "lamp"}, "_v": {"N": "1"},
    "room": {"S": "a"}, "name": {"S": "z"}, "watts": {"N": "9001"},
}  # fmt: skip
GOOD = [Book(room="a", number=n, pages=n, text="x") for n in range(COUNT) if n not in BAD]


@pytest.fixture
async def full(shell: Shell) -> Shell:
    await shell.write_many(puts=[Book(room="a", number=n, pages=n, text="x") for n in range(COUNT)])
    for number in BAD:
        await put_raw(shell.port, Book, stored(number))
    return shell


async def _page(shell: Shell, **how: Any) -> list[Any]:
    found: list[Any] = []
    after = None
    while True:
        page = await shell.page(Book.of("a"), limit=50, after=after, **how)
        assert len(page) <= 50
        found += page
        after = page.cursor
        if after is None:
            return found


async def _page_of_one(shell: Shell, **how: Any) -> list[Any]:
    found: list[Any] = []
    after = None
    while True:
        page = await shell.page(Book.of("a"), limit=1, after=after, **how)
        found += page
        after = page.cursor
        if after is None:
            return found


async def _filtered_page(shell: Shell, **how: Any) -> list[Any]:
    found: list[Any] = []
    after = None
    while True:
        page = await shell.page(Book.of("a").where(attr(Book.text) == "x"), limit=9, after=after, **how)
        found += page
        after = page.cursor
        if after is None:
            return found


async def _iter(shell: Shell, **how: Any) -> list[Any]:
    return [item async for item in shell.iter(Book.of("a"), **how)]


async def _all(shell: Shell, **how: Any) -> list[Any]:
    return await shell.all(Book.of("a"), **how)


async def _all_by_index(shell: Shell, **how: Any) -> list[Any]:
    return await shell.all(Book.by_text("x"), **how)


async def _newest_first(shell: Shell, **how: Any) -> list[Any]:
    return (await shell.all(Book.of("a").newest_first(), **how))[::-1]


async def _scan(shell: Shell, **how: Any) -> list[Any]:
    return sorted([item async for item in shell.scan(Book, segments=3, **how)], key=lambda book: book.number)


async def _get_many(shell: Shell, **how: Any) -> list[Any]:
    return await shell.get_many([Book.of("a", n) for n in range(COUNT)], **how)


async def _get(shell: Shell, **how: Any) -> list[Any]:
    found = [await shell.get(Book.of("a", n), **how) for n in range(COUNT)]
    return [book for book in found if book is not None]


async def _collection(shell: Shell, **how: Any) -> list[Any]:
    room = await shell.get(Room.by_name("a"), **how)
    assert room is not None
    return room.books


READS = {
    read.__name__.strip("_"): read
    for read in (
        _page, _page_of_one, _filtered_page, _iter, _all, _all_by_index, _newest_first, _scan, _get_many, _get,
        _collection,
    )
}  # fmt: skip
Read = Callable[..., Awaitable[list[Any]]]


@pytest.mark.parametrize("name", READS)
async def test_the_error_names_the_item(name: str, full: Shell) -> None:
    with pytest.raises(Corrupt) as caught:
        await READS[name](full)
    error = caught.value
    assert (error.table, error.attribute) == ("shelf", "pages")
    assert error.key.captured.owner is Book
    assert (error.key.partition, error.key.low) in {("room#a", stored(n)["sk"]["S"]) for n in BAD}
    operation = {"scan": "Scan", "get": "GetItem", "get_many": "BatchGetItem"}.get(name, "Query")
    assert error.operation is not None
    assert error.operation.startswith(operation)
    if operation == "Query":
        assert ("Book.by_text" if "index" in name else "Book.of") in error.operation
    assert "Book.of" in str(error)
    assert "table shelf" in str(error)
    assert "attribute pages" in str(error)
    assert "unreadable=" in str(error)
    assert "secret" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("name", READS)
async def test_reads_go_past_it(name: str, full: Shell) -> None:
    """Each is told once, with its key, what is stored and why; requests and units are as for readable items."""
    told: list[Unreadable] = []
    with Meter() as meter:
        assert await READS[name](full, unreadable=told.append) == GOOD
    assert sorted(each.key.low for each in told) == sorted(stored(n)["sk"]["S"] for n in BAD)
    for each in told:
        assert each.key.partition == "room#a"
        assert each.error.key == each.key
        assert each.item["sk"] == each.key.low
        assert each.item["pages"] == "secret"
        assert each.item["text"] == "x"
        assert isinstance(each.error, Corrupt)
        assert each.error.attribute == "pages"
        assert each.error.operation
        assert "secret" not in repr(each)
        assert "Book.of" in repr(each)
    assert pickle.loads(pickle.dumps(told[0].item)) == told[0].item
    for number in BAD:
        await full.put(Book(room="a", number=number, pages=number, text="x"), where=attr(Book.text) == "x")
    with Meter() as sound:
        await READS[name](full, unreadable=told.append)
    for counted in ("requests", "round_trips", "read_units", "passed_over"):
        assert getattr(meter, counted) == getattr(sound, counted)
    assert len(told) == len(BAD)


@pytest.mark.parametrize("watts", ["9001", "9002", "9003"])
async def test_what_a_class_itself_refuses(shell: Shell, watts: str) -> None:
    """Its own code's error is the cause, and the item is named all the same; also among others of its partition. So is
    one that raises the library's own error."""
    await shell.create(Book(room="a", number=1))
    await shell.create(Lamp(room="a", name="y", watts=5))
    await put_raw(shell.port, Lamp, {**LAMP, "watts": {"N": watts}})
    keys = [Lamp.of("a", "y"), Lamp.of("a", "z")]
    for read in (shell.get(keys[1]), shell.all(Lamp.of("a")), shell.get(Room.by_name("a")), shell.get_many(keys)):
        with pytest.raises(Corrupt) as caught:
            await read
        assert (caught.value.key.low, caught.value.table) == ("lamp#z", "shelf")
        assert isinstance(caught.value.__cause__, ValueError)
        assert watts not in str(caught.value)
    told: list[Unreadable] = []
    assert await shell.get(keys[1], unreadable=told.append) is None
    assert len(await shell.get_many(keys, unreadable=told.append)) == 1
    room = await shell.get(Room.by_name("a"), unreadable=told.append)
    assert room == Room(books=[Book(room="a", number=1)], lamps=[Lamp(room="a", name="y", watts=5)])
    assert [each.key.low for each in told] == ["lamp#z"] * 3


async def test_what_only_a_part_is_read_of(full: Shell) -> None:
    told: list[Unreadable] = []
    found = await full.all(Book.of("a").only(Book.pages), unreadable=told.append)
    assert [book.pages for book in found] == [book.pages for book in GOOD]
    assert len(told) == len(BAD)
    assert len(await full.all(Book.of("a").only(Book.text), unreadable=told.append)) == COUNT  # nobody asked for it
    assert len(told) == len(BAD)


async def test_of_a_newer_version_and_under_another_key(shell: Shell) -> None:
    whole = model_of(Book).item(Book(room="a", number=1))
    await put_raw(shell.port, Book, {**whole, "_v": {"N": "2"}})
    await put_raw(shell.port, Book, {**whole, "sk": {"S": "book#5"}})
    await put_raw(shell.port, Book, {**whole, "sk": {"S": "book#6"}, "_v": {"N": "1.5"}})
    await shell.create(Book(room="a", number=7))
    told: list[Unreadable] = []
    assert await shell.all(Book.of("a"), unreadable=told.append) == [Book(room="a", number=7)]
    assert {each.key.low for each in told} == {whole["sk"]["S"], "book#5", "book#6"}


async def test_what_belongs_to_no_class_is_counted(shell: Shell) -> None:
    """Items of other programs, without a type or of one that nobody knows: in no result, and paid for."""
    await shell.write_many(puts=[Book(room="a", number=n, text="x") for n in range(3)])
    for number, typed in ((5, {}), (6, {"_type": {"S": "alien"}}), (7, {"_type": {"N": "1"}})):
        item = {name: value for name, value in stored(number).items() if name != "_type"}
        await put_raw(shell.port, Book, item | typed)
    keys = [Book.of("a", n) for n in (0, 5, 6, 7, 99)]
    reads: list[tuple[Callable[[], Awaitable[Any]], int]] = [
        (lambda: shell.get(keys[0]), 0),
        (lambda: shell.get(keys[1]), 1),
        (lambda: shell.get(keys[-1]), 0),
        (lambda: shell.get_many(keys), 3),
        (lambda: shell.all(Book.of("a")), 3),
        (lambda: shell.page(Book.by_text("x"), limit=100), 3),
        (lambda: shell.all(Book.of("a").where(attr(Book.text) == "y")), 6),
        (lambda: shell.get(Room.by_name("a")), 3),
        (lambda: _scan(shell), 3),
    ]
    for read, passed_over in reads:
        with shell.meter() as meter:
            await read()
        assert meter.passed_over == passed_over
        assert sum(count.passed_over for count in meter.by_operation.values()) == passed_over


@pytest.fixture
def slow_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The items that took it."""
    taken: list[Any] = []
    load = Model.load

    def counted(model: Model[Any], item: Any) -> Any:
        taken.append(item)
        return load(model, item)

    monkeypatch.setattr(Model, "load", counted)
    return taken  # type: ignore[return-value]


async def test_the_others_of_its_page_keep_their_fast_path(full: Shell, slow_path: list[Any]) -> None:
    await full.all(Book.of("a"), unreadable=lambda each: None)
    assert len(slow_path) == len(BAD)
    with pytest.raises(Corrupt):
        await full.all(Book.of("a"))
    assert len(slow_path) == len(BAD) + 1


async def test_a_read_without_one_tells_nothing(shell: Shell) -> None:
    await shell.create(Book(room="a", number=1))
    assert await shell.all(Book.of("a"), unreadable=lambda each: pytest.fail("told")) == [Book(room="a", number=1)]


def lain_at(author: str, number: int) -> Key:
    """Where papers lay."""
    return f"by#{author}", f"nr#{number}"


class Paper(Entity, table=shelf, type="paper"):
    """Its key was another: items lie under either."""

    author: str
    number: int
    pages: int = 0

    @shelf.key(was=lain_at)
    @staticmethod
    def of(author: str, number: int = ANY) -> Key:
        """The papers of an author."""
        return f"author#{author}", f"paper#{number}"


async def test_of_a_class_whose_key_was_another(shell: Shell) -> None:
    """Under either key; nothing else is lost, and each is told."""
    model = model_of(Paper)
    papers = [Paper(author="a", number=n, pages=n) for n in range(12)]
    for paper in papers:
        item = model.item(paper) | ({"pages": {"S": "secret"}} if paper.number in (2, 3, 11) else {})
        if paper.number % 2:
            item |= {"pk": {"S": "by#a"}, "sk": {"S": f"nr#{item['sk']['S'].partition('#')[2]}"}}
        await put_raw(shell.port, Book, item)
    good = [paper for paper in papers if paper.number not in (2, 3, 11)]
    bad = {("author#a", "paper#a2"), ("by#a", "nr#a3"), ("by#a", "nr#b11")}
    keys = [Paper.of("a", n) for n in range(12)]

    async def by_page(**how: Any) -> list[Paper]:
        found: list[Paper] = []
        page = await shell.page(Paper.of("a"), limit=2, **how)
        while (after := page.cursor) is not None:
            found += page
            page = await shell.page(Paper.of("a"), limit=2, after=after, **how)
        return [*found, *page]

    async def by_get(**how: Any) -> list[Paper]:
        return [found for key in keys if (found := await shell.get(key, **how)) is not None]

    reads: list[Read] = [
        lambda **how: shell.all(Paper.of("a"), **how),
        lambda **how: shell.get_many(keys, **how),
        by_page,
        by_get,
    ]
    for read in reads:
        with pytest.raises(Corrupt) as caught:
            await read()
        assert (caught.value.key.partition, caught.value.key.low) in bad
        assert caught.value.operation is not None
        told: list[Unreadable] = []
        assert sorted(await read(unreadable=told.append), key=lambda paper: paper.number) == good
        assert {(each.key.partition, each.key.low) for each in told} == bad
        assert all(each.error.operation for each in told)


def noted_at(author: str, number: int) -> Key:
    """Where notes lay."""
    return f"noted#{author}", f"nr#{number}"


class Note(Entity, table=shelf, type="note", version=2):
    """Its key was another, and its form too."""

    author: str
    number: int
    text: str = ""

    @shelf.key(was=noted_at)
    @staticmethod
    def of(author: str, number: int = ANY) -> Key:
        """The notes of an author."""
        return f"author#{author}", f"note#{number}"


@Note.upcast(1)
def _from_one(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "text": "upcast"}


async def test_parts_of_an_older_version_are_told_though_the_key_was_another(shell: Shell) -> None:
    """As of any class: a part of an item can't be upcast. A whole read of it can."""
    notes = [Note(author="a", number=n, text="new") for n in range(4)]
    for note in notes:
        old = {"_v": {"N": "1"}} if note.number in (1, 2) else {}
        at = {"pk": {"S": "noted#a"}, "sk": {"S": f"nr#a{note.number}"}} if note.number > 1 else {}
        await put_raw(shell.port, Book, model_of(Note).item(note) | old | at)
    assert [note.text for note in await shell.all(Note.of("a"))] == ["new", "upcast", "upcast", "new"]
    keys = [Note.of("a", n).only(Note.text) for n in range(4)]

    async def by_get(**how: Any) -> list[Note]:
        return [found for key in keys if (found := await shell.get(key, **how)) is not None]

    reads: list[Read] = [lambda **how: shell.all(Note.of("a").only(Note.text), **how), by_get]
    for read in reads:
        with pytest.raises(Corrupt, match="has schema version 1, and only a part of it was loaded"):
            await read()
        told: list[Unreadable] = []
        assert [vars(note) for note in await read(unreadable=told.append)] == [{"text": "new"}] * 2
        assert [each.error.hint for each in told] == ["Read it without only(...)."] * 2
        assert all(each.error.operation for each in told)
