"""Collections of documents: `Items[Shape]`, and what a class declares of one."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, MutableMapping
from functools import cached_property
from typing import Any, Generic, TypeVar

from singletable.documents.canonical_json import JsonCodec
from singletable.documents.mutations import Ref
from singletable.documents.personal import SAYS_NOTHING, PersonalNames, declared_names, mentioned_in, says_anything
from singletable.documents.rows import CollectionWords
from singletable.documents.upcasters import ContentCodec, Upcaster, register
from singletable.errors import DeclarationError, InvalidRequest, InvalidValue
from singletable.values import json_form

T = TypeVar("T")

MAX_ITEM_ID_BYTES = 1024


class Items(MutableMapping[str, T], Generic[T]):
    """A collection of a document: item id to content, in the order of the ids.

    Ids, lengths and hashes are loaded with the version; a content is read from the blob store on access. The collection
    of a draft can be changed; an assigned value is encoded at once, so later changes of the object have no effect.
    """

    @abstractmethod
    def hash_of(self, id: str) -> str:
        """The sha256 of an item's content, in hexadecimal digits. Raises KeyError if the item is missing."""

    @abstractmethod
    def all(self) -> dict[str, T]:
        """All items with their contents, read concurrently."""

    @abstractmethod
    def refer(self, id: str, content: Ref[T]) -> None:
        """Give an item a content that is in the blob store already."""

    def upcast(self, version: int) -> Callable[[Upcaster], Upcaster]:
        """`@Project.shapes.upcast(1)` on a pure function that turns the JSON of a version 1 content into version 2's.

        It runs on read and changes nothing that is stored. It needs a collection declared as `collection(version=2)`.
        """
        raise InvalidRequest(
            f"upcast({version}) is declared on the class's collection, as in @Project.shapes.upcast(1)"
        )


@dataclasses.dataclass(frozen=True)
class DeclaredCollection:
    """The object that `collection(...)` leaves in the class body."""

    word: str | None = None
    prefix: str | None = None
    version: int = 1
    names: PersonalNames | None = None
    """The declarations of JSON objects in it; None where there are none."""


def collection(
    *,
    word: str | None = None,
    prefix: str | None = None,
    version: int = 1,
    mentions: Mapping[str, Any] | None = None,
    personal: Collection[str] | None = None,
) -> Any:
    """A collection with its own words in keys: `comments: Items[Comment] = collection(word="Comments")`.

    `word` is the first part of the sort key and, in lower case, the folder of its blobs; `prefix` precedes the number
    of a version. By default both are made from the attribute's name. `version` is the version of the contents' type:
    raise it by one when older contents no longer fit the type, and declare an upcaster for each earlier version.
    `mentions={"author": User.id}` and `personal=["text"]` are for contents that are JSON objects: what a dataclass says
    by `field(mentions=)` and `field(personal=True)`, for erasures. `personal=[]` says that there is nothing of anybody.
    """
    if version < 1:
        raise DeclarationError(f"collection(version={version}): the first version is 1")
    return DeclaredCollection(word, prefix, version, declared_names(mentions, personal))


class CollectionModel(Generic[T]):
    """The declaration of one collection; on the class, `Project.shapes`."""

    def __init__(
        self,
        owner: type[Any],
        name: str,
        words: CollectionWords,
        declared: DeclaredCollection,
        evaluate: Callable[[], Any],
    ) -> None:
        self.owner, self.name, self.words, self.version = owner, name, words, declared.version
        self.names = declared.names or SAYS_NOTHING
        self._declares = declared.names is not None
        self._evaluate = evaluate
        self._upcasters: dict[int, Upcaster] = {}

    @cached_property
    def mentioned(self) -> list[Any]:
        """The attributes of entities by which its contents mention somebody."""
        return [*self.names.mentions.values(), *mentioned_in(self._evaluate())]

    @cached_property
    def says_anything(self) -> bool:
        """Whether something in its contents is declared to be personal, or to mention somebody."""
        return not self.names.says_nothing or says_anything(self._evaluate())

    @property
    def is_declared(self) -> bool:
        """Whether an erasure knows what in its contents is personal, if anything."""
        return self._declares or self.says_anything

    def __repr__(self) -> str:
        return f"<{self.owner.__name__}.{self.name}>"

    @cached_property
    def codec(self) -> ContentCodec[T]:
        return ContentCodec(JsonCodec(self._evaluate(), self._where), self.version, self._upcasters)

    def upcast(self, version: int) -> Callable[[Upcaster], Upcaster]:
        """See `Items.upcast`."""
        return register(self._where, self.version, self._upcasters, version)

    @property
    def form(self) -> Mapping[str, Any]:
        """All that decides which bytes are stored of its contents, and under which words, as JSON."""
        return {
            "words": dataclasses.asdict(self.words),
            "version": self.version,
            "content": json_form(self._evaluate(), self._where),
        }

    @property
    def _where(self) -> str:
        return f"{self.owner.__name__}.{self.name}"

    @property
    def folder(self) -> str:
        return self.words.folder

    def check_id(self, id: object) -> str:
        """Raises InvalidValue for a value that can't be the id of an item."""
        if not isinstance(id, str):
            raise InvalidValue(f"an item's id is a str, not {type(id).__name__}", attribute=self.name)
        try:
            size = len(id.encode())
        except UnicodeEncodeError:
            raise InvalidValue("an item's id holds a lone surrogate", attribute=self.name) from None
        if not 0 < size <= MAX_ITEM_ID_BYTES:
            raise InvalidValue(f"an item's id has 1 to {MAX_ITEM_ID_BYTES} bytes, not {size}", attribute=self.name)
        return id
