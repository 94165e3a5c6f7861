"""Documents: a class of scalars and collections. Every version is kept.

class Project(Document, table=app, index="gsi1"):
    name: str = ""                  # scalars: together at most 1,536 bytes
    shapes: Items[Shape]            # a collection: each item id has a content
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
from weakref import WeakKeyDictionary, WeakSet

from singletable.documents.blobs import BlobStore
from singletable.documents.canonical_json import JsonCodec
from singletable.documents.mutations import Bounds, Mutator, Ref, make_mutator
from singletable.documents.rows import CollectionWords, InboxRow, RowClasses, Version, Words, make_rows
from singletable.documents.upcasters import ContentCodec, Upcaster, register
from singletable.errors import DeclarationError, InvalidRequest, InvalidValue
from singletable.foundation import Table, model_of, names_around
from singletable.values import Codec, Field, json_form, make_field

T = TypeVar("T")
D = TypeVar("D", bound="Document")
P = ParamSpec("P")

Draft = Annotated[D, "a version in the making, which a mutation changes"]
"""The type of a mutation's first parameter. To a type checker `Draft[Project]` is a Project."""

MAX_ITEM_ID_BYTES = 1024
RESERVED = ("id", "document_id", "parent", "version", "time", "principal", "mutation")
_COLLECTION = re.compile(r"(?:\w+\.)*Items\[.+\]", re.DOTALL)


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
class _Declared:
    """The object that `collection(...)` leaves in the class body."""

    word: str | None
    prefix: str | None
    version: int


def collection(*, word: str | None = None, prefix: str | None = None, version: int = 1) -> Any:
    """A collection with its own words in keys: `comments: Items[Comment] = collection(word="Comments")`.

    `word` is the first part of the sort key and, in lower case, the folder of its blobs; `prefix` precedes the number
    of a version. By default both are made from the attribute's name. `version` is the version of the contents' type:
    raise it by one when older contents no longer fit the type, and declare an upcaster for each earlier version.
    """
    if version < 1:
        raise DeclarationError(f"collection(version={version}): the first version is 1")
    return _Declared(word, prefix, version)


class CollectionModel(Generic[T]):
    """The declaration of one collection; on the class, `Project.shapes`."""

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


class DocumentModel:
    """The declaration of one document class."""

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
        belongs_to: Any = None,
    ) -> None:
        self.belongs_to = belongs_to
        self.kind, self.table, self.index, self.words = kind, table, index, words
        self.collections, self.blobs, self.bounds = collections, blobs, bounds
        self.rows: RowClasses = make_rows(kind, table, index, words, {n: c.words for n, c in collections.items()})
        self.mutators: dict[str, Mutator[..., Any]] = {}
        self._make_scalars = make_scalars

    @cached_property
    def scalars(self) -> Codec[Any]:
        """Computed at first use, when classes that the module defines later exist."""
        return Codec(Scalars, self._make_scalars())

    @property
    def form(self) -> Mapping[str, Any]:
        """All that decides which bytes are stored, besides the classes of its rows, as JSON."""
        inbox = model_of(self.rows.inbox).type
        return {
            "words": dataclasses.asdict(self.words),
            "scalars": {field.stored: field.form for field in self.scalars.fields},
            "collections": {name: collection.form for name, collection in self.collections.items()},
            "mutations": {n: {"arguments": m.form, "items": (inbox, "name")} for n, m in self.mutators.items()},
            "items": (model_of(self.rows.version).type,),
        }


class Scalars:
    """A document's scalars, as attributes."""

    def __init__(self, /, **values: Any) -> None:
        self.__dict__.update(values)


class Document:
    """A versioned document. Declare it by subclassing, read it through `Documents`, change it by mutations.

    `index` names an index of the table for the inverse, from a document to its parent. Words in keys and paths: `word`
    begins the document's keys, `prefix` precedes the number of a version, `parent` is the word of the parent by which
    documents are listed, `plural` is the folder of blobs. The defaults are `Project`, `pv_`, `Organisation` and
    `documents`. `blobs` is the store of contents, unless `Documents` is given another. `bounds` are the limits of one
    mutation and of the mutations that wait. `belongs_to` is the attribute of an entity that parents are named by, as in
    `User.id`: an erasure of the user deletes the user's documents.

    Reading returns an immutable snapshot: the document's attributes, `id`, `parent`, `version` and `time`.
    """

    id: str
    parent: str
    version: int
    """0 at creation, then one more with each commit."""
    time: datetime
    """When the version was committed. It is later than the time of the version before."""

    Inbox: ClassVar[type[InboxRow]]
    """The entity of waiting mutations, for `changes.on(Project.Inbox)`."""
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
        belongs_to: Any = None,
    ) -> None:
        super().__init_subclass__()
        if table is None:
            raise DeclarationError(f"{cls.__name__} says no table", hint="Say class X(Document, table=...).")
        name = word or cls.__name__
        words = Words(name, prefix or f"{name[0].lower()}v_", parent, plural or f"{name.lower()}s")
        _check_words(cls, words)
        around = names_around(cls)
        collections, scalars = _collections(cls, around), _scalar_names(cls)

        def make_scalars() -> tuple[Field, ...]:
            return tuple(_scalar(cls, name, around) for name in scalars)

        model = DocumentModel(cls, table, index, words, collections, make_scalars, blobs, bounds, belongs_to)
        cls.__document__ = model
        _KINDS_OF.setdefault(table, WeakSet()).add(cls)
        cls.Inbox, cls.Version = model.rows.inbox, model.rows.version
        for collection_name, one in collections.items():
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
        """Declares a mutation, a function over a draft: `@Project.mutation`, or `@Project.mutation(name="moveShape")`.

        It must be deterministic: the same draft and arguments have the same result, wherever and whenever it runs. It
        rejects the mutation by raising an error. Its arguments are JSON, typed by its parameters. Raises
        DeclarationError for a name in use.
        """
        frame = inspect.currentframe()
        around = dict(frame.f_back.f_locals) if frame is not None and frame.f_back is not None else {}

        def register(function: Callable[..., None]) -> Mutator[..., Any]:
            model = document_model(cls)
            return make_mutator(model.kind, model.mutators, function, name, around)

        return register if function is None else register(function)


_KINDS_OF: WeakKeyDictionary[Table, WeakSet[type[Document]]] = WeakKeyDictionary()
"""The document classes of each table, while they are referenced."""


def documents_of(table: Table) -> list[type[Document]]:
    """The document classes of a table that this program has declared, by their names."""
    return sorted(_KINDS_OF.get(table, ()), key=lambda kind: kind.__qualname__)


def document_model(kind: type[Any]) -> DocumentModel:
    """The model of a document class. Raises DeclarationError for any other class."""
    model = getattr(kind, "__document__", None)
    if not isinstance(model, DocumentModel):
        raise DeclarationError(
            f"{getattr(kind, '__name__', kind)} is not a document class",
            hint="Declare it: class X(Document, table=...).",
        )
    return model


def _check_words(cls: type[Any], words: Words) -> None:
    for text in (words.document, words.prefix, words.parent, words.plural):
        if not re.fullmatch(r"[A-Za-z0-9_]+", text):
            raise DeclarationError(f"{cls.__name__}: {text!r} is not valid in keys: use letters, digits and '_'")


def _annotations(cls: type[Any]) -> dict[str, tuple[type[Any], Any]]:
    """Each annotated attribute of a document class, with the class that annotates it."""
    annotation_of: dict[str, tuple[type[Any], Any]] = {}
    for base in reversed(cls.__mro__):
        if base is not Document and issubclass(base, Document):
            for name, annotation in inspect.get_annotations(base).items():
                if "ClassVar" not in str(annotation):
                    annotation_of[name] = (base, annotation)
    for name in annotation_of:
        if name in RESERVED or name.startswith("_"):
            raise DeclarationError(f"{cls.__name__}.{name}: the name is taken by every document", attribute=name)
    return annotation_of


def _is_collection(annotation: Any) -> bool:
    text = annotation if isinstance(annotation, str) else str(annotation)
    return _COLLECTION.fullmatch(text) is not None


def _collections(cls: type[Any], around: dict[str, Any]) -> dict[str, CollectionModel[Any]]:
    models: dict[str, CollectionModel[Any]] = {}
    for name, (base, annotation) in _annotations(cls).items():
        if not _is_collection(annotation):
            continue
        declared = inspect.getattr_static(cls, name, None)
        declaration = declared if isinstance(declared, _Declared) else _Declared(None, None, 1)
        word = declaration.word or "".join(part.capitalize() for part in name.split("_"))
        words = CollectionWords(word, declaration.prefix or f"{name}_v_")
        for text in (words.word, words.prefix):
            if not re.fullmatch(r"[A-Za-z0-9_]+", text) or words.folder == "mutations":
                raise DeclarationError(f"{cls.__name__}.{name}: {text!r} is not valid in keys", attribute=name)
        if words.folder in {other.folder for other in models.values()}:
            raise DeclarationError(f"{cls.__name__}.{name}: another collection has the word {word!r}", attribute=name)
        models[name] = CollectionModel(
            cls, name, words, declaration.version, _evaluator(base, name, annotation, around)
        )
    return models


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
    scalar = make_field(name, _evaluated(base, name, annotation, around), own)
    if scalar.role:
        raise DeclarationError(f"{cls.__name__}.{name} can't be {scalar.role}=True: a document's versions are kept")
    if scalar.was is not None:
        hint = "Give the scalar another name, and set it by a mutation."
        raise DeclarationError(f"{cls.__name__}.{name} can't have was=: scalars have no versions", hint=hint)
    return scalar


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
