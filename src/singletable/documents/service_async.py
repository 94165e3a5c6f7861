"""The documents of one class, for the awaiting shell: `AsyncDocuments(db, Project)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from singletable.documents import flows
from singletable.documents.belongings import DocumentBelongings
from singletable.documents.blobs import BlobStore
from singletable.documents.changes import Diff, ItemChange
from singletable.documents.check import document_checks
from singletable.documents.contents import MAX_CONTENT_BYTES
from singletable.documents.context import Authoriser, Context, context_of
from singletable.documents.document import Document, Items
from singletable.documents.families import Relative
from singletable.documents.garbage import Collected
from singletable.documents.merge import Merge, Side
from singletable.documents.mutations import Mutation, Outcome, Ref, Submission
from singletable.documents.replay import Replay
from singletable.documents.rows import Listing, MutationRecord, Tag, Version
from singletable.documents.snapshots import collection_model, names_of
from singletable.flow import about, check_awaiting
from singletable.foundation import (
    DEFAULT_LIMIT,
    AwaitingDatabase,
    Finding,
    LayerBelongings,
    LayerChecks,
    OnUnreadable,
    Page,
)
from singletable.values import check_texts

T = TypeVar("T")
D = TypeVar("D", bound=Document)


class AsyncDocuments(Generic[D]):
    """The documents of one class in a database, with their contents in a blob store. Can be shared between tasks.

    Blobs and mutations run in threads, off the event loop.

    `blobs` is the store of contents, unless the class has one; without either, NotConfigured is raised. `authorise` is
    called before each mutation, with the submission and the draft, and rejects it by raising an error.
    `max_content_bytes` is the limit of one item, uncompressed. Raises NotSupported if the engine is known to lack
    transactions.
    """

    def __init__(
        self,
        db: AwaitingDatabase,
        kind: type[D],
        *,
        blobs: BlobStore | None = None,
        authorise: Authoriser | None = None,
        max_content_bytes: int = MAX_CONTENT_BYTES,
    ) -> None:
        check_awaiting(db, "AsyncDocuments")
        db.port.traits.check("transactions", "AsyncDocuments")
        self.context: Context[D] = context_of(
            kind, blobs, db.target.seal, max_content_bytes, authorise, is_direct=False, port=db.port
        )
        self.db = about(db, self.context.model.table)

    def __repr__(self) -> str:
        return f"<AsyncDocuments of {self.context.kind.__name__}>"

    # --- writes -------------------------------------------------------------------------------------------------------
    async def create(self, parent: str, document_id: str, **scalars: Any) -> D:
        """Create a document of a parent, as version 0. One request. Raises AlreadyExists."""
        return await self.db.run(flows.create(self.db.port, self.context, parent, document_id, scalars))

    async def submit(self, document_id: str, mutations: Sequence[Submission]) -> list[Outcome]:
        """Put clients' mutations into the inbox, in any order. They are durable when it returns. Raises NotFound.

        Returns the status of each: `waiting`, or its outcome if it was processed before. Two round trips.
        """
        return await self.db.run(flows.submit(self.db.port, self.context, document_id, mutations))

    async def process(self, document_id: str) -> list[Outcome]:
        """Apply waiting mutations until none can be applied. Returns the outcomes that this call produced, in order.

        Each client's mutations are applied in the order of its ids, up to 40 in a version. Those after a missing id
        wait. Any number of processors may work on a document concurrently. Four round trips for each version, and one
        of blobs. NotFound; Corrupt if a content that a mutation needs is lost, and nothing else is left to apply.
        """
        return await self.db.run(flows.process(self.db.port, self.context, document_id))

    async def apply(self, document_id: str, mutations: Sequence[Submission]) -> list[Outcome]:
        """Submit and process, at the cost of both. Returns the outcome of each, in order. NotFound."""
        return await self.db.run(flows.apply(self.db.port, self.context, document_id, mutations))

    async def submit_next(
        self, document_id: str, client: str, mutation: Mutation, *, principal: str | None = None
    ) -> Submission:
        """Put a mutation into the inbox under the client's next free id, for clients that keep no count.

        Four round trips. Call `process` to have it applied. Raises NotFound.
        """
        return await self.db.run(
            flows.submit_next(self.db.port, self.context, document_id, client, mutation, principal)
        )

    async def restore(
        self, document_id: str, *, version: int, by: str, over: int | None = None, principal: str | None = None
    ) -> Outcome:
        """Restore a document to a version, as the next mutation of the client `by`. Returns its outcome.

        `over=7` is the version that it replaces: if the document has changed since, whichever processor finds that out,
        the outcome is rejected and says so.

        The round trips of `at`, and those of one version of `process`; no content is copied. NotFound.
        """
        return await self.db.run(flows.restore(self.db.port, self.context, document_id, version, by, principal, over))

    async def branch(self, document_id: str, new: str, *, version: int | None = None, parent: str | None = None) -> D:
        """A new document that begins as the newest, or another, version of this one. NotFound, AlreadyExists.

        No content is copied: both use the same blobs, and each keeps what it reaches. Under 2 KB are written, and the
        scalars, whatever the document's size: 10 write units. Five round trips.
        """
        return await self.db.run(flows.branch(self.db.port, self.context, document_id, new, version, parent))

    async def merge(
        self,
        document_id: str,
        *,
        onto: str,
        prefer: Side | None = None,
        choose: Mapping[tuple[str, str], Side] | None = None,
        principal: str | None = None,
    ) -> Merge:
        """Merge what was changed in a document, since both were the same, into another one, item by item.

        A conflict is what both changed, and not to the same: `prefer="ours"` or `"theirs"` says which to keep in all,
        `choose={("shapes", "s1"): "theirs"}` in one. With one that is left open nothing is written. NotFound;
        InvalidRequest for documents that are of no family. Seven round trips and more, and those of a version.
        """
        return await self.db.run(flows.merge(self.db.port, self.context, document_id, onto, prefer, choose, principal))

    async def tag(self, document_id: str, name: str, *, version: int | None = None) -> Tag:
        """Name a version, the newest by default: `at("p1", tag="v1")`. Three requests. NotFound, AlreadyExists."""
        return await self.db.run(flows.tag(self.db.port, self.context, document_id, name, version))

    async def untag(self, document_id: str, name: str) -> None:
        """Take a name away, if it is there; its version stays. Two requests. NotFound without the document."""
        await self.db.run(flows.untag(self.db.port, self.context, document_id, name))

    async def delete(self, document_id: str) -> None:
        """Delete a document and everything in it: hidden at once, deleted when this returns. NotFound.

        Called again, after a crash, it goes on where it stopped. Contents that branches share stay, for as long as one
        of these documents is there. The others go at once: a table that is restored to a time before this has them only
        if a backup kept them. The id of a deleted document is not used again. It reads each item, and writes it once.
        """
        await self.db.run(flows.delete(self.db.port, self.context, document_id))

    async def replay(
        self, document_id: str, *, since: int, onto: str, until: int | None = None, client: str | None = None
    ) -> Replay:
        """Apply to another document the mutations of this one's versions after `since`, in their order.

        They are submitted under a client of the replay's own, so a second call continues where the first stopped.
        It costs what `submit` and `process` of them cost. NotFound.
        """
        return await self.db.run(flows.replay(self.db.port, self.context, document_id, since, onto, until, client))

    async def collect_garbage(self, document_id: str, *, take_over: bool = False) -> Collected:
        """Delete unreachable blobs, with any number of concurrent writers. Run it regularly, one at a time.

        `take_over` finishes the work of a run that died, and makes this the table that collects in the blobs. Use it
        only if no other run of this document is alive, and no other table uses its blobs. It reads all versions of the
        family and lists its blobs; a request for each blob that it deletes. NotFound; InvalidRequest where another
        table collects in these blobs.
        """
        return await self.db.run(flows.collect_garbage(self.db.port, self.context, document_id, take_over=take_over))

    async def take_over_blobs(self) -> int:
        """Make this the table that collects garbage in the blob store: only when no other table uses its blobs.

        For a restored table that takes the place of the one it comes from. Returns the number of families of documents.
        Those of other tables in the store stay. A `DescribeTable` and a listing of the store; for each family a read of
        the table and of the store, and two requests to it where another table was noted. Raises Unavailable.
        """
        return await self.db.run(flows.take_over_blobs(self.db.port, self.context))

    async def store(self, document_id: str, collection: Items[T], values: Sequence[T]) -> list[Ref[T]]:
        """Put contents that mutations will refer to, as in `store("p1", Project.shapes, [shape])`, concurrently.

        Submit the mutation that refers to them soon: until then a garbage collection may delete them. A read, and a put
        into the blob store for each. NotFound; TooLarge for a content over `max_content_bytes`.
        """
        return await self.db.run(
            flows.store(self.db.port, self.context, document_id, collection_model(self.context, collection), values)
        )

    # --- reads --------------------------------------------------------------------------------------------------------
    async def head(self, document_id: str, *, collections: Sequence[Items[Any]] | None = None) -> D:
        """The newest version, with the hashes of all collections or of those named. Raises NotFound.

        Two round trips; one without collections.
        Read contents with `await documents.load(head.shapes)`, all or by ids.
        """
        return await self.db.run(
            flows.head(self.db.port, self.context, document_id, names_of(self.context, collections))
        )

    async def at(
        self,
        document_id: str,
        *,
        version: int | None = None,
        time: datetime | None = None,
        tag: str | None = None,
        collections: Sequence[Items[Any]] | None = None,
    ) -> D:
        """A version by its number, by its tag, or the one that was the newest at a time. NotFound.

        Round trips as for `head`; a time takes one more for each four bits of the number of versions.
        """
        return await self.db.run(
            flows.at(self.db.port, self.context, document_id, version, time, tag, names_of(self.context, collections))
        )

    async def items(self, document_id: str, collection: Items[T]) -> Items[T]:
        """The newest version of one collection, as in `items("p1", Project.shapes)`. One request. NotFound."""
        model = collection_model(self.context, collection)
        return await self.db.run(flows.items_of(self.db.port, self.context, document_id, model.name))

    async def load(
        self, items: Items[T], ids: Sequence[str] | None = None, *, unreadable: OnUnreadable = None
    ) -> dict[str, T]:
        """Contents of a collection that was read, concurrently: all, or those of some ids. No request but those
        to the blob store, one for each. KeyError for an id that is missing.

        Corrupt for a content that is missing or can't be read; `unreadable` is called with each instead: its `key` is
        the id, its `item` the content's hash."""
        check_texts(ids=ids)
        return await self.db.run(flows.load(self.db.port, items, ids, unreadable))

    async def history(
        self, document_id: str, *, limit: int = DEFAULT_LIMIT, after: str | None = None, principal: str | None = None
    ) -> Page[Version]:
        """Some versions, newest first: number, time, scalars, and the mutations that made each. One request."""
        return await self.db.run(flows.history(self.db.port, self.context, document_id, limit, after, principal))

    async def mutations(self, versions: Sequence[Version]) -> list[MutationRecord]:
        """The mutations that made some versions, in their order, each with its principal, arguments and outcome.

        As in `mutations(documents.history("p1"))`. A record of a mutation whose arguments are large has their hash. One
        round trip for a hundred mutations, and a unit for each 4 KB of each. Corrupt for a record that can't be read.
        """
        return await self.db.run(flows.mutations_of(self.db.port, self.context, versions))

    async def item_history(
        self,
        document_id: str,
        collection: Items[Any],
        id: str,
        *,
        limit: int = DEFAULT_LIMIT,
        before: int | None = None,
        since: int | None = None,
    ) -> list[ItemChange]:
        """The versions that changed an item, newest first, each with the mutations that did and who made them.

        As in `item_history("p1", Project.shapes, "s1")`. Goes on in the document that this one was branched from, so
        older changes are those of the last one's `document_id`, with its `version` as `before`. Reads each version, and
        all hashes of the collection: two round trips for each 16 versions. With `since`, a version that the caller has
        read up to, it ends there, and reads the versions after it. NotFound.
        """
        name = collection_model(self.context, collection).name
        flow = flows.item_history(self.db.port, self.context, document_id, name, id, limit, before, since)
        return await self.db.run(flow)

    async def tags(
        self, document_id: str, *, limit: int = DEFAULT_LIMIT, after: str | None = None, principal: str | None = None
    ) -> Page[Tag]:
        """Some tags of a document, in the order of their names. Two requests. NotFound."""
        return await self.db.run(flows.tags(self.db.port, self.context, document_id, limit, after, principal))

    async def family(self, document_id: str) -> list[Relative]:
        """The document, what it was branched from, and all of their branches; no deleted ones. Three requests.

        Only documents of one family can be merged. NotFound.
        """
        return await self.db.run(flows.relatives(self.db.port, self.context, document_id))

    async def diff(self, document_id: str, before: int, after: int) -> Diff:
        """The differences between two versions: scalars, and items added, changed, removed. No content is read.

        Two round trips. NotFound.
        """
        return await self.db.run(flows.diff(self.db.port, self.context, document_id, before, after))

    async def page(
        self, parent: str, *, limit: int = DEFAULT_LIMIT, after: str | None = None, principal: str | None = None
    ) -> Page[Listing]:
        """Some documents of a parent, by their ids. One request. InvalidCursor."""
        return await self.db.run(flows.page_of_documents(self.db.port, self.context, parent, limit, after, principal))

    async def parent(self, document_id: str) -> str:
        """The parent of a document. One request. Raises NotFound."""
        return await self.db.run(flows.parent_of(self.db.port, self.context, document_id))

    async def last_ids(self, document_id: str, clients: Sequence[str]) -> dict[str, int]:
        """The id of each client's last applied or rejected mutation; 0 for an unknown client. One round trip."""
        check_texts(clients=clients)
        return await self.db.run(flows.last_ids(self.db.port, self.context, document_id, clients))

    async def outcomes(self, document_id: str, mutations: Sequence[tuple[str, int]]) -> list[Outcome | None]:
        """The outcomes of mutations, by client and id; None for those not processed. One round trip."""
        return await self.db.run(flows.outcomes(self.db.port, self.context, document_id, mutations))

    def belongings(self) -> LayerBelongings:
        """The finds of `Erasure(db, table, documents)`, beyond records: documents of the subject, whole."""
        return DocumentBelongings(self.context)

    def checks(self) -> LayerChecks:
        """The checks of `db.check(table, documents)`, beyond those of records: all documents of the class."""
        return document_checks(self.context)

    async def check(self, document_id: str) -> list[Finding]:
        """Findings in a document's versions, collections, mutations and blobs; [] for a sound one.

        Reads all of it: a request for each MB of items, and one for each blob.
        """
        return await self.db.run(flows.check(self.db.port, self.context, document_id))
