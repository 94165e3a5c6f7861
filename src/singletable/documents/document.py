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
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, ClassVar, Concatenate, ParamSpec, TypeAlias, TypeVar, overload
from weakref import WeakKeyDictionary, WeakSet

from singletable.documents.blobs import BlobStore
from singletable.documents.collections import (
    CollectionModel as CollectionModel,
    DeclaredCollection,
    Items as Items,
    collection as collection,
)
from singletable.documents.mutations import Bounds, Mutator, make_mutator
from singletable.documents.personal import PersonalNames, declared_names, names_of
from singletable.documents.rows import CollectionWords, InboxRow, MutationRecord, RowClasses, Version, Words, make_rows
from singletable.errors import DeclarationError, InvalidRequest, InvalidValue
from singletable.foundation import Table, model_of, names_around
from singletable.values import METADATA, Codec, Field, make_field

T = TypeVar("T")
D = TypeVar("D", bound="Document")
P = ParamSpec("P")

Draft = Annotated[D, "a version in the making, which a mutation changes"]
"""The type of a mutation's first parameter. To a type checker `Draft[Project]` is a Project."""

RESERVED = ("id", "document_id", "parent", "version", "time", "principal", "mutation")
_COLLECTION = re.compile(r"(?:\w+\.)*Items\[.+\]", re.DOTALL)


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
        principal: Any = None,
    ) -> None:
        self.belongs_to, self._principal = belongs_to, principal
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
    def principal(self) -> Any:
        """The attribute of an entity that principals are named by; None if nothing says it."""
        return self._principal if self._principal is not None else _PRINCIPALS.get(self.table)

    @cached_property
    def names(self) -> PersonalNames:
        """The scalars that are personal, or mention somebody."""
        declared = {name: inspect.getattr_static(self.kind, name, None) for name in self.scalars.by_name}
        return names_of((name, getattr(each, "metadata", {}).get(METADATA, {})) for name, each in declared.items())

    @property
    def mentioned(self) -> list[Any]:
        """The attributes of entities by which scalars, contents and arguments mention somebody."""
        contents = [target for model in self.collections.values() for target in model.mentioned]
        arguments = [target for mutator in self.mutators.values() for target in mutator.mentioned]
        return [*self.names.mentions.values(), *contents, *arguments]

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
    `User.id`: an erasure of the user deletes the user's documents. `principal` is the one that principals of mutations
    are named by: an erasure takes the user out of them. By default it is what `Sync(belongs_to=)` names users by.

    Reading returns an immutable snapshot: the document's attributes, `id`, `parent`, `version` and `time`.
    """

    id: str
    parent: str
    version: int
    """0 at creation, then one more with each commit."""
    time: datetime
    """When the version was committed. It is later than the time of the version before."""

    Inbox: TypeAlias = InboxRow
    """The entity of waiting mutations, for `changes.on(Project.Inbox)` and `Inserted[Project.Inbox]`."""
    Version: TypeAlias = Version
    """The entity of versions."""
    Record: TypeAlias = MutationRecord
    """The entity of mutations that were applied or rejected, each with who made it: `principal`."""
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
        principal: Any = None,
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

        model = DocumentModel(cls, table, index, words, collections, make_scalars, blobs, bounds, belongs_to, principal)
        cls.__document__ = model
        _KINDS_OF.setdefault(table, WeakSet()).add(cls)
        rows = {"Inbox": model.rows.inbox, "Version": model.rows.version, "Record": model.rows.mutation}
        for name, kind in rows.items():
            setattr(cls, name, kind)
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
    def mutation(
        cls: type[D],
        /,
        *,
        name: str | None = None,
        mentions: Mapping[str, Any] | None = None,
        personal: Collection[str] | None = None,
    ) -> Callable[[Callable[Concatenate[D, P], None]], Mutator[P, D]]: ...
    @classmethod
    def mutation(
        cls,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        mentions: Mapping[str, Any] | None = None,
        personal: Collection[str] | None = None,
    ) -> Any:
        """Declares a mutation, a function over a draft: `@Project.mutation`, or `@Project.mutation(name="moveShape")`.

        It must be deterministic: the same draft and arguments have the same result, wherever and whenever it runs. It
        rejects the mutation by raising an error. Its arguments are JSON, typed by its parameters. `mentions={"owner":
        User.id}` and `personal=["text"]` say it of parameters, for erasures: of the mutations of an erased user, others
        keep their arguments; without either, none do. Raises DeclarationError for a name in use.
        """
        frame = inspect.currentframe()
        around = dict(frame.f_back.f_locals) if frame is not None and frame.f_back is not None else {}
        names = declared_names(mentions, personal)

        def register(function: Callable[..., None]) -> Mutator[..., Any]:
            model = document_model(cls)
            return make_mutator(model.kind, model.mutators, function, name, around, names)

        return register if function is None else register(function)


_KINDS_OF: WeakKeyDictionary[Table, WeakSet[type[Document]]] = WeakKeyDictionary()
"""The document classes of each table, while they are referenced."""
_PRINCIPALS: WeakKeyDictionary[Table, Any] = WeakKeyDictionary()


def declare_principals(table: Table, named_by: Any) -> None:
    """The attribute of an entity by which principals are named, in documents of a table whose class says nothing."""
    _PRINCIPALS[table] = named_by


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
        declaration = declared if isinstance(declared, DeclaredCollection) else DeclaredCollection()
        word = declaration.word or "".join(part.capitalize() for part in name.split("_"))
        words = CollectionWords(word, declaration.prefix or f"{name}_v_")
        for text in (words.word, words.prefix):
            if not re.fullmatch(r"[A-Za-z0-9_]+", text) or words.folder == "mutations":
                raise DeclarationError(f"{cls.__name__}.{name}: {text!r} is not valid in keys", attribute=name)
        if words.folder in {other.folder for other in models.values()}:
            raise DeclarationError(f"{cls.__name__}.{name}: another collection has the word {word!r}", attribute=name)
        models[name] = CollectionModel(cls, name, words, declaration, _evaluator(base, name, annotation, around))
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
