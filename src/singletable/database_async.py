"""The awaiting shell: a database whose verbs are awaited, over asyncio's sockets.

Every verb runs a flow over a port, and both shells run the same flows. The blocking one starts no event loop, so it
works in scripts, threads, Lambda handlers and notebooks alike.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from singletable import records, tables
from singletable.connection import find_target
from singletable.errors import SingletableError
from singletable.expressions import Condition, Update
from singletable.flow import Capability, Meter, Rate, TableNames, Traits, at_rate
from singletable.operations import Key
from singletable.records import DEFAULT_MAX_PAGES, OnUnreadable, Page, flows
from singletable.schema import Collection, Entity, KeyOf, Query, ReadOf, Table, Whole
from singletable.target import Options, Target, port_options
from singletable.wire import AwaitingPort, Connections, CredentialSource, RetryPolicy, Timeouts

if TYPE_CHECKING:
    from singletable.events import Listener
    from singletable.records import (
        AwaitingTransaction,
        CheckRound,
        Explainable,
        Explanation,
        Finding,
        Layer,
        TableItems,
    )
    from singletable.tables import Description, Difference

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
E = TypeVar("E", bound=Entity)
C = TypeVar("C", bound=Collection)
DEFAULT_LIMIT = 100


def connect_async(
    target: str,
    *,
    region: str | None = None,
    credentials: CredentialSource | None = None,
    cursor_keys: Sequence[str | bytes] = (),
    retry: RetryPolicy | None = None,
    timeouts: Timeouts = Timeouts(),  # noqa: B008 frozen
    connections: Connections = Connections(),  # noqa: B008 frozen
    ca_file: str | None = None,
    traits: Traits | None = None,
    tables: Mapping[str, str] | None = None,
    table_prefix: str = "",
    listeners: Sequence[Listener] = (),
    show_keys: bool = False,
    clock: Callable[[], float] | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncDatabase:
    """A database at a target:

    * `"local"`: an engine of its own, in memory; `"local:data/app.db"`: on a file, shared by all who name that file.
    * `"aws"`: region, credentials, endpoint and proxy as every AWS tool finds them; `docs/how-to/connect.md` has all.
    * `"http://127.0.0.1:8000"`: an engine at an address. It is taken to do what DynamoDB does, unless `traits` say
      otherwise; `db.require(...)` finds out.

    No request is made. `tables` has the names in the account, or the ARNs, of tables that are declared under others, as
    `{"orders": "orders-7"}`; `table_prefix` begins the names of all others. Without either, SINGLETABLE_TABLE_NAMES and
    SINGLETABLE_TABLE_PREFIX say them. `cursor_keys` are secrets that seal the cursors of pages; the first seals, all
    open. `clock` gives seconds since 1970, and then decides alone what has expired and what is due; without it the
    service's time decides, whatever this machine's clock says. `environ` is this process's environment unless given.
    Without `retry` it is the library's own, with the attempts of AWS_MAX_ATTEMPTS. `timeouts` bounds connecting and
    each answer, in seconds: 3 and 10. `connections` is how many are in use at a time, and kept idle: 100 and as many.
    `listeners` are plain functions that are called with each event: `docs/how-to/watch.md` has all.
    With `show_keys` events, logs, spans and the texts of errors have keys in place of their hashes.
    Raises NotConfigured if the engine or the region is missing, or a setting can't be followed.
    """
    environ = os.environ if environ is None else environ
    names = TableNames.given(tables, table_prefix, environ)
    options = Options(
        *(region, credentials, cursor_keys, retry, timeouts, connections, ca_file),
        names=names,
        listeners=listeners,
        show_keys=show_keys,
        traits=traits,
        clock=clock,
    )
    return AsyncDatabase.at(find_target(target, options, environ), options)


class AsyncDatabase:
    """One table's, or several tables', database. Share it between tasks. Close it, or use it in `async with`.

    Every verb that sends raises Unavailable or Throttled if the service doesn't do the work within the deadline,
    Denied for credentials and permissions. One that reads raises Corrupt for an item that its class can't read; with
    `unreadable=found.append` it goes on with the others, and `found` has an `Unreadable` of each such item.
    """

    def __init__(self, port: AwaitingPort, target: Target) -> None:
        self.port = port
        self.target = target
        self._about = ""

    @classmethod
    def at(cls, target: Target, options: Options) -> AsyncDatabase:
        """A database at a target that was found already: `connect_async` finds it."""
        return cls(AwaitingPort(target.endpoint, target.credentials, port_options(target, options)), target)

    async def __aenter__(self) -> AsyncDatabase:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncDatabase at {self.target.endpoint.url}>"

    async def close(self) -> None:
        """Close the connections, and stop the embedded engine where this database started it. Sends nothing."""
        await self.port.close()
        if self.target.engine is not None:
            self.target.engine.stop()

    async def run(self, flow: Coroutine[Any, Any, T]) -> T:
        """Run any flow over this database's port: it costs what the flow sends. FlowSuspended in the blocking shell,
        where a flow awaits anything else."""
        try:
            return await flow
        except SingletableError as error:
            error.of_call(getattr(flow, "__name__", ""), self._about)
            self.port.tell(error)
            raise

    # --- reads --------------------------------------------------------------------------------------------------------
    @overload
    async def get(self, key: KeyOf[T], *, unreadable: OnUnreadable = None) -> T | None: ...
    @overload
    async def get(
        self, key: Whole[C], *, max_pages: int = DEFAULT_MAX_PAGES, unreadable: OnUnreadable = None
    ) -> C | None: ...
    async def get(self, key: Any, *, max_pages: int = DEFAULT_MAX_PAGES, unreadable: OnUnreadable = None) -> Any:
        """The entity under a key, or the collection of a partition; None if it is missing.

        One request; a collection takes one for each MB, and raises InvalidRequest past `max_pages` of them: a part of
        it would look like the whole. Half a read unit for each 4 KB; `key.consistent()` reads what was last written,
        for a whole one.
        """
        return await flows.get_any(self.port, key, max_pages, unreadable)

    async def get_many(
        self, keys: Iterable[KeyOf[T]], *, consistent: bool = False, unreadable: OnUnreadable = None
    ) -> list[T]:
        """The entities under the keys, in their order, without the missing ones. One round trip for 1,600.

        `Incomplete` carries the keys that could not be read for the table's rate.
        """
        return await flows.get_many(self.port, keys, consistent, unreadable)

    async def page(
        self,
        query: Query[T],
        *,
        limit: int = DEFAULT_LIMIT,
        after: str | None = None,
        principal: str | None = None,
        max_pages: int = DEFAULT_MAX_PAGES,
        unreadable: OnUnreadable = None,
    ) -> Page[T]:
        """Up to `limit` items in key order, from where the cursor `after` stands.

        One request, unless a filter leaves out most of what is read; then at most `max_pages`, and the page may hold
        fewer items.

        A cursor belongs to its query and to the `principal`, if one is given. InvalidCursor.
        """
        return await flows.page(self.port, query, limit, after, self.target.seal, principal, max_pages, unreadable)

    async def iter(
        self, query: Query[T], *, rate: Rate | None = None, unreadable: OnUnreadable = None
    ) -> AsyncIterator[T]:
        """Every item in key order; holds one page of up to 1 MB at a time.

        One request a page; half a read unit for each 4 KB, a whole one for a consistent query.
        """
        port = at_rate(self.port, rate)
        prepared = await flows.open_query(port, query, unreadable)
        position: Key | None = None
        while True:
            answer = await flows.read_page(port, prepared, position)
            for item in answer.items:
                yield item
            if (position := answer.after) is None:
                return

    async def all(
        self, query: Query[T], *, max_pages: int = DEFAULT_MAX_PAGES, unreadable: OnUnreadable = None
    ) -> list[T]:
        """Every item in key order, as a list; InvalidRequest past `max_pages` pages of up to 1 MB. Costs as `iter`."""
        return await flows.read_all(self.port, query, max_pages, unreadable)

    async def scan(
        self,
        kind: type[E],
        *,
        segment: int | None = None,
        segments: int = 1,
        consistent: bool = False,
        rate: Rate | None = None,
        unreadable: OnUnreadable = None,
    ) -> AsyncIterator[E]:
        """Every entity of a class, by reading the whole table in `segments` parts, up to 16 of them concurrently.

        With `segment` only that one of the disjoint parts, as for several processes. It costs the table's size,
        whatever it finds: for exports and repairs, not for requests. It holds one page of each part, up to 1 MB.
        Raises InvalidRequest for segments that are not 1 to 16, and for a segment outside them.
        """
        port = at_rate(self.port, rate)
        positions = flows.scan_positions(kind, segment, segments)
        while positions:
            for page in await flows.read_scan_pages(port, kind, positions, segments, consistent, unreadable):
                for item in page:
                    yield item

    @overload
    async def together(self, a: ReadOf[A], b: ReadOf[B], /, *, unreadable: OnUnreadable = ...) -> tuple[A, B]: ...
    @overload
    async def together(
        self, a: ReadOf[A], b: ReadOf[B], c: ReadOf[R], /, *, unreadable: OnUnreadable = ...
    ) -> tuple[A, B, R]: ...
    @overload
    async def together(
        self, a: ReadOf[A], b: ReadOf[B], c: ReadOf[R], d: ReadOf[T], /, *, unreadable: OnUnreadable = ...
    ) -> tuple[A, B, R, T]: ...
    @overload
    async def together(
        self, a: ReadOf[A], b: ReadOf[B], c: ReadOf[R], d: ReadOf[T], e: ReadOf[S], /, *, unreadable: OnUnreadable = ...
    ) -> tuple[A, B, R, T, S]: ...
    @overload
    async def together(self, *reads: ReadOf[R], unreadable: OnUnreadable = ...) -> tuple[R, ...]: ...
    async def together(self, *reads: Any, unreadable: OnUnreadable = None) -> tuple[Any, ...]:
        """The answers of different reads, in their order: of a key its entity or None, of a query a list, of a
        collection itself or None. A key with ANY or a range: `key.every()`, a list.

        One round trip for up to 16 reads; further pages are further ones. Units as of the reads alone. Raises the first
        error when the requests under way have ended; InvalidRequest for an invalid read, before any is sent.
        """
        return await flows.together(self.port, reads, unreadable)

    def explain(self, read: Explainable, *updates: Update) -> Explanation:
        """The requests of an access pattern, or of an update by a key, without sending them."""
        return flows.explain(read, *updates, now=self.port.now())

    # --- writes -------------------------------------------------------------------------------------------------------
    async def create(self, entity: Entity) -> None:
        """Write an item that is missing. Raises AlreadyExists if it is not, NotUnique for a unique value that is taken.

        One request: a write unit for each KB of the item, and of its entry in each index; a transaction, at twice the
        units, if the class has unique values.
        """
        await flows.create(self.port, entity)

    async def put(self, entity: Entity, *, where: Condition | None = None) -> None:
        """Write an item, replacing any under its key; with `where`, only one of its type that meets it. One request.

        A write unit for each KB of the item, and of its entry in each index. With unique values, or words of a search:
        a read, and a transaction. ConditionFailed, VersionMoved, NotUnique.
        """
        await flows.put(self.port, entity, where=where)

    @overload
    async def update(
        self,
        target: KeyOf[T],
        *updates: Update,
        where: Condition | None = None,
        expected: int | None = None,
        exactly_once: bool = False,
    ) -> T: ...
    @overload
    async def update(
        self,
        target: E,
        *updates: Update,
        where: Condition | None = None,
        expected: int | None = None,
        exactly_once: bool = False,
    ) -> E: ...
    async def update(
        self,
        target: Any,
        *updates: Update,
        where: Condition | None = None,
        expected: int | None = None,
        exactly_once: bool = False,
    ) -> Any:
        """Change attributes of an existing item, named by its key or itself. Returns the changed entity.

        Raises NotFound, ConditionFailed, NotUnique; Applied if it took effect and the item can't be read; VersionMoved
        if the entity counts its writes, or `expected=` is given, and the item was written since it was read.

        One request; a read more where an index key needs values that neither the target nor the updates hold, and
        before NotFound. Of a unique value or a searched text two more, and a transaction. `add` and `append` are sent
        once: a lost answer is OutcomeUnknown, unless `exactly_once` (a transaction and a read).
        """
        return await flows.update(self.port, target, updates, where=where, expected=expected, exactly_once=exactly_once)

    async def upsert(self, entity: E, *updates: Update, exactly_once: bool = False) -> E:
        """Apply the updates to the item; if it is missing, write the entity with them applied.

        Without updates, write all of the entity's attributes. Returns the changed entity. One request; a second one
        where the updates need the item to be there, and it is not. NotUnique; OutcomeUnknown as `update`.
        """
        changed: E = await flows.upsert(self.port, entity, updates, exactly_once)
        return changed

    @overload
    async def delete(
        self, target: KeyOf[T], *, where: Condition | None = None, expected: int | None = None
    ) -> T | None: ...
    @overload
    async def delete(self, target: E, *, where: Condition | None = None, expected: int | None = None) -> E | None: ...
    async def delete(self, target: Any, *, where: Condition | None = None, expected: int | None = None) -> Any:
        """Delete an item, named by its key or itself. Returns the deleted entity, None if it was missing.

        Raises ConditionFailed, VersionMoved. One request; a read more if a condition is given and the item is missing,
        or if it has unique values or words of a search.
        """
        return await flows.delete(self.port, target, where=where, expected=expected)

    async def write_many(
        self,
        *,
        puts: Iterable[Entity] | AsyncIterable[Entity] = (),
        deletes: Iterable[KeyOf[Any] | Entity] | AsyncIterable[KeyOf[Any] | Entity] = (),
        rate: Rate | None = None,
    ) -> None:
        """Put entities and delete those, or their keys: each by itself, in no order, 25 a request.

        What has a length is checked whole before anything is sent. An iterator is sent while it is read, at most 400
        writes of a table at a time; a key that is among those already is refused. Raises Incomplete, with what was not
        done, and in `read` how far the iterators were read.
        """
        await flows.write_many(at_rate(self.port, rate), puts, deletes)

    def transaction(self) -> AwaitingTransaction:
        """Writes and checks of up to 100 items, sent as one atomic request when the block ends without an error."""
        return records.AwaitingTransaction(self.port)

    # --- the database itself ------------------------------------------------------------------------------------------
    async def require(self, *capabilities: Capability, table: Table | None = None) -> Traits:
        """Raises NotSupported if the engine lacks one of the capabilities: call it at a program's start.

        `transactions`, `streams`, `expiry`, `refused items`, `isolated writes`, `whole indexes`; the last three are
        looked for in `table`. Returns what is known then, for `connect(..., traits=)`. On AWS and the embedded engine
        it sends nothing; at an address each costs one request once, `refused items` two, `isolated writes` up to three
        at each call. `whole indexes` cost one at each call, anywhere: NotConfigured if an index holds less than
        declared.
        """
        definition = None if table is None else table.definition
        self.port.traits = await tables.find_capabilities(self.port, capabilities, definition)
        await tables.check_capabilities(self.port, capabilities, definition)
        return self.port.traits

    def meter(self) -> Meter:
        """Counts requests, round trips, bytes and capacity for as long as its `with` block lasts."""
        return Meter()

    async def check(
        self,
        table: Table,
        *layers: Layer,
        segments: int | None = None,
        sample: float | None = None,
        seed: int = 0,
        rate: Rate | None = None,
        progress: Callable[[CheckRound], object] | None = None,
        from_export: TableItems | None = None,
    ) -> list[Finding]:
        """Check a table: types, versions, keys, index keys, guards of unique values, copies, and its graph.

        With layers of the table, such as its `Tasks`, `Changes` or `Documents(db, Project)`, also theirs. It reads the
        whole table consistently, in 4 `segments` at once (1 off AWS), and changes nothing; [] for a sound one. An item
        with findings is read a second time. With `sample=0.01` it reads a hundredth of it, which `seed` decides; checks
        that need the whole table are left out. `progress` is called after each round of pages.

        With `from_export`, as `export_of(shop, "s3://...")`, it checks the items of that export, each alone, and sends
        nothing: what compares items with others, with indexes or with contents is left out. Corrupt for a damaged one.

        InvalidRequest for segments that are not 1 to 16, for a sample that is not a part, and for an export of another
        table; Throttled from a table that refuses for minutes on end.
        """
        port = at_rate(self.port, rate)
        options: Any = {"segments": segments, "sample": sample, "seed": seed, "progress": progress}
        return await flows.check(port, table, layers, **options, from_export=from_export)

    async def create_table(self, table: Table) -> Description:
        """Create a table and wait until it is active. Two requests and more, no units.

        NotConfigured if a table of its name is there and differs from its declaration.
        """
        return await flows.create_table(self.port, table)

    async def describe_table(self, table: Table) -> Description | None:
        """The service's description of a table: state, size, indexes; None if it is missing. Two requests, no units."""
        return await flows.describe_table(self.port, table)

    async def diff_table(self, table: Table) -> list[Difference]:
        """The differences between a table and its declaration. Two requests. Raises NotFound if the table is
        missing."""
        return await flows.diff_table(self.port, table)

    async def sweep_table(self, table: Table, *, orphans: bool = False, rate: Rate | None = None) -> int:
        """Delete expired items, and complete deletions of nodes. Returns the number of items and nodes deleted.

        It reads the whole table, half a read unit for each 4 KB; a graph's once or twice more, consistently. Expiry
        is judged by the service's time; DynamoDB deletes by itself, within days and at no cost, and so does an embedded
        engine of a file. `orphans` removes edges without both nodes, too: not while load() runs.
        """
        return await flows.sweep_table(at_rate(self.port, rate), table, orphans)

    async def delete_table(self, table: Table) -> bool:
        """Delete a table and everything in it; returns False if it is missing. One request, no units.

        Raises InvalidRequest if the table is protected from deletion.
        """
        return await flows.delete_table(self.port, table)
