"""The context of a document class: everything but a port that a flow over its documents needs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from singletable.documents.blobs import BlobStore, NoBlobs
from singletable.documents.contents import MAX_CONTENT_BYTES, Contents, prefix_of
from singletable.documents.document import Document, DocumentModel, document_model, documents_of
from singletable.documents.heard_blobs import HeardBlobs
from singletable.documents.mutations import Submission
from singletable.documents.rows import CollectionVersion, GcEpoch, Version
from singletable.errors import InvalidRequest, NotConfigured
from singletable.events import Listeners
from singletable.flow import Port
from singletable.foundation import CursorSeal, Table

D = TypeVar("D", bound=Document)


Pooled = Version | CollectionVersion | GcEpoch
"""The rows that say whose blobs their document uses."""
Authoriser = Callable[[Submission, Any], None]
"""Called before each mutation, with the submission and the draft. It rejects the mutation by raising an error."""
_VERBS = ("put", "get", "has", "list", "delete")
"""The methods of a blob store."""


@dataclass(frozen=True)
class Context(Generic[D]):
    """A document class, its blob store and the application's settings."""

    kind: type[D]
    store: BlobStore
    seal: CursorSeal
    most: int = MAX_CONTENT_BYTES
    """The size limit of one content, uncompressed, in bytes."""
    authorise: Authoriser | None = None
    is_direct: bool = True
    """Whether a snapshot reads contents by itself. It doesn't in an event loop, which that would block."""
    port: Port | None = None
    """The port whose listeners hear of the calls of the store; None for nobody."""

    @cached_property
    def model(self) -> DocumentModel:
        """The model of the class: its scalars, collections and words."""
        return document_model(self.kind)

    def event_fields(self, events: Listeners, document_id: str) -> dict[str, Any]:
        """The fields of an event that is about a document."""
        return {"document": self.kind.__name__, "key_hash": events.hash_of(document_id)}

    def contents(self, parent: str, document_id: str) -> Contents:
        """The blobs of a document of its own."""
        return Contents(self._heard, prefix_of(parent, self.model.words.plural, document_id), self.most)

    @cached_property
    def _heard(self) -> BlobStore:
        return self.store if self.port is None else HeardBlobs(self.store, self.port)

    def contents_of(self, row: Pooled) -> Contents:
        """The blobs that a document uses: its own, or those of the document that it was branched from."""
        pool = row.pool
        return self.contents(row.parent, row.document_id) if pool is None else self.contents(*astuple(pool))


def context_of(
    kind: type[D],
    blobs: BlobStore | None,
    seal: CursorSeal,
    most: int = MAX_CONTENT_BYTES,
    authorise: Authoriser | None = None,
    is_direct: bool = True,
    port: Port | None = None,
) -> Context[D]:
    """Raises NotConfigured without a blob store here or on the class, InvalidRequest for an object that is none."""
    model = document_model(kind)
    store = blobs if blobs is not None else model.blobs
    if store is None:
        raise NotConfigured(
            f"{kind.__name__} has no blob store",
            hint=f'Give one: Documents(db, {kind.__name__}, blobs=LocalBlobs("data/blobs")), '
            f"or class {kind.__name__}(Document, ..., blobs=...).",
        )
    _check_store(kind, store)
    if inspect.iscoroutinefunction(authorise):
        raise InvalidRequest(
            f"authorise of {kind.__name__} is an async function: nothing would await it, and all would be allowed",
            hint="Write it without async; a Sync over AsyncDocuments takes an async one.",
        )
    return Context(kind, store, seal, most, authorise, is_direct, port)


def contexts_in(
    table: Table, seal: CursorSeal, blobs: BlobStore | None, *, is_direct: bool = True
) -> Iterator[Context[Any]]:
    """The contexts of a table's document classes. `blobs` is the store of those without one; else it is `NoBlobs`."""
    for kind in documents_of(table):
        yield context_of(kind, document_model(kind).blobs or blobs or NoBlobs(), seal, is_direct=is_direct)


def _check_store(kind: type[Any], store: Any) -> None:
    name = _named(store)
    missing = [verb for verb in _VERBS if not callable(getattr(store, verb, None))]
    if isinstance(store, (str, os.PathLike)):
        hint = "For contents in a directory say blobs=LocalBlobs(directory)."
    elif missing:
        hint = "Pass blobs=LocalBlobs(directory), or blobs=ObjectBlobs(store) for a store of obstore."
    elif isinstance(store, type):
        hint = "Make one: LocalBlobs(directory)."
    else:
        return
    raise InvalidRequest(f"{name} is not a blob store for {kind.__name__}", hint=hint)


def _named(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
