"""Plain items of a table, bound to a database."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from singletable.flow import Rate, about, at_rate, check_awaiting
from singletable.foundation import DEFAULT_LIMIT, DEFAULT_MAX_PAGES, AwaitingDatabase, Page, Table
from singletable.operations import Key
from singletable.raw import flows, statements, writes
from singletable.raw.items import NONE, RawItem, RawTable, condition
from singletable.raw.queries import RawQuery
from singletable.raw.writes import RawWrites, delete_of, put_of, update_of


class AsyncRaw:
    """Plain items of a table: dicts of attributes by their stored names, of the table's classes or of none.

        raw = AsyncRaw(db, "orders")
        await raw.put({"pk": "ORDER#42", "amount": Decimal("9.90")}, where="attribute_not_exists(pk)")

    Conditions are text, as DynamoDB has them, with `values` for what begins with a colon, and `names` for what begins
    with #. It writes the item alone: not the index keys, guards of unique values, copies and edge sets that a
    class has, and no type or version. On a table of classes `db.check(table)` names what a raw write made stale.
    """

    def __init__(self, db: AwaitingDatabase, table: Table | str) -> None:
        check_awaiting(db, "AsyncRaw")
        self.table = RawTable(table)
        self.db = about(db, self.table)

    def __repr__(self) -> str:
        return f"<AsyncRaw of {self.table.name}>"

    # --- reads --------------------------------------------------------------------------------------------------------
    async def get(
        self, key: Mapping[str, Any], *, consistent: bool = False, only: str = "", names: Mapping[str, str] = NONE
    ) -> RawItem | None:
        """The item under a key, or None. One request: half a read unit for each 4 KB, a whole one if consistent.

        NotConfigured if the table is missing.
        """
        return await self.db.run(flows.get(self.db.port, self.table, key, only, names, consistent=consistent))

    async def get_many(
        self, keys: Iterable[Mapping[str, Any]], *, consistent: bool = False, at_once: bool = False
    ) -> list[RawItem]:
        """The items under the keys, in their order, without the missing ones. One round trip for 1,600.

        `at_once` reads up to 100 at one point in time, in one request, at twice the units of a consistent read.
        `Incomplete` carries the keys that could not be read for the table's rate.
        """
        flow = flows.get_many(self.db.port, self.table, keys, consistent=consistent, at_once=at_once)
        return await self.db.run(flow)

    async def page(
        self,
        query: RawQuery,
        *,
        limit: int = DEFAULT_LIMIT,
        after: str | None = None,
        principal: str | None = None,
        max_pages: int = DEFAULT_MAX_PAGES,
    ) -> Page[RawItem]:
        """Up to `limit` items in key order, from where the cursor `after` stands.

        One request, unless a filter leaves out most of what is read; then at most `max_pages`, and the page may hold
        fewer items. A cursor belongs to the table, the key condition with its values, and the `principal`.
        InvalidCursor.
        """
        seal = self.db.target.seal
        flow = flows.page(self.db.port, self.table, query, limit, after, seal, principal, max_pages)
        return await self.db.run(flow)

    async def iter(self, query: RawQuery, *, rate: Rate | None = None) -> AsyncIterator[RawItem]:
        """Every item in key order, or of a scan in none; holds one page of up to 1 MB at a time. One request a page.

        InvalidRequest for texts that the service refuses.
        """
        port = at_rate(self.db.port, rate)
        position: Key | None = None
        while True:
            answer = await self.db.run(flows.read_page(port, self.table, query, position))
            for item in answer.items:
                yield item
            if (position := answer.after) is None:
                return

    async def all(self, query: RawQuery, *, max_pages: int = DEFAULT_MAX_PAGES) -> list[RawItem]:
        """Every item, as a list; InvalidRequest past `max_pages` pages of up to 1 MB. Costs as `iter`."""
        return await self.db.run(flows.read_all(self.db.port, self.table, query, max_pages))

    # --- writes -------------------------------------------------------------------------------------------------------
    async def put(
        self,
        item: Mapping[str, Any],
        *,
        where: str = "",
        names: Mapping[str, str] = NONE,
        values: Mapping[str, Any] = NONE,
    ) -> None:
        """Write an item, over the one there may be; with `where`, only if the stored one meets it. One request.

        A write unit for each KB of the item, and of its entry in each index. ConditionFailed; OutcomeUnknown if an
        answer was lost and the condition then fails.
        """
        operation = put_of(self.table.name, item, condition(where, names, values, "put"))
        await self.db.run(writes.send(self.db.port, self.table, operation, "put", where))

    async def update(
        self,
        key: Mapping[str, Any],
        changes: str,
        *,
        where: str = "",
        names: Mapping[str, str] = NONE,
        values: Mapping[str, Any] = NONE,
    ) -> RawItem:
        """Change attributes, as in `"SET amount = :a ADD n :one"`. Returns the changed item. One request.

        A missing item is created, as DynamoDB does: `where="attribute_exists(pk)"` refuses that. It is sent once, so a
        lost answer is OutcomeUnknown; a transaction settles it. ConditionFailed.
        """
        operation = update_of(self.table.name, key, changes, condition(where, names, values, "update"))
        changed = await self.db.run(writes.send(self.db.port, self.table, operation, "update", where))
        return changed or {}

    async def delete(
        self,
        key: Mapping[str, Any],
        *,
        where: str = "",
        names: Mapping[str, str] = NONE,
        values: Mapping[str, Any] = NONE,
    ) -> RawItem | None:
        """Delete an item; returns it, or None if it was missing. One request. ConditionFailed; OutcomeUnknown as
        `put`."""
        operation = delete_of(self.table.name, key, condition(where, names, values, "delete"))
        return await self.db.run(writes.send(self.db.port, self.table, operation, "delete", where))

    async def write_many(
        self,
        *,
        puts: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]] = (),
        deletes: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]] = (),
        rate: Rate | None = None,
    ) -> None:
        """Put items and delete keys: each by itself, in no order, 25 a request, without conditions.

        Iterators are sent while they are read, as by `Database.write_many`. Raises Incomplete, with what was not done.
        """
        await self.db.run(flows.write_many(at_rate(self.db.port, rate), self.table, puts, deletes))

    def transaction(self) -> AsyncRawTransaction:
        """Writes and checks of up to 100 items, sent as one atomic request when the block ends without an error, at
        twice the units. Raises TransactionCancelled, whose `failures` say which writes were refused."""
        return AsyncRawTransaction(self.db, self.table)

    # --- statements ---------------------------------------------------------------------------------------------------
    async def execute(
        self, statement: str, *values: Any, consistent: bool = False, max_pages: int = DEFAULT_MAX_PAGES
    ) -> list[RawItem]:
        """The items that a statement of PartiQL returns: `execute("SELECT * FROM {table} WHERE pk = ?", "c1")`.

        `{table}` is the table, with its name in the account; the question marks are the values. One request a page of
        up to 1 MB. A SELECT without the whole partition key reads the whole table. A write is sent once: a lost
        answer is OutcomeUnknown. ConditionFailed, AlreadyExists; NotSupported if the engine has no statements.
        """
        found = statements.statement_of(statement, values, self.table)
        flow = statements.execute(self.db.port, self.table, found, max_pages, consistent=consistent)
        return await self.db.run(flow)

    async def select(
        self, statement: str, *values: Any, consistent: bool = False, rate: Rate | None = None
    ) -> AsyncIterator[RawItem]:
        """The items that a SELECT reads; holds one page of up to 1 MB at a time. One request a page.

        InvalidRequest for another statement.
        """
        found = statements.select_of(statement, values, self.table)
        port = at_rate(self.db.port, rate)
        after: str | None = None
        while True:
            answer = await self.db.run(statements.read_page(port, self.table, found, after, consistent=consistent))
            for item in answer.items:
                yield item
            if (after := answer.after) is None:
                return

    async def execute_many(self, given: Sequence[tuple[str, Sequence[Any]]]) -> list[RawItem | None]:
        """Statements of one item each with their values, all reads or all writes: each by itself.

        25 a request, 16 requests in a round trip. Returns the items that they read. Raises Incomplete, with the
        statements that were not done.
        """
        return await self.db.run(statements.execute_many(self.db.port, self.table, given))

    async def execute_together(self, given: Sequence[tuple[str, Sequence[Any]]]) -> list[RawItem | None]:
        """Up to 100 statements of one item each, all reads or all writes: all of them, or none.

        One request, at twice the units. TransactionCancelled says which were refused.
        """
        return await self.db.run(statements.execute_together(self.db.port, self.table, given))


class AsyncRawTransaction(RawWrites):
    """The writes of a transaction, sent when its block ends."""

    def __init__(self, db: AwaitingDatabase, table: RawTable) -> None:
        super().__init__(table)
        self._db, self._table = db, table

    async def __aenter__(self) -> AsyncRawTransaction:
        self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._end()
        if error is None:
            db = self._db
            await db.run(writes.commit(db.port, self._table, self.pending))
