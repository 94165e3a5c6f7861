"""Situations of a whole program: what it holds, and another version of it."""

from __future__ import annotations

from typing import Any

from obstore.store import MemoryStore

from examples.recipes.n_plus_one import ReadsInALoop
from singletable import Entity, Key, Table
from singletable.documents import AsyncDocuments, Bounds, Document, Draft, ObjectBlobs
from tests.situations.program import Program
from tests.situations.shop import Shop, make_shop, schedule, totals, work
from tests.situations.situation import situation


@situation(
    "A full inbox",
    shows="""
        20 mutations wait in the document's inbox, and one comes that can't be applied now either
        check() says what they wait for
        """,
    cause="""Mutations of a client wait behind a number that has never come, or for a program that knows them. The
        inbox takes no more of those; what can be applied is applied.""",
    todo="`singletable check` says what is missing; `collect_garbage` removes what has waited for a day.",
)
async def full_inbox(program: Program) -> None:
    table = Table("boards")

    class Board(Document, table=table, bounds=Bounds(waiting=20)):
        title: str = ""

    @Board.mutation
    def rename(draft: Draft[Board], *, title: str) -> None:
        draft.title = title

    program.engine.create_table(table)
    boards = AsyncDocuments(program.open(), Board, blobs=ObjectBlobs(MemoryStore()))
    await boards.create("an organisation", "a board")
    for number in range(21):
        await boards.submit("a board", [rename(title="x").by(f"client-{number}", 2)])


def _next_version(shop: Shop) -> Any:
    """The class of orders as the next version of the program has it."""

    class Order(Entity, table=shop.table, type="order", version=2):
        customer: str
        number: int
        cents: int = 0

        @shop.table.key
        @staticmethod
        def of_customer(customer: str, number: int) -> Key:
            return f"customer#{customer}", f"order#{number:06}"

    @Order.upcast(1)
    def to_cents(item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "cents": 100 * item["total"]}

    return Order


@situation(
    "N+1: reads in a loop",
    shows="""
        shop.py:
        in totals reads Order.of_customer one by one, 50 in one request
        read them together, by get_many or a query
        """,
    cause="""A line reads an item for each row of a list, one request after the other. No request is slow, and the page
        is. A listener of [this recipe](../../examples/recipes/n_plus_one.py) says which line it is.""",
    todo="Read the items together, by `get_many`, or as one query; [budgets](test.md) find it before production.",
)
async def n_plus_one(program: Program) -> None:
    shop, reads = make_shop(), ReadsInALoop()
    db = program.open(listeners=(reads,))
    await db.write_many(puts=[shop.order(customer="ada", number=number) for number in range(50)])
    with reads.request():
        await totals(db, [shop.order.of_customer("ada", number) for number in range(50)])


@situation(
    "Two versions of the program",
    shows="""
        returned, which counts as no try, after
        UnknownTask: this program has no task 'refund'
        Newer: an item of Order has schema version 2; this program knows version 1
        """,
    records="WARNING TaskEnded",
    cause="""A newer version of the program wrote an item and scheduled a task, and an older one meets them: a
        deployment is under way, or was rolled back.""",
    todo="""Deploy the newer version everywhere. A task waits an hour for it;
        [two versions at once](versions.md) can share items by `stored_as`.""",
)
async def two_versions(program: Program) -> None:
    newer, older, db = make_shop(with_orders=False), make_shop(), program.open()

    @newer.tasks.task
    async def refund(number: int) -> None:
        raise AssertionError("the older program does not have it")

    await db.put(_next_version(newer)(customer="ada", number=1, cents=100))
    await schedule(db, newer, refund(1))
    await program.work_for(0.5, work(db, older))
    await db.get(older.order.of_customer("ada", 1))
