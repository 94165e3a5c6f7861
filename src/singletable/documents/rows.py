"""The items of a document in the table, as entities. Applications can read them, and handle their changes.

    Organisation#<parent>   Project#<id>                     its entry in the list of a parent
    Project#<id>                  ProjectVersion#pv_<12 digits>    scalars, each collection's version, its mutations
    Project#<id>                  Shapes#shapes_v_<12 digits>#<4>  a part of a collection: item id to sha256
    Project#<id>                  Mutation#<client>#<12 digits>    name, arguments, outcome
    Project#<id>                  Client#<client>                  its last id
    Project#<id>                  Inbox#<client>#<12 digits>       a waiting mutation
    Project#<id>                  GcEpoch                          the condition of commits during garbage collection
    Project#<id>                  Condemned#<folder>#<sha256>      a blob that may be deleted
    Project#<id>                  ProjectTag#<name>                a name of a version
    Project#<id>                  ProjectBranch#<id>               a document that shares this one's blobs

"#" is the table's separator. Only `Client` and `GcEpoch` are ever updated. All are written by `Documents`; the verbs of
records refuse them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from singletable.documents.words import CollectionWords as CollectionWords, Words as Words
from singletable.flow import instant
from singletable.foundation import (
    ANY,
    WRITE_VERBS,
    BoundKey,
    Entity,
    KeyParts,
    Query,
    Special,
    Table,
    field,
    system_index,
    system_key,
)

_WRITERS = "The items of a document are written by Documents, which keeps them in step."
_ID_CHARACTERS = 12
"""72 random bits."""


class DocumentRow(Entity):
    """An item of a document."""

    document_id: str = field(name="project")

    __rows__: ClassVar[RowClasses]
    format_version: ClassVar[int] = 1
    """The schema version of its items, as of `ToolItem`."""

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        return Special(refuses=dict.fromkeys(WRITE_VERBS, _WRITERS), is_system=True)

    def __whole__(self) -> Iterable[Query[Any]]:
        """The document, its entry in the list of its parent, and the documents that it shares blobs with."""
        rows = self.__rows__
        parent: str | None = getattr(self, "parent", None)
        if parent is not None:
            yield rows.listing.by_parent(parent, self.document_id)
        for document_id in dict.fromkeys((self.document_id, *self._others())):
            yield rows.version.by_number(document_id)

    def _others(self) -> Iterable[str]:
        """The other documents that a row names."""
        sources: Mapping[str, Place] = getattr(self, "sources", None) or {}
        named = (getattr(self, "pool", None), getattr(self, "origin", None), *sources.values())
        return filter(None, (getattr(self, "branch", None), *(each and each.document_id for each in named)))


class Listing(DocumentRow):
    """A document's entry in the list of its parent."""

    parent: str = field(name="organisation")
    created: datetime

    by_parent: ClassVar[BoundKey[..., Any]]


@dataclass(frozen=True)
class AppliedMutation:
    """A mutation, as its version lists it."""

    client: str = field(name="c")
    id: int = field(name="i")
    name: str = field(name="n")
    rejected: bool = field(default=False, name="r")


@dataclass(frozen=True)
class Pool:
    """Whose blobs a document uses: those of the document that its branches began with."""

    parent: str = field(name="o")
    document_id: str = field(name="p")


@dataclass(frozen=True)
class Place:
    """A version of a document, or of a collection of it."""

    document_id: str = field(name="p")
    number: int = field(name="n")

    def __repr__(self) -> str:
        """Without the document's id, as logs show it."""
        return f"<Place: version {self.number}>"


class Version(DocumentRow):
    """One version: its scalars, and the versions of its collections."""

    parent: str = field(name="organisation")
    number: int
    time: datetime
    scalars: dict[str, Any] = field(personal=True)
    collections: dict[str, int]
    """The version in which each collection was last written. A collection that was never written is left out."""
    mutations: list[AppliedMutation]
    """In the order in which they were applied."""
    pool: Pool | None = None
    """The document whose blobs a branch uses; None for the document's own."""
    origin: Place | None = None
    """The version that a branch began as, in its version 0."""
    sources: dict[str, Place] | None = None
    """The collections that a branch has not written yet, with the versions that have them."""
    deleted: bool | None = None
    """The document is deleted: this version hides those before it."""
    rewritten: bool | None = None
    """An erasure has changed its scalars or contents since: who has it doesn't know what it holds now."""
    id: str | None = None
    """A random text of its commit, which tells it from the version of this number in another history: a restored table,
    a copy. None in rows of an older library."""

    by_number: ClassVar[BoundKey[..., Any]]


class CollectionVersion(DocumentRow):
    """A part of one version of a collection."""

    parent: str = field(name="organisation")
    number: int
    spill: int
    spills: int
    """The number of parts."""
    items: dict[str, bytes]
    """The sha256 of each item's content, by item id."""
    pool: Pool | None = None

    by_number: ClassVar[BoundKey[..., Any]]


class MutationRecord(DocumentRow):
    """A mutation and what became of it."""

    client: str
    id: int
    name: str
    arguments: str | None = field(default=None, personal=True)
    """Canonical JSON; None if it is stored in a blob."""
    arguments_blob: bytes | None = None
    refers: bool | None = None
    """Whether arguments in a blob refer to contents."""
    principal: str | None = field(default=None, personal=True)
    version: int
    error: str | None = field(default=None, personal=True)
    """Why it was rejected, which may quote an argument; None for one that was applied."""

    by_id: ClassVar[BoundKey[..., Any]]


class ClientRecord(DocumentRow):
    """The last processed mutation of a client."""

    client: str
    last_id: int
    version: int
    """The version in which it was applied or rejected."""

    by_client: ClassVar[BoundKey[..., Any]]


class InboxRow(DocumentRow):
    """A mutation that was submitted and is not in a version yet."""

    client: str
    id: int
    name: str
    arguments: str | None = field(default=None, personal=True)
    arguments_blob: bytes | None = None
    refers: bool | None = None
    principal: str | None = field(default=None, personal=True)
    own: bool | None = None
    """Whether the library submitted it. Only then may it be one of the library's own mutations."""
    at: datetime | None = None
    """When it was submitted, by the submitter's clock; None in rows of an older library."""
    trace: str | None = None
    """The context of the trace in which it was submitted, where a listener gave one."""

    by_id: ClassVar[BoundKey[..., Any]]


class GcEpoch(DocumentRow):
    """The condition of each commit. It is raised when blobs have been condemned."""

    parent: str = field(name="organisation")
    epoch: int
    open: str | None = None
    """The run of garbage collection whose condemned blobs may still exist."""
    pool: Pool | None = None
    deleted: bool | None = None
    """The document is deleted. The item stays, so that the id is not used again."""
    looked: bytes | None = None
    """The sha256 of the note of what the last garbage collection has looked at; of a root."""
    rewritten: str | None = None
    """A fresh text of each transaction by which an erasure changed items of the family where they lie; of a root."""

    by_document: ClassVar[BoundKey[..., Any]]


class Condemned(DocumentRow):
    """A blob that was unreachable when it was checked."""

    folder: str
    sha256: str
    run: str
    deleting: bool

    by_content: ClassVar[BoundKey[..., Any]]


class Tag(DocumentRow):
    """A name of a version."""

    name: str
    number: int
    time: datetime
    """When the name was given."""

    by_name: ClassVar[BoundKey[..., Any]]


class Branch(DocumentRow):
    """A document that uses the blobs of this one. It lies next to the document that its branches began with."""

    branch: str
    parent: str = field(name="organisation")
    origin: Place
    sources: dict[str, Place]
    """The versions of collections that it began with: they stay when their document is deleted."""
    created: datetime
    deleted: bool | None = None

    by_branch: ClassVar[BoundKey[..., Any]]


@dataclass(frozen=True)
class RowClasses:
    """The entity classes of one document class."""

    listing: type[Listing]
    version: type[Version]
    collections: Mapping[str, type[CollectionVersion]]
    mutation: type[MutationRecord]
    client: type[ClientRecord]
    inbox: type[InboxRow]
    epoch: type[GcEpoch]
    condemned: type[Condemned]
    tag: type[Tag]
    branch: type[Branch]


def make_rows(
    owner: type[Any], table: Table, index: str | None, words: Words, collections: Mapping[str, CollectionWords]
) -> RowClasses:
    """The entities of a document class, registered with its table. DeclarationError if keys or types are in use."""
    listing, version = _listing(owner, table, index, words), _version(owner, table, words)
    parts = {name: _collection(owner, table, words, name, own) for name, own in collections.items()}
    mutation, client, inbox = _mutations(owner, table, words)
    epoch, condemned = _garbage(owner, table, words)
    tag, branch = _names(owner, table, words)
    rows = RowClasses(listing, version, parts, mutation, client, inbox, epoch, condemned, tag, branch)
    for kind in (listing, version, *parts.values(), mutation, client, inbox, epoch, condemned, tag, branch):
        kind.__rows__ = rows
    return rows


def _listing(owner: type[Any], table: Table, index: str | None, words: Words) -> type[Listing]:
    def by_parent(parent: str, document_id: str = ANY) -> KeyParts:
        """The documents of a parent."""
        return (words.parent, f"{parent}"), (words.document, f"{document_id}")

    def by_document(document_id: str, parent: str = ANY) -> KeyParts:
        """The parent of a document."""
        return (words.document, f"{document_id}"), (words.parent, f"{parent}")

    body: dict[str, Any] = {"by_parent": system_key(table)(by_parent)}
    if index is not None:
        body["by_document"] = system_index(table, index)(by_document)
    return _made(owner, Listing, "Listing", body, table, words.document)


def _version(owner: type[Any], table: Table, words: Words) -> type[Version]:
    def by_number(document_id: str, number: int = ANY) -> KeyParts:
        """The versions of a document."""
        return (words.document, f"{document_id}"), (f"{words.document}Version", f"{words.prefix}{number:012}")

    return _made(
        owner, Version, "Version", {"by_number": system_key(table)(by_number)}, table, f"{words.document}Version"
    )


def _collection(
    owner: type[Any], table: Table, words: Words, name: str, own: CollectionWords
) -> type[CollectionVersion]:
    def by_number(document_id: str, number: int = ANY, spill: int = ANY) -> KeyParts:
        """The versions of a collection."""
        return (words.document, f"{document_id}"), (own.word, f"{own.prefix}{number:012}", f"{spill:04}")

    body = {"by_number": system_key(table)(by_number)}
    return _made(owner, CollectionVersion, f"{own.word}Version", body, table, f"{words.document}{own.word}")


def _mutations(
    owner: type[Any], table: Table, words: Words
) -> tuple[type[MutationRecord], type[ClientRecord], type[InboxRow]]:
    def by_id(document_id: str, client: str = ANY, id: int = ANY) -> KeyParts:
        """A mutation and what became of it."""
        return (words.document, f"{document_id}"), ("Mutation", f"{client}", f"{id:012}")

    def by_client(document_id: str, client: str = ANY) -> KeyParts:
        """The progress of a document's clients."""
        return (words.document, f"{document_id}"), ("Client", f"{client}")

    def by_place(document_id: str, client: str = ANY, id: int = ANY) -> KeyParts:
        """The mutations of a document that wait."""
        return (words.document, f"{document_id}"), ("Inbox", f"{client}", f"{id:012}")

    mutation = {"by_id": system_key(table)(by_id)}
    client, inbox = {"by_client": system_key(table)(by_client)}, {"by_id": system_key(table)(by_place)}
    return (
        _made(owner, MutationRecord, "MutationRecord", mutation, table, f"{words.document}Mutation"),
        _made(owner, ClientRecord, "ClientRecord", client, table, f"{words.document}Client"),
        _made(owner, InboxRow, "Inbox", inbox, table, f"{words.document}Inbox"),
    )


def _garbage(owner: type[Any], table: Table, words: Words) -> tuple[type[GcEpoch], type[Condemned]]:
    def by_document(document_id: str) -> KeyParts:
        """The row that commits to a document check."""
        return (words.document, f"{document_id}"), ("GcEpoch",)

    def by_content(document_id: str, folder: str = ANY, sha256: str = ANY) -> KeyParts:
        """The blobs of a document that may be deleted."""
        return (words.document, f"{document_id}"), ("Condemned", f"{folder}", f"{sha256}")

    epoch, condemned = {"by_document": system_key(table)(by_document)}, {"by_content": system_key(table)(by_content)}
    return (
        _made(owner, GcEpoch, "GcEpoch", epoch, table, f"{words.document}GcEpoch"),
        _made(owner, Condemned, "Condemned", condemned, table, f"{words.document}Condemned"),
    )


def _names(owner: type[Any], table: Table, words: Words) -> tuple[type[Tag], type[Branch]]:
    def by_name(document_id: str, name: str = ANY) -> KeyParts:
        """The names of a document's versions."""
        return (words.document, f"{document_id}"), (f"{words.document}Tag", f"{name}")

    def by_branch(document_id: str, branch: str = ANY) -> KeyParts:
        """The documents that use a document's blobs."""
        return (words.document, f"{document_id}"), (f"{words.document}Branch", f"{branch}")

    tag, branch = {"by_name": system_key(table)(by_name)}, {"by_branch": system_key(table)(by_branch)}
    return (
        _made(owner, Tag, "Tag", tag, table, f"{words.document}Tag"),
        _made(owner, Branch, "Branch", branch, table, f"{words.document}Branch"),
    )


def _made(
    owner: type[Any], base: type[Any], name: str, body: Mapping[str, Any], table: Table, type_name: str
) -> type[Any]:
    """A subclass of a row for one document class, with the qualified name of an attribute of that class."""
    names = {"__module__": owner.__module__, "__qualname__": f"{owner.__qualname__}.{name}", "__doc__": base.__doc__}
    metaclass: Any = type(base)
    return metaclass(name, (base,), {**names, **body}, table=table, type=type_name, version=base.format_version)  # type: ignore[no-any-return]


def version_id(token: str) -> str:
    """The id of a version, from the random token of the transaction that makes it."""
    return token[:_ID_CHARACTERS]


def to_the_millisecond(now: float) -> datetime:
    """A clock's time as versions are stored with it: rounded down."""
    at = instant(now)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
