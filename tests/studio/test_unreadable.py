"""Items that their class can't read: pages show the others and name these, and none fails for one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from singletable import ANY, Collection, Entity, Key, Table, collect, connect_async, field
from singletable.foundation import model_of, type_in
from singletable.operations import PutItem
from tests.studio.applications import TABLES, Application, filled
from tests.studio.test_hostile import Links, followed
from tests.studio.visitor import Visitor, shown, visiting
from tests.support.engines import awaiting, fresh
from tests.support.raw import all_items, put_raw

shelf = Table("shelf", indexes=["gsi1"])


class Reader(Entity, table=shelf, type="reader"):
    email: str = field(personal=True)
    age: int = 0

    @shelf.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One."""
        return f"reader#{email}", "a"


class Book(Entity, table=shelf, type="book"):
    email: str = field(personal=True)
    number: int
    pages: int = 0

    @shelf.key
    @staticmethod
    def of_reader(email: str, number: int = ANY) -> Key:
        """The books of a reader."""
        return f"reader#{email}", f"book#{number}"

    @shelf.index("gsi1")
    @staticmethod
    def by_number(number: int = ANY) -> Key:
        """All books."""
        return "books", f"{number}"


class Lent(Collection):
    reader: Reader | None
    books: list[Book]

    by_email = collect(Reader.by_email)


EMAIL = "ada@example.org"
READER, BOOK = "age: an item of Reader can't be read", "pages: an item of Book can't be read"
PATTERNS: dict[str, tuple[int, list[str]]] = {
    f"Book/of_reader?email={EMAIL}&limit=25": (9, [BOOK, BOOK]),
    "Book/by_number?limit=25": (9, [BOOK, BOOK]),
    f"Book/of_reader?email={EMAIL}&number=3": (0, [BOOK]),
    f"Book/of_reader?email={EMAIL}&number=4": (1, []),
    f"Lent/by_email?email={EMAIL}": (9, [READER, BOOK, BOOK]),
    f"Reader/by_email?email={EMAIL}": (0, [READER]),
}
"""What each page finds and names, of a reader and eleven books of whom the reader and two books can't be read."""


@pytest.fixture
async def visitor() -> AsyncIterator[Visitor]:
    with fresh() as opened:
        opened.run(put_raw(opened.port, Book, model_of(Reader).item(Reader(email=EMAIL)) | {"age": {"S": "zebra"}}))
        for number in range(11):
            item = model_of(Book).item(Book(email=EMAIL, number=number))
            opened.run(put_raw(opened.port, Book, item | ({"pages": {"S": "zebra"}} if number in (3, 7) else {})))
        async with awaiting(opened) as db, visiting(db, shelf) as made:
            yield made


@pytest.mark.parametrize("path", PATTERNS)
async def test_a_pattern_page_shows_the_others_and_names_them(visitor: Visitor, path: str) -> None:
    found, named = PATTERNS[path]
    page = await visitor.json(f"/patterns/shelf/{path.replace('?', '.json?')}&run=1")
    html = await visitor.page(f"/patterns/shelf/{path}&run=1")
    assert page["found"] == found
    assert sorted(each["why"].rpartition(":")[0] for each in page["unread"]) == sorted(named)
    assert ("can't be read" in shown(html)) is bool(named)
    assert "zebra" not in html
    links = [link for link in Links(html.partition('id="unread"')[2]).found if link.startswith("/item/")]
    assert len(links) == len(page["unread"])
    for link, each in zip(links, page["unread"], strict=True):
        assert EMAIL not in link
        assert each["why"].partition(": ")[2] in shown(await visitor.page(link))


@pytest.fixture(params=list(TABLES))
def spoilt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """Of each class one item in three can't be read, of the library's own too."""
    for made in filled(request.param, tmp_path_factory.mktemp("applications")):
        spoil(made)
        yield made


def spoil(application: Application, is_spoilt: Callable[[str, int], bool] = lambda kind, n: n % 3 == 0) -> None:
    """Those items of which it is asked, by their class and their number in it."""
    db, table = application.db, application.table
    seen: Counter[str] = Counter()
    for item in db.run(all_items(db.port, table.name)):
        model = table.model_of_type(type_in(table, item))
        stored = [f.stored for f in model.fields if f.stored in item] if model is not None else []
        if (names := [name for name in stored if name not in table.definition.reserved]) and model is not None:
            if is_spoilt(model.kind.__name__, seen[model.type]):
                other: Any = {"M": {}} if "M" not in item[names[0]] else {"BOOL": True}
                db.run(db.port.send(PutItem(table.name, item | {names[0]: other})))
            seen[model.type] += 1


async def test_no_page_fails_for_one(spoilt: Application) -> None:
    """But the page of a document whose own rows can't be read, which says so."""
    async with connect_async(spoilt.target) as db, visiting(db, spoilt.table, module=spoilt.module) as visitor:
        for path in await followed(visitor, "/", most=150):
            answer = await visitor.client.get(path)
            if answer.status_code == 422:
                assert path.startswith("/documents/projects/Project?id=")
                assert "can't be read" in shown(answer.text)
            else:
                assert answer.status_code < 422, path


async def test_the_lists_of_a_document_go_past_them(tmp_path: Path) -> None:
    """Of a document that can be read: one version of its history, a tag, a branch; clients."""
    named: dict[str, list[str]] = {}
    for application in filled("projects", tmp_path):
        spoil(application, lambda kind, n: kind in ("ClientRecord", "Tag", "Branch") or (kind == "Version" and n == 0))
        async with connect_async(application.target) as db, visiting(db, application.table) as visitor:
            for page in ("history", "inbox"):
                found = await visitor.json(f"/documents/projects/Project/{page}.json?id=lighthouse")
                named[page] = sorted({each["kind"] for each in found["unread"]})
    history = ["Project.Branch", "Project.Tag", "Project.Version"]
    assert named == {"history": history, "inbox": ["Project.ClientRecord"]}
