"""Situations of a whole program: what it holds, and another version of it."""

from __future__ import annotations

from typing import Any

from obstore.store import MemoryStore

from singletable import Entity, Key, Table
from singletable.documents import AsyncDocuments, Bounds, Document, Draft, ObjectBlobs
from tests.situations.program import Program
from tests.situations.shop import Shop, make_shop, schedule, work
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
    "Two versions of the program",
    shows="""
        returned after
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
