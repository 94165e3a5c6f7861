"""Hostile content in graphs, documents and work: names of classes, keys, attributes, clients, tags, tasks, errors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from singletable import ANY, Database, Entity, Key, Table
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs
from singletable.graph import Edge, Graph, GraphTable, Node
from singletable.streams import Changes, ChangeWorker
from singletable.studio.addresses import segment
from singletable.studio.pages import pages
from singletable.tasks import Tasks, TaskWorker
from tests.studio.test_hostile import IN_KEYS, LAYERS, NASTY, all_text, followed
from tests.studio.visitor import kinds_of, visiting
from tests.support.engines import awaiting, fresh

MEGABYTE = NASTY * (1_000_000 // len(NASTY))
web = GraphTable("web", indexes=["gsi0"])
boards = Table("boards", indexes=["gsi1"])
shop = Table("shop", indexes=["gsi1"], stream="new_and_old")
tasks = Tasks(shop, index="gsi1")
changes = Changes(shop, name="bills")


class Knot(Node, table=web, type="KNOT"):
    __doc__ = NASTY
    title: str


class Tie(Edge[Knot, Knot], table=web, type="TIE", mirrors=("label",)):
    __doc__ = NASTY
    label: str

    @web.index("gsi0")
    @staticmethod
    def by_label(label: str = ANY) -> str:
        return f"{label}"


class Board(Document, table=boards, index="gsi1"):
    __doc__ = NASTY
    name: str = ""
    shapes: Items[str]


@Board.mutation
def put_shape(draft: Draft[Board], *, id: str, text: str) -> None:
    draft.shapes[id] = text


@Board.mutation
def refuse(draft: Draft[Board]) -> None:
    raise ValueError(NASTY)


class Order(Entity, table=shop, type="order"):
    id: str
    note: str = ""

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"order#{id}", "order"


@changes.on(Order).inserted
def bill(change: object) -> None:
    raise ValueError(NASTY)


@tasks.task(tries=1)
def ship(id: str) -> None:
    raise ValueError(NASTY)


NAMED = NASTY.replace("\0", "")
HOSTILE_NAMES = {kind: f"{kind.__name__}/../{NAMED}" for kind in (Knot, Tie, Board, Order)}
for kind, name in HOSTILE_NAMES.items():
    kind.__name__ = kind.__qualname__ = name


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        yield db


async def visited(db: Database, table: Table, begin: tuple[str, ...], blobs: Path | None = None) -> set[str]:
    """Which pages were there; all that they show is text."""
    store = LocalBlobs(blobs) if blobs is not None else None
    async with awaiting(db) as opened, visiting(opened, table, write=True, blobs=store) as visitor:
        paths = await followed(visitor, *begin, most=90)
        await all_text(visitor, paths)
        return kinds_of(paths)


def of(section: str) -> set[str]:
    """The pages of a section."""
    return {page.path for page in pages() if page.path.split("/")[1] == section}


async def test_graph(db: Database) -> None:
    db.create_table(web)
    one, other = Knot(id="one", title=NASTY), Knot(id=IN_KEYS, title=NASTY * 50)
    Graph(db).load([one, other], [Tie(source=one, target=other, label=IN_KEYS)])
    found = await visited(db, web, ("/", "/graph/web", "/graph/web?node=KNOT-one"))
    assert of("graph") <= found


async def test_documents(db: Database, tmp_path: Path) -> None:
    db.create_table(boards)
    made = Documents(db, Board, blobs=LocalBlobs(tmp_path))
    made.create(IN_KEYS, "b1", name=NASTY)
    made.apply("b1", [put_shape(id=IN_KEYS, text=MEGABYTE).by(IN_KEYS, 1, principal=NASTY)])
    made.apply("b1", [put_shape(id="s2", text=NASTY).by("ben", 1), refuse().by("ben", 2)])
    made.tag("b1", IN_KEYS)
    made.branch("b1", "b2", parent=IN_KEYS)
    made.submit("b1", [put_shape(id="s3", text=NASTY).by("eve", 7, principal=NASTY)])
    path = f"/documents/boards/{quote(segment(HOSTILE_NAMES[Board]), safe='')}"
    item = quote(f"shapes/{IN_KEYS}", safe="")
    asked = (f"?id=b1&since=0&item={item}", "/collection?id=b1&version=2&collection=shapes", "/restore?id=b1&version=1")
    found = await visited(db, boards, ("/documents/boards", *(path + each for each in asked)), tmp_path)
    assert of("documents") <= found


async def test_work(db: Database) -> None:
    db.create_table(shop)
    ChangeWorker(db, changes).drain(tries=1, backoff_seconds=0)
    db.create(Order(id=IN_KEYS, note=NASTY))
    ChangeWorker(db, changes).drain(tries=1, backoff_seconds=0)
    for minutes, order in ((0, None), (10, IN_KEYS)):
        with db.transaction() as tx:
            tx.add(tasks.after(timedelta(minutes=minutes), ship(NASTY), key=f"{minutes}{IN_KEYS}", order=order))
    TaskWorker(db, tasks).drain()
    found = await visited(db, shop, ("/work/shop",))
    assert of("work") <= found


def test_every_section_is_visited() -> None:
    assert {page.path.split("/")[1] for page in pages()} >= set(LAYERS)
