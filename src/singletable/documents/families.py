"""Families: a document and its branches, which all use the blobs of the document that the first was branched from.

    Project#<root>   GcEpoch              of the root, which every collection of garbage of the family raises first
    Project#<root>   ProjectBranch#<id>   a row for each branch, whatever it was branched from
    Project#<root>   Condemned#...        blobs of the family that may be deleted

So a branch copies nothing, and garbage collection asks every member what it reaches. The root's rows of branches and
its epoch stay when the root is deleted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from singletable.documents.context import Context
from singletable.documents.read import CollectionKey, any_epoch_row, newest
from singletable.documents.rows import Branch, GcEpoch, Place, Version
from singletable.flow import Port, pages_of
from singletable.foundation import ANY, OnUnreadable, Query, prepare_query, readable

R = TypeVar("R")


def root_of(row: Version | GcEpoch) -> str:
    """The id of the document whose blobs a document uses."""
    return row.document_id if row.pool is None else row.pool.document_id


@dataclass(frozen=True)
class Relative:
    """A document of a family."""

    document_id: str = field(repr=False)
    origin: Place | None
    """The version that it was branched from; None for the first of the family."""


@dataclass(frozen=True)
class Family:
    """A root and its branches."""

    root: GcEpoch
    branches: Sequence[Branch]

    @property
    def members(self) -> list[str]:
        return [self.root.document_id, *(row.branch for row in self.branches)]

    @property
    def living(self) -> list[str]:
        """The members that are not deleted."""
        own = [] if self.root.deleted else [self.root.document_id]
        return own + [row.branch for row in self.branches if not row.deleted]

    @property
    def deleted(self) -> list[str]:
        """The deleted members that may have items still, because a branch began with them."""
        own = [self.root.document_id] if self.root.deleted else []
        return own + [row.branch for row in self.branches if row.deleted]

    @property
    def needed(self) -> set[CollectionKey]:
        """The versions of collections that living branches began with."""
        return sources_of(row for row in self.branches if not row.deleted)


def sources_of(branches: Iterable[Branch]) -> set[CollectionKey]:
    return {
        CollectionKey(place.document_id, name, place.number) for row in branches for name, place in row.sources.items()
    }


async def family_of(port: Port, context: Context[Any], root: str) -> Family | None:
    """A root and its branches; None if the document never existed. Two requests, in this order."""
    epoch = await any_epoch_row(port, context, root)
    if epoch is None:
        return None
    return Family(epoch, await all_rows(port, context.model.rows.branch.by_branch(root, ANY)))


async def relatives(port: Port, context: Context[Any], document_id: str) -> list[Relative]:
    """A document, what it was branched from and all branches of these, without deleted ones. Three requests."""
    root = root_of(await newest(port, context, document_id))
    family = await family_of(port, context, root)
    if family is None:
        return []
    first = [] if family.root.deleted else [Relative(root, None)]
    return first + [Relative(row.branch, row.origin) for row in family.branches if not row.deleted]


async def all_rows(port: Port, query: Query[R]) -> list[R]:
    """Everything of a query, consistently."""
    return [row async for page in pages(port, query) for row in page]


async def pages(
    port: Port, query: Query[R], limit: int | None = None, unreadable: OnUnreadable = None
) -> AsyncIterator[Sequence[R]]:
    """Everything of a query, consistently, a page at a time: of up to `limit` rows, and 1 MB."""
    prepared = prepare_query(query.consistent(), port.now(), unreadable)
    async for page in pages_of(port, lambda after: prepared.operation(after, limit)):
        yield readable(page.items, unreadable, prepared.shown)
