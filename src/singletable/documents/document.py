"""Documents: a class of scalars and collections, of which every version is kept.

class Project(Document, table=app, index="gsi1"):
    name: str = ""                  # scalars: together at most 1,536 bytes
    shapes: Items[Shape]            # a collection: item id to a content of its own
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, MutableMapping
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload

from singletable.documents.blobs import BlobStore
from singletable.documents.bounds import Bounds
from singletable.documents.canonical_json import JsonCodec
from singletable.documents.mutations import Mutator, Ref, make_mutator
from singletable.documents.rows import CollectionWords, InboxRow, Rows, Version, Words, make_rows
from singletable.documents.upcasters import ContentCodec, Upcaster, register
from singletable.errors import DeclarationError, InvalidRequest, InvalidValue
from singletable.foundation import Table, names_around
from singletable.values import Codec, Field, make_field

T = TypeVar("T")
D = TypeVar("D", bound="Document")
P = ParamSpec("P")

Draft = Annotated[D, "a version in the making, which a mutation changes"]
"""What a mutation is written on: to a type checker `Draft[Project]` is a Project."""

MAX_ITEM_ID_BYTES = 1024
RESERVED = ("id", "document_id", "parent", "version", "time", "principal", "mutation")
_COLLECTION = re.compile(r"(?:\w+\.)*Items\[.+\]", re.DOTALL)


class Items(MutableMapping[str, T], Generic[T]):
    """A collection of a document: item id to content, in the order of the ids.

    Ids, lengths and hashes are there at once; a content is read from the blob store when it is asked for. On a draft
    it can be changed; what is assigned is taken as it is then.
    """

    @abstractmethod
    def hash_of(self, id: str) -> str:
        """The sha256 of an item's content, in hexadecimal digits; KeyError where there is no such item."""

    @abstractmethod
    def all(self) -> dict[str, T]:
        """Every item with its content, read side by side."""

    @abstractmethod
    def refer(self, id: str, content: Ref[T]) -> None:
        """Give an item a content that lies in the blob store already."""

    def upcast(self, version: int) -> Callable[[Upcaster], Upcaster]:
        """`@Project.shapes.upcast(1)` over a pure function from what JSON says of version 1's contents to version 2's.

        It runs on read; what is stored stays as it is. It stands on the class's collection, `collection(version=2)`.
        """
        raise InvalidRequest(
            f"upcast({version}) is declared on the class's collection, as in @Project.shapes.upcast(1)"
        )


@dataclasses.dataclass(frozen=True)
class _Declared:
    """What `collection(...)` leaves in the class body."""

    word: str | None
    prefix: str | None
    version: int


def collection(*, word: str | None = None, prefix: str | None = None, version: int = 1) -> Any:
    """A collection with words of its own in keys: `comments: Items[Comment] = collection(word="Comments")`.

    `word` is the first part of the sort key and, in lower case, the folder of its blobs; `prefix` stands before the
    number of a version. Without them they are made of the attribute's name. `version` is that of the contents' type:
    one more where older contents don't fit it any more, with an upcaster for each version before it.
    """
    if version < 1:
        raise DeclarationError(f"collection(version={version}): the first version is 1")
    return _Declared(word, prefix, version)


class CollectionModel(Generic[T]):
    """What is known of one collection; on the class, `Project.shapes`."""

    def __init__(
        self, owner: type[Any], name: str, words: CollectionWords, version: int, evaluate: Callable[[], Any]
    ) -> None:
        self.owner, self.name, self.words, self.version = owner, name, words, version
        self._evaluate = evaluate
        self._upcasters: dict[int, Upcaster] = {}

    def __repr__(self) -> str:
        return f"<{self.owner.__name__}.{self.name}>"

    @cached_property
    def codec(self) -> ContentCodec[T]:
        return ContentCodec(JsonCodec(self._evaluate(), self._where), self.version, self._upcasters)

    def upcast(self, version: int) -> Callable[[Upcaster], Upcaster]:
        """As `Items.upcast` says."""
        return register(self._where, self.version, self._upcasters, version)

    @property
    def _where(self) -> str:
        return f"{self.owner.__name__}.{self.name}"

    @property
    def folder(self) -> str:
        return self.words.folder

    def check_id(self, id: object) -> str:
        """InvalidValue for what can't be the id of an item."""
        if not isinstance(id, str):
            raise InvalidValue(f"an item's id is a str, not {type(id).__name__}", attribute=self.name)
        try:
            size = len(id.encode())
        except UnicodeEncodeError:
            raise InvalidValue("an item's id holds a lone surrogate", attribute=self.name) from None
        if not 0 < size <= MAX_ITEM_ID_BYTES:
            raise InvalidValue(f"an item's id has 1 to {MAX_ITEM_ID_BYTES} bytes, not {size}", attribute=self.name)
        return id


class DocumentModel:
    """All that the library knows of one document class."""

    def __init__(
        self,
        kind: type[Any],
        table: Table,
        index: str | None,
        words: Words,
        collections: Mapping[str, CollectionModel[Any]],
        make_scalars: Callable[[], tuple[Field, ...]],
        blobs: BlobStore | None,
        bounds: Bounds,
    ) -> None:
        self.kind, self.table, self.index, self.words = kind, table, index, words
        self.collections, self.blobs, self.bounds = collections, blobs, bounds
        self.rows: Rows = make_rows(kind, table, index, words, {n: c.words for n, c in collections.items()})
        self.mutators: dict[str, Mutator[..., Any]] = {}
        self._make_scalars = make_scalars

    @cached_property
    def scalars(self) -> Codec[Any]:
        """Made at first use, when classes named later in the module are there."""
        return Codec(Scalars, self._make_scalars())


class Scalars:
    """A document's values outside its collections, in `vars`."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Document:
    """A versioned document. Declared by subclassing; read through `Documents`, changed by mutations.

    `index` names an index of the table for the inverse, from a document to its parent. `word` begins its keys,
    `prefix` the number of a version, `parent` is the word of what documents are listed by, `plural` its folder of
    blobs: by default `Project`, `pv_`, `Organisation`, `documents`. `blobs` is where contents lie, unless `Documents`
    is given another store. `bounds` says what one mutation may take, and what may wait.

    What is read is a snapshot: its attributes, `id`, `parent`, `version` and `time`. It never changes.
    """

    id: str
    parent: str
    version: int
    """0 as it was created, then one more with each commit."""
    time: datetime
    """When the version was committed: later than that of the version before."""

    Inbox: ClassVar[type[InboxRow]]
    """The entity of mutations that wait, for `changes.on(Project.Inbox)`."""
    Version: ClassVar[type[Version]]
    __document__: ClassVar[DocumentModel | None] = None

    def __init_subclass__(
        cls,
        *,
        table: Table | None = None,
        index: str | None = None,
        word: str | None = None,
        prefix: str | None = None,
        parent: str = "Organisation",
        plural: str | None = None,
        blobs: BlobStore | None = None,
        bounds: Bounds = Bounds(),  # noqa: B008 frozen
    ) -> None:
        super().__init_subclass__()
        if table is None:
            raise DeclarationError(f"{cls.__name__} says no table", hint="Say class X(Document, table=...).")
        name = word or cls.__name__
        words = Words(name, prefix or f"{name[0].lower()}v_", parent, plural or f"{name.lower()}s")
        _check_words(cls, words)
        around = names_around(cls)
        found, scalars = _collections(cls, around), _scalar_names(cls)

        def make_scalars() -> tuple[Field, ...]:
            return tuple(_scalar(cls, name, around) for name in scalars)

        model = DocumentModel(cls, table, index, words, found, make_scalars, blobs, bounds)
        cls.__document__ = model
        cls.Inbox, cls.Version = model.rows.inbox, model.rows.version
        for collection_name, one in found.items():
            setattr(cls, collection_name, one)

    def __init__(self) -> None:
        raise InvalidRequest(
            f"a {type(self).__name__} is not made by its class",
            hint="Create it with Documents.create(), read it with head().",
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, version {self.__dict__.get('version', 'none')}>"

    def __setattr__(self, name: str, value: Any) -> None:
        if not self.__dict__.get("_open", False):
            raise InvalidRequest(f"a {type(self).__name__} that was read never changes", hint="Submit a mutation.")
        if name not in document_model(type(self)).scalars.by_name:
            raise InvalidValue(f"{type(self).__name__}.{name} can't be set: only scalars can", attribute=name)
        self.__dict__[name] = value

    @overload
    @classmethod
    def mutation(cls: type[D], function: Callable[Concatenate[D, P], None], /) -> Mutator[P, D]: ...
    @overload
    @classmethod
    def mutation(cls: type[D], /, *, name: str) -> Callable[[Callable[Concatenate[D, P], None]], Mutator[P, D]]: ...
    @classmethod
    def mutation(cls, function: Any = None, /, *, name: str | None = None) -> Any:
        """A named change, over a draft: `@Project.mutation`, or `@Project.mutation(name="moveShape")`.

        It is deterministic: the same draft and arguments give the same result, wherever and whenever it runs. Raising
        rejects the mutation. Its arguments are JSON, typed by its parameters. DeclarationError for a name taken.
        """
        frame = inspect.currentframe()
        around = dict(frame.f_back.f_locals) if frame is not None and frame.f_back is not None else {}

        def register(function: Callable[..., None]) -> Mutator[..., Any]:
            model = document_model(cls)
            return make_mutator(model.kind, model.mutators, function, name, around)

        return register if function is None else register(function)


def document_model(kind: type[Any]) -> DocumentModel:
    """The model of a document class; DeclarationError for any other."""
    model = getattr(kind, "__document__", None)
    if not isinstance(model, DocumentModel):
        raise DeclarationError(
            f"{getattr(kind, '__name__', kind)} is no document", hint="Declare it: class X(Document, table=...)."
        )
    return model


def _check_words(cls: type[Any], words: Words) -> None:
    for text in (words.document, words.prefix, words.parent, words.plural):
        if not re.fullmatch(r"[A-Za-z0-9_]+", text):
            raise DeclarationError(f"{cls.__name__}: {text!r} is no word of keys: letters, digits and '_'")


def _annotations(cls: type[Any]) -> dict[str, tuple[type[Any], Any]]:
    """Each annotated attribute of a document class, with the class that says so."""
    found: dict[str, tuple[type[Any], Any]] = {}
    for base in reversed(cls.__mro__):
        if base is not Document and issubclass(base, Document):
            for name, annotation in inspect.get_annotations(base).items():
                if "ClassVar" not in str(annotation):
                    found[name] = (base, annotation)
    for name in found:
        if name in RESERVED or name.startswith("_"):
            raise DeclarationError(f"{cls.__name__}.{name}: the name is taken by every document", attribute=name)
    return found


def _is_collection(annotation: Any) -> bool:
    text = annotation if isinstance(annotation, str) else str(annotation)
    return _COLLECTION.fullmatch(text) is not None


def _collections(cls: type[Any], around: dict[str, Any]) -> dict[str, CollectionModel[Any]]:
    found: dict[str, CollectionModel[Any]] = {}
    for name, (base, annotation) in _annotations(cls).items():
        if not _is_collection(annotation):
            continue
        declared = inspect.getattr_static(cls, name, None)
        said = declared if isinstance(declared, _Declared) else _Declared(None, None, 1)
        word = said.word or "".join(part.capitalize() for part in name.split("_"))
        words = CollectionWords(word, said.prefix or f"{name}_v_")
        for text in (words.word, words.prefix):
            if not re.fullmatch(r"[A-Za-z0-9_]+", text) or words.folder == "mutations":
                raise DeclarationError(f"{cls.__name__}.{name}: {text!r} is no word of keys", attribute=name)
        if words.folder in {other.folder for other in found.values()}:
            raise DeclarationError(f"{cls.__name__}.{name}: another collection has the word {word!r}", attribute=name)
        found[name] = CollectionModel(cls, name, words, said.version, _evaluator(base, name, annotation, around))
    return found


def _evaluator(base: type[Any], name: str, annotation: Any, around: dict[str, Any]) -> Callable[[], Any]:
    def evaluate() -> Any:
        return _evaluated(base, name, annotation, around).__args__[0]

    return evaluate


def _scalar_names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(name for name, (_, annotation) in _annotations(cls).items() if not _is_collection(annotation))


def _scalar(cls: type[Any], name: str, around: dict[str, Any]) -> Field:
    base, annotation = _annotations(cls)[name]
    declared: Any = cls.__dict__.get(name, inspect.getattr_static(cls, name, dataclasses.MISSING))
    own: Any = declared if declared.__class__ is dataclasses.Field else dataclasses.field(default=declared)
    made = make_field(name, _evaluated(base, name, annotation, around), own)
    if made.role:
        raise DeclarationError(f"{cls.__name__}.{name} can't be {made.role}=True: a document's versions are kept")
    return made


def _evaluated(base: type[Any], name: str, annotation: Any, around: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {**vars(sys.modules[base.__module__]), **around})  # noqa: S307 the annotation's own text
    except NameError:
        raise DeclarationError(
            f"{annotation!r}, the type of {base.__name__}.{name}, can't be found",
            hint="Import it outside `if TYPE_CHECKING`, or define it in the module.",
        ) from None
