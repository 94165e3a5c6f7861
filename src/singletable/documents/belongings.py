"""The documents that an erasure deletes: each whole, with its versions, mutations and contents.

    class Project(Document, table=app, belongs_to=Organisation.id): ...

The documents of a parent go with it. Contents that a living branch shares stay, as `Documents.delete` leaves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from singletable.documents.blobs import NoBlobs
from singletable.documents.context import Context
from singletable.documents.deletion import delete, is_deleted
from singletable.documents.families import family_of, pages, root_of
from singletable.documents.read import any_epoch_row
from singletable.documents.rows import DocumentRow, GcEpoch
from singletable.errors import NotFound, SingletableError
from singletable.expressions import first_name, owner_of
from singletable.flow import Port
from singletable.foundation import (
    ANY,
    Belonging,
    LayerBelongings,
    Model,
    OnUnreadable,
    Query,
    Subject,
    entity_name,
    model_for,
    ready,
    target_of,
)
from singletable.operations import RAW, Item, Query as QueryOperation, Selection
from singletable.tables import projected_in, write_units


class DocumentBelongings(LayerBelongings):
    """The documents of one class."""

    def __init__(self, context: Context[Any]) -> None:
        self.context, self.model = context, context.model
        self.indexes = projected_in(self.model.table.definition)
        if isinstance(context.store, NoBlobs):
            self.left_out = (f"documents of {context.kind.__name__}: it has no blob store here",)

    async def of(self, port: Port, subjects: Sequence[Subject], unreadable: OnUnreadable = None) -> list[Belonging]:
        """The documents of parents: a query of each parent's list, and one of each document's partition."""
        handle_of = self.model.belongs_to
        if handle_of is None or self.left_out:
            return []
        handle = target_of(self.context.kind.__name__, "belongs_to", handle_of)
        belongings: list[Belonging] = []
        for subject in subjects:
            parent = subject.values.get(first_name(handle))
            if parent is not None and issubclass(subject.kind, owner_of(handle)):
                query: Query[Any] = self.model.rows.listing.by_parent(str(parent), ANY)
                async for page in pages(port, query, unreadable=unreadable):
                    belongings += [
                        each for row in page if (each := await self._document(port, row.document_id)) is not None
                    ]
        return belongings

    async def at(self, port: Port, model: Model[Any], item: Item) -> Belonging | None:
        """The document of one of its rows."""
        if not issubclass(model.kind, DocumentRow) or self.left_out:
            return None
        if not model.kind.__qualname__.startswith(f"{self.context.kind.__qualname__}."):
            return None
        try:
            row = model.load(item)
        except SingletableError:
            return None
        return None if row is None else await self._document(port, row.document_id)

    def is_left(self, model: Model[Any], item: Item) -> bool:
        """The epoch of a deleted document, which keeps its id from being used again."""
        if self.left_out or not issubclass(model.kind, GcEpoch):
            return False
        return item.get(model.by_name["deleted"].stored) == {"BOOL": True}

    async def again(self, port: Port, text: str) -> Belonging | None:
        word, _, document_id = text.partition("#")
        return await self._document(port, document_id) if word == self.model.words.document else None

    async def _document(self, port: Port, document_id: str) -> Belonging | None:
        """The document to erase; None if it is missing, or its deletion has ended."""
        await ready(port, self.model.table)
        epoch = await any_epoch_row(port, self.context, document_id)
        if epoch is None or (epoch.deleted and await is_deleted(port, self.context, document_id)):
            return None
        count, units = await self._takes(port, epoch)
        family = await family_of(port, self.context, root_of(epoch))
        others = [each for each in (family.living if family is not None else ()) if each != document_id]
        shared = "; contents that its branches share stay" if others else ""
        return Belonging(
            entity_name(self.context.kind),
            model_for(epoch).place_of(epoch),
            partial(_delete, self.context, document_id),
            write_units=units,
            what=f"with {count} items and its contents{shared}",
            again=f"{self.model.words.document}#{document_id}",
        )

    async def _takes(self, port: Port, epoch: GcEpoch) -> tuple[int, float]:
        """The number of its items, and the units of their deletion: a little more is written to hide it first."""
        table, place = self.model.table, model_for(epoch).place_of(epoch)
        names, values = {"#0": table.definition.key[0]}, {":0": {"S": place[0]}}
        count, units, after = 0, 0.0, None
        while True:
            selection = Selection(names=names, values=values, after=after, consistent=True)
            page = await port.send(QueryOperation(table.name, "#0 = :0", selection, RAW))
            count += len(page.items)
            units += sum(write_units(self.indexes, item, None) for item in page.items)
            after = page.after
            if after is None:
                return count, units


async def _delete(context: Context[Any], document_id: str, port: Port) -> bool:
    try:
        await delete(port, context, document_id)
    except NotFound:
        return False
    return True
