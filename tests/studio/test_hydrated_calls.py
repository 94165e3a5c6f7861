"""A pattern by an index that holds less than its class: the studio and the program read the items by their keys."""

from __future__ import annotations

from click.testing import CliRunner

from singletable import ANY, AsyncDatabase, Entity, Index, Key, Table
from singletable.cli.app import app
from tests.studio.visitor import shown, visiting

shelf = Table("shelf", indexes={"small": Index("gsi1pk", "gsi1sk", projection="keys")})


class Book(Entity, table=shelf, type="book"):
    id: str
    topic: str
    title: str = ""

    @shelf.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One book."""
        return f"book#{id}", "book"

    @shelf.index("small")
    @staticmethod
    def of_topic(topic: str, id: str = ANY) -> Key:
        """The books of a topic."""
        return f"topic#{topic}", f"{id}"


async def test_the_studio_shows_whole_items_and_both_requests(db: AsyncDatabase) -> None:
    await db.write_many(puts=[Book(id=str(n), topic="sea", title=f"Waves {n}") for n in range(3)])
    async with visiting(db, shelf) as visitor:
        html = shown(await visitor.page("/patterns/shelf/Book/of_topic?topic=sea&run=1&limit=10"))
        assert "Waves 2" in html
        assert 'db.page(Book.of_topic("sea").hydrated(), limit=10)' in html.replace("'", '"')
        page = await visitor.json("/patterns/shelf/Book/of_topic.json?topic=sea&run=1&limit=10")
    assert [(sent["operation"], sent["body"].get("Limit")) for sent in page["sent"]] == [
        ("Query", 10),
        ("BatchGetItem", None),
    ]


ITEMS = "BatchGetItem shelf: 0.5 read unit for each 4 KB of each item; 100 items a request"


def test_the_program_explains_both_requests() -> None:
    ran = CliRunner().invoke(app, ["explain", __name__, "Book.of_topic", "sea"])
    assert ran.exit_code == 0, ran.output
    query, items = (line for line in ran.output.splitlines() if "read unit" in line)
    assert query.endswith("read unit for each 4 KB of the entries of each page of 1 MB, together")
    assert items.startswith(ITEMS)
