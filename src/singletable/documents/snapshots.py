"""Snapshots: one version of a document. Its collections are mappings that read contents on access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn, TypeVar

from singletable.documents.contents import Content, Contents
from singletable.documents.context import Context
from singletable.documents.document import CollectionModel, Document, DocumentModel, Items
from singletable.documents.mutations import Ref
from singletable.documents.rows import Version
from singletable.errors import Corrupt, InvalidRequest, Newer
from singletable.flow import call_in_threads
from singletable.operations import encode, read_item
from singletable.values import UNDECLARED, AttributeValue, to_attribute_value

T = TypeVar("T")
D = TypeVar("D", bound=Document)

SIDE_BY_SIDE = 16

Hashes = Mapping[str, bytes]
"""The sha256 of each item's content, by item id."""


class StoredItems(Items[T]):
    """A collection of one version."""

    def __init__(self, model: CollectionModel[T], contents: Contents, hashes: Hashes, is_direct: bool = True) -> None:
        self.model, self.contents, self.hashes, self.is_direct = model, contents, hashes, is_direct

    @cached_property
    def _ids(self) -> list[str]:
        """The ids, sorted at first use: most readers of a head access only some contents."""
        return sorted(self.hashes)

    def __repr__(self) -> str:
        return f"<{self.model!r} of {len(self.hashes)} items>"

    def __len__(self) -> int:
        return len(self.hashes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __contains__(self, id: object) -> bool:
        return id in self.hashes

    def __getitem__(self, id: str) -> T:
        return self._direct([id])[id]

    def all(self) -> dict[str, T]:
        return self._direct(self._ids)

    def hash_of(self, id: str) -> str:
        return self.hashes[id].hex()

    def read(self, id: str) -> T:
        """Read one content from the store. Blocks. Corrupt names the content."""
        content = Content(self.model.folder, self.hashes[id])
        data = self.contents.read(content)
        try:
            return self.model.codec.decode(data)
        except Corrupt as error:
            error.what = f"the content {content.sha256} of {content.folder} can't be read: {error.what}"
            raise

    def __setitem__(self, id: str, value: T) -> None:
        self._refuse()

    def __delitem__(self, id: str) -> None:
        self._refuse()

    def refer(self, id: str, content: Ref[T]) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidRequest(f"{self.model!r} of a version that was read never changes", hint="Submit a mutation.")

    def _direct(self, ids: Sequence[str]) -> dict[str, T]:
        if not self.is_direct:
            raise InvalidRequest(
                f"{self.model!r}: a content can't be read here without holding up the event loop",
                hint="Use `await documents.load(items)`, or load(items, [id]).",
            )
        values = call_in_threads([_reading(self, id) for id in ids], SIDE_BY_SIDE) if ids else []
        return dict(zip(ids, values, strict=True))


def _reading(items: StoredItems[T], id: str) -> Any:
    return lambda: items.read(id)


def snapshot_of(context: Context[D], version: Version, hashes: Mapping[str, Hashes]) -> D:
    """A version as the application sees it, with those collections whose hashes are given."""
    contents = context.contents_of(version)
    snapshot = object.__new__(context.kind)
    snapshot.__dict__.update(scalar_values(context, scalars_of(version)))
    for name, model in context.model.collections.items():
        if name in hashes:
            snapshot.__dict__[name] = StoredItems(model, contents, hashes[name], context.is_direct)
    snapshot.__dict__.update(id=version.document_id, parent=version.parent, version=version.number, time=version.time)
    return snapshot


def stored_scalars(model: DocumentModel, values: Any) -> dict[str, AttributeValue]:
    """The scalars of an object, as an item holds them."""
    return as_stored(model.scalars.dump(values))


def as_stored(written: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """Scalars as an item holds them: bytes are the text that they have in a request."""
    return read_item(encode(written))


def scalars_of(version: Version) -> dict[str, AttributeValue]:
    """A version's stored scalars."""
    return {name: to_attribute_value(value) for name, value in version.scalars.items()}


def scalar_values(context: Context[Any], stored: Mapping[str, AttributeValue]) -> dict[str, Any]:
    """New values for each call, so that a change of a list in one version can't affect another."""
    values: dict[str, Any] = context.model.scalars.load(stored).__dict__
    return {name: value for name, value in values.items() if name != UNDECLARED}


def unknown_scalars(context: Context[Any], stored: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """The scalars that this program does not know: a newer one wrote them."""
    return {name: value for name, value in stored.items() if name not in context.model.scalars.known}


def unknown_collection(model: DocumentModel, version: Version) -> str | None:
    """A collection of a version that this program does not know."""
    named = (*version.collections, *(version.sources or ()))
    return next((name for name in named if name not in model.collections), None)


def check_known(model: DocumentModel, operation: str, *versions: Version) -> None:
    """Raises Newer for a collection that this program does not know, and would leave out for ever."""
    unknown = next((name for version in versions if (name := unknown_collection(model, version))), None)
    if unknown is not None:
        raise Newer(
            f"the document has the collection {unknown!r}, which this program does not know",
            operation=operation,
            hint="Use the program that knows it. A collection that is no longer used stays declared.",
        )


def collection_model(context: Context[Any], collection: object) -> CollectionModel[Any]:
    """The collection that `Project.shapes` names, of this document class. Raises InvalidRequest for anything else."""
    declared = next((model for model in context.model.collections.values() if model is collection), None)
    if declared is not None:
        return declared
    raise InvalidRequest(
        f"a collection of {context.kind.__name__} is wanted",
        hint="Name it on the class, as in Project.shapes.",
    )


def names_of(context: Context[Any], collections: Sequence[object] | None) -> list[str] | None:
    return None if collections is None else [collection_model(context, each).name for each in collections]
