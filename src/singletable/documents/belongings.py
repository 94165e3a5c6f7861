"""The documents of an erased subject, which go whole, and the subject in other documents, which stay.

    class Project(Document, table=app, belongs_to=Organisation.id, principal=Person.id): ...

Documents of a parent that is erased are deleted. In the others, with their branches, a person who is erased is taken
out of records of mutations, contents and scalars: see `personal` and `family_rewrite`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

from singletable.documents.blobs import NoBlobs
from singletable.documents.collectors import check_collector
from singletable.documents.contents import Content
from singletable.documents.context import Context
from singletable.documents.deletion import collect_family, delete, is_deleted
from singletable.documents.erased_arguments import arguments_without, scalars_without
from singletable.documents.families import family_of, pages, root_of
from singletable.documents.family_rewrite import FamilyRewrite
from singletable.documents.garbage import Collected
from singletable.documents.personal import Erased
from singletable.documents.read import any_epoch_row
from singletable.documents.rows import DocumentRow, GcEpoch, InboxRow, MutationRecord, Version
from singletable.documents.snapshots import scalars_of
from singletable.errors import NotFound, SingletableError
from singletable.expressions import first_name, owner_of
from singletable.flow import Port, pages_of
from singletable.foundation import (
    ANY,
    Belonging,
    Kept,
    LayerBelongings,
    Model,
    OnUnreadable,
    Query,
    Remaining,
    Subject,
    entity_name,
    model_for,
    model_of,
    partition_query,
    ready,
    target_of,
)
from singletable.operations import Item
from singletable.tables import projected_in, write_units


class DocumentBelongings(LayerBelongings):
    """The documents of one class."""

    def __init__(self, context: Context[Any]) -> None:
        self.context, self.model = context, context.model
        self.indexes = projected_in(self.model.table.definition)
        self.identity = ("documents", context.kind)
        self.looks_by = _principal_of(context)
        self.has_store = not isinstance(context.store, NoBlobs)
        self.left_out = tuple(_left_out(context))
        self.erased = Erased(())
        self.seen: set[str] = set()
        self.clean: dict[frozenset[Any], set[tuple[str, Content]]] = {}
        self.collected: dict[str, Collected] = {}
        self.unreadable: dict[str, int] = {}
        self.owned: set[str] = set()
        self.shared: set[str] = set()
        self.backed = False

    # --- documents of the subject -------------------------------------------------------------------------------------
    async def of(self, port: Port, subjects: Sequence[Subject], unreadable: OnUnreadable = None) -> list[Belonging]:
        """The documents of parents: a query of each parent's list, and one of each document's partition. Then those
        that a scan has shown: all of their items, and each content that may say something of a person."""
        if not self.has_store:
            return []
        owned = await self._owned(port, subjects, unreadable)
        self.owned.update(owned)
        documents = [await self._document(port, document_id) for document_id in owned]
        return [*filter(None, documents), *await self._families(port, {*owned})]

    async def _owned(self, port: Port, subjects: Sequence[Subject], unreadable: OnUnreadable) -> list[str]:
        if self.model.belongs_to is None:
            return []
        handle = target_of(self.context.kind.__name__, "belongs_to", self.model.belongs_to)
        owned: list[str] = []
        for subject in subjects:
            parent = subject.values.get(first_name(handle))
            if parent is not None and issubclass(subject.kind, owner_of(handle)):
                query: Query[Any] = self.model.rows.listing.by_parent(str(parent), ANY)
                async for page in pages(port, query, unreadable=unreadable):
                    owned += [row.document_id for row in page]
        return owned

    async def at(self, port: Port, model: Model[Any], item: Item) -> Belonging | None:
        """The document of one of its rows."""
        if not self._is_own(model) or not self.has_store:
            return None
        try:
            row = model.load(item)
        except SingletableError:
            return None
        return None if row is None else await self._document(port, row.document_id)

    def is_left(self, model: Model[Any], item: Item) -> bool:
        """The epoch of a deleted document, which keeps its id from being used again."""
        if not self.has_store or not issubclass(model.kind, GcEpoch):
            return False
        return item.get(model.by_name["deleted"].stored) == {"BOOL": True}

    async def again(self, port: Port, text: str) -> Belonging | None:
        word, _, document_id = text.partition("#")
        if word == self._rewriting:
            return self._clearing(document_id, partial(self._collect, document_id), "contents that nothing reaches")
        return await self._document(port, document_id) if word == self.model.words.document else None

    @property
    def _rewriting(self) -> str:
        """The word by which a family is found again whose rewriting has begun: its contents may be garbage by now."""
        return f"{self.model.words.document}~"

    async def _document(self, port: Port, document_id: str) -> Belonging | None:
        """The document to erase; None if it is missing, or its deletion has ended."""
        await ready(port, self.model.table)
        epoch = await any_epoch_row(port, self.context, document_id)
        if epoch is None or (epoch.deleted and await is_deleted(port, self.context, document_id)):
            return None
        count, units = await self._takes(port, epoch)
        family = await family_of(port, self.context, root_of(epoch))
        others = {*(family.living if family is not None else ())} - {document_id}
        self.shared |= {document_id} if others else set()
        shared = "; contents that its branches share stay" if others else ""
        return Belonging(
            entity_name(self.context.kind),
            model_for(epoch).place_of(epoch),
            partial(self._delete, document_id),
            write_units=units,
            what=f"with {count} items and its contents{shared}",
            again=f"{self.model.words.document}#{document_id}",
        )

    async def _takes(self, port: Port, epoch: GcEpoch) -> tuple[int, float]:
        """The number of its items, and the units of their deletion: a little more is written to hide it first."""
        partition, count, units = model_for(epoch).place_of(epoch)[0], 0, 0.0
        async for page in pages_of(port, lambda after: partition_query(self.model.table, partition, after)):
            count += len(page.items)
            units += sum(write_units(self.indexes, item, None) for item in page.items)
        return count, units

    async def _delete(self, document_id: str, port: Port) -> bool:
        try:
            collected = await delete(port, self.context, document_id, collects=True)
        except NotFound:
            return False
        self._collected(document_id, collected)
        if collected is None and await self._has_contents(port, document_id):
            self.backed = True
        return True

    async def _has_contents(self, port: Port, document_id: str) -> bool:
        """Whether contents of a deleted family are left: backups keep them."""
        epoch = await any_epoch_row(port, self.context, document_id)
        contents = None if epoch is None else self.context.contents_of(epoch)
        (left,) = await port.call_all([lambda: contents is not None and any(True for _ in contents.list())])
        return left

    def _collected(self, family: str, collected: Collected | None) -> None:
        if collected is not None:
            self.collected[family] = collected
            self.backed = self.backed or collected.kept_for_backups > 0

    # --- the subject in documents that stay ---------------------------------------------------------------------------
    def scans(self, subjects: Sequence[Subject]) -> Collection[str]:
        """The epochs of all documents, where contents, scalars or arguments may mention one of the subjects; else the
        mutations, for their principals."""
        self.erased, self.seen, self.unreadable = Erased(subjects, self.model.principal), set(), {}
        rows = self.model.rows
        if not self.has_store:
            return ()
        if any(self.erased.values_of(target) for target in self.model.mentioned):
            return (model_of(rows.epoch).type,)
        return [model_of(kind).type for kind in (rows.mutation, rows.inbox)] if self.erased.ids else ()

    def wants(self, model: Model[Any], item: Item) -> bool:
        return self._document_in(model, item) is not None

    def see(self, model: Model[Any], item: Item) -> None:
        if (document_id := self._document_in(model, item)) is not None:
            self.seen.add(document_id)

    def _document_in(self, model: Model[Any], item: Item) -> str | None:
        """The document to look at, by a row of a scan; None for one that a subject is not in."""
        try:
            row = model.load(item)
        except SingletableError:
            return None  # the scan of records tells of it
        if isinstance(row, GcEpoch):
            return row.document_id
        is_theirs = isinstance(row, (MutationRecord, InboxRow)) and self.erased.is_by(row.principal)
        return row.document_id if is_theirs and row is not None else None

    def names(self, model: Model[Any], item: Item, subjects: Sequence[Subject]) -> bool:
        """A row of a document of theirs; one whose principal, arguments or scalars they are in."""
        if not self._is_own(model):
            return False
        erased = Erased(subjects, self.model.principal)
        try:
            row = model.load(item)
            if isinstance(row, Version) and scalars_of(row) != scalars_without(self.context, erased, scalars_of(row)):
                return True
            if isinstance(row, (MutationRecord, InboxRow)):
                text = row.arguments or "{}"
                after = arguments_without(self.context, erased, row.name, text, own=False)
                return erased.is_by(row.principal) or after != text or row.document_id in self.owned
        except SingletableError:
            return False
        return row is not None and row.document_id in self.owned

    def _is_own(self, model: Model[Any]) -> bool:
        """Whether a class is one of rows of these documents."""
        name = f"{self.context.kind.__qualname__}."
        return issubclass(model.kind, DocumentRow) and model.kind.__qualname__.startswith(name)

    async def _families(self, port: Port, owned: set[str]) -> list[Belonging]:
        epochs = [await any_epoch_row(port, self.context, document_id) for document_id in sorted(self.seen)]
        roots = dict.fromkeys(root_of(epoch) for epoch in epochs if epoch is not None)
        families = [await self._family(port, root, owned) for root in roots]
        return [*filter(None, families)]

    async def _family(self, port: Port, root: str, owned: set[str]) -> Belonging | None:
        rewrite = self._rewrite(port, root, self.erased)
        traces = await rewrite.look()
        if not rewrite.living or owned.issuperset(rewrite.living):
            return None
        if traces.unreadable:
            self.unreadable[root] = traces.unreadable
        if not traces:
            return None
        return self._clearing(root, partial(self._change, root, self.erased), str(traces), traces.write_units)

    def _clearing(
        self, root: str, erase: Callable[[Port], Awaitable[bool]], what: str, write_units: float = 0.0
    ) -> Belonging:
        epoch = self.model.rows.epoch.by_document(root)
        place = epoch.partition, epoch.low
        again = f"{self._rewriting}#{root}"
        kind = entity_name(self.context.kind)
        return Belonging(kind, place, erase, does="clear", write_units=write_units, what=what, again=again)

    def _rewrite(self, port: Port, root: str, erased: Erased) -> FamilyRewrite:
        clean = self.clean.setdefault(frozenset(subject.place for subject in erased.subjects), set())
        return FamilyRewrite(port, self.context, root, erased.without_texts(), clean)

    async def _change(self, root: str, erased: Erased, port: Port) -> bool:
        rewrite = self._rewrite(port, root, erased)
        if not await rewrite.look():
            return False
        epoch = await any_epoch_row(port, self.context, root)
        if epoch is not None:  # what can't be collected afterwards is not begun
            await check_collector(port, self.context, epoch)
        await rewrite.change()
        return await self._collect(root, port)

    async def _collect(self, root: str, port: Port) -> bool:
        family = await family_of(port, self.context, root)
        collected = None if family is None else await collect_family(port, self.context, family)
        self._collected(root, collected)
        return True

    # --- what stays ---------------------------------------------------------------------------------------------------
    def keeps(self) -> Sequence[Kept]:
        name = self.context.kind.__name__
        kept: list[Kept] = []
        if unreadable := sum(self.unreadable.values()):
            kept.append(Kept(f"content of {name}", "it can't be read: Documents.check says why", unreadable))
        if left := sum(collected.left for collected in self.collected.values()):
            why = "another collection of garbage deletes it, or has died: collect_garbage(id, take_over=True)"
            kept.append(Kept(f"content of {name}", why, left))
        return kept

    def remains(self) -> Sequence[Remaining]:
        name = self.context.kind.__name__
        places: list[Remaining] = []
        if self.shared:
            what = (
                f"{len(self.shared)} erased documents have branches, which keep what they began with: delete those too."
            )
            places.append(Remaining(f"branches of {name}", what))
        if self.backed:
            what = "The blob store has it until the backups are deleted: singletable backup list, and delete."
            places.append(Remaining(f"contents of {name} in backups", what))
        return places


def _principal_of(context: Context[Any]) -> str:
    """The attribute that names those who make mutations, as a text."""
    if context.model.principal is None:
        return ""
    handle = target_of(context.kind.__name__, "principal", context.model.principal)
    return f"{model_of(owner_of(handle)).type}.{first_name(handle)}"


def _left_out(context: Context[Any]) -> Iterator[str]:
    """The parts that can't be looked for, each with its missing declaration."""
    name, model = context.kind.__name__, context.model
    if isinstance(context.store, NoBlobs):
        yield f"documents of {name}: it has no blob store here. Pass blobs=, or --blobs"
        return
    if model.principal is None:
        yield f"who made the mutations of {name}, and with which arguments: declare {name}(Document, principal=...)"
    for collection in model.collections.values():
        if not collection.is_declared:
            yield f"contents of {name}.{collection.name}: nothing in them is declared mentions= or personal="
