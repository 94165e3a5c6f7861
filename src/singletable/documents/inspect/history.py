"""The history of a document: its versions, their names, and the documents that share its contents."""

from __future__ import annotations

from msgspec import Struct

from singletable.documents.families import root_of
from singletable.documents.flows import history, newest, tags
from singletable.documents.inspect.lists import AnyContext, DocumentClass, document_class
from singletable.documents.rows import Branch, Tag, Version
from singletable.flow import Port
from singletable.foundation import ANY, OnUnreadable, Query, page

MOST_VERSIONS = 25
MOST_TAGS = 25
MOST_BRANCHES = 25
_NAMED = 5
"""Mutations of a version that its line names."""


class VersionLine(Struct, frozen=True):
    """A version in a list."""

    number: int
    time: str
    mutations: tuple[str, ...]
    """The names of the first of them."""
    count: int
    rejected: int
    clients: int


class TagInfo(Struct, frozen=True):
    """A name of a version."""

    name: str
    number: int
    time: str


class BranchInfo(Struct, frozen=True):
    """A document that was branched from this one, or from the one that it was branched from."""

    id: str
    origin: str
    version: int
    """The origin's version that it branched from."""
    created: str
    is_deleted: bool


class HistoryInfo(Struct, frozen=True):
    """Some versions of a document, newest first, its tags and its branches."""

    kind: DocumentClass
    id: str
    newest: int
    versions: tuple[VersionLine, ...]
    cursor: str | None
    tags: tuple[TagInfo, ...]
    tags_cursor: str | None
    root: str
    """The document that the first of the family was branched from."""
    branches: tuple[BranchInfo, ...]
    branches_cursor: str | None


async def inspect_history(
    port: Port,
    context: AnyContext,
    document_id: str,
    *,
    after: str | None = None,
    tags_after: str | None = None,
    branches_after: str | None = None,
    unreadable: OnUnreadable = None,
) -> HistoryInfo:
    """Up to 25 versions, tags and branches of a document, each from a cursor on.

    Five requests, one more with `after`; a unit for each 4 KB. NotFound, InvalidCursor.
    """
    last = await newest(port, context, document_id)
    versions = await history(port, context, document_id, MOST_VERSIONS, after, unreadable=unreadable)
    named = await tags(port, context, document_id, MOST_TAGS, tags_after, unreadable=unreadable)
    root = root_of(last)
    query: Query[Branch] = context.model.rows.branch.by_branch(root, ANY)
    branches = await page(port, query, MOST_BRANCHES, branches_after, context.seal, unreadable=unreadable)
    return HistoryInfo(
        document_class(context),
        document_id,
        last.number,
        tuple(map(_line, versions.items)),
        versions.cursor,
        tuple(map(_tag, named.items)),
        named.cursor,
        root,
        tuple(map(_branch, branches.items)),
        branches.cursor,
    )


def _line(row: Version) -> VersionLine:
    names = tuple(dict.fromkeys(each.name for each in row.mutations))[:_NAMED]
    rejected = sum(each.rejected for each in row.mutations)
    clients = len({each.client for each in row.mutations})
    return VersionLine(row.number, row.time.isoformat(), names, len(row.mutations), rejected, clients)


def _tag(row: Tag) -> TagInfo:
    return TagInfo(row.name, row.number, row.time.isoformat())


def _branch(row: Branch) -> BranchInfo:
    origin = row.origin
    return BranchInfo(row.branch, origin.document_id, origin.number, row.created.isoformat(), bool(row.deleted))
