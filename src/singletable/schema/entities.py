"""Entities: a class declaration becomes a dataclass, its attributes handles, its key functions access patterns.

`declaration` makes the model of a class.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, dataclass_transform, overload

from singletable.errors import DeclarationError
from singletable.expressions import Handle
from singletable.schema.bound_patterns import Bound, Declared
from singletable.schema.copies import copy_of
from singletable.schema.declaration import Special, make_model, names_around
from singletable.schema.foreign import Stamp
from singletable.schema.mistakes import positional
from singletable.schema.models import Model, model_for, model_of
from singletable.schema.patterns import Captured, KeyOf, Query
from singletable.schema.table import Table
from singletable.schema.version_steps import Upcaster
from singletable.values import METADATA, Field, Role, Undeclared, Was

if TYPE_CHECKING:
    from singletable.schema.conversions import Converter

T = TypeVar("T")
E = TypeVar("E", bound="Entity")


@overload
def field(
    *,
    default: T,
    unique: bool = False,
    expires: bool = False,
    version: bool = False,
    personal: bool = False,
    belongs_to: Any = None,
    mentions: Any = None,
    name: str | None = None,
    was: Was | None = None,
    since: int = 0,
) -> T: ...
@overload
def field(
    *,
    default_factory: Callable[[], T],
    personal: bool = False,
    belongs_to: Any = None,
    mentions: Any = None,
    name: str | None = None,
    was: Was | None = None,
    since: int = 0,
) -> T: ...
@overload
def field(
    *,
    unique: bool = False,
    expires: bool = False,
    version: bool = False,
    personal: bool = False,
    belongs_to: Any = None,
    mentions: Any = None,
    name: str | None = None,
    in_key: bool = False,
    was: Was | None = None,
    since: int = 0,
) -> Any: ...
def field(
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    unique: bool = False,
    expires: bool = False,
    version: bool = False,
    personal: bool = False,
    belongs_to: Any = None,
    mentions: Any = None,
    name: str | None = None,
    in_key: bool = False,
    was: Was | None = None,
    since: int = 0,
) -> Any:
    """An attribute with options.

    `unique`: no other item of its type may have its value; a guard item, written in the same transaction, reserves it.
    `expires`: the datetime, kept to the second, at which the item expires; reads skip it, DynamoDB deletes it later.
    `version`: an int that counts the item's writes; a write of an outdated entity is refused.
    `personal`: its value is covered in the entity's repr and in what the program `singletable` prints.
    `belongs_to`: an attribute of another class, as in `User.email`: an item with its value is erased with that one.
    `mentions`: the same, but an erasure clears this attribute, and the item stays.
    `name`: the name under which DynamoDB stores it.
    `in_key`: it is stored in the primary key only, as an id that another program keeps nowhere else.
    `was`, `since`: what it was before a version of its class: its stored name; the members by the values that they
    had; or two functions, from the stored value before to the one now, and back. A field that begins or ceases to
    expire names where its time was stored. Items of older versions are read so, and `stored_as` writes both forms.
    """
    given: dict[Role, bool] = {"unique": unique, "expires": expires, "version": version}
    roles = [role for role, on in given.items() if on]
    if len(roles) > 1:
        raise DeclarationError(f"one attribute can't be {' and '.join(roles)}")
    if expires and name is not None:
        raise DeclarationError(
            "an attribute that expires is stored under the table's TTL attribute", hint="Table(..., ttl_attribute=...)."
        )
    if belongs_to is not None and mentions is not None:
        raise DeclarationError("an item belongs to somebody or mentions them: say belongs_to= or mentions=")
    if (was is None) is not (since == 0):
        raise DeclarationError("was= and since= go together", hint='As in field(was="old_name", since=2).')
    said = {"name": name, "role": roles[0] if roles else ""}
    more = {
        "was": was,
        "since": since or None,
        "personal": personal or None,
        "in_key": in_key or None,
        "belongs_to": belongs_to,
        "mentions": mentions,
    }
    options = {METADATA: said | {option: value for option, value in more.items() if value is not None}}
    if default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=default_factory, metadata=options)
    return dataclasses.field(default=default, metadata=options)


class MixinPattern(DeclarationError, AttributeError):
    """An access pattern of a mixin. It is an AttributeError too, so that `help` and `inspect` skip it."""


if TYPE_CHECKING:  # hidden from type checkers: with a metaclass they would not check the class keywords
    EntityType = type
else:

    class EntityType(ABCMeta):
        """`User.age` is a handle, made on access. An object on the class would make every read of an instance's
        attribute several times slower, because CPython could no longer specialize it."""

        def __call__(cls, *values: object, **attributes: object) -> Any:
            if values:
                raise positional(cls, len(values))
            return type.__call__(cls, **attributes)  # super() is slower, and no other class has one

        @property
        def __signature__(cls) -> inspect.Signature:
            """The signature of `__init__`, which `inspect` would not find behind `__call__`."""
            _, *parameters = inspect.signature(cls.__init__).parameters.values()
            return inspect.Signature(parameters)

        def __getattr__(cls, name: str) -> Handle:
            if name in cls.__dict__.get("__dataclass_fields__", ()):
                return Handle(cls, name)
            if isinstance(next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None), Declared):
                raise MixinPattern(
                    f"{cls.__name__} is a mixin: {name} belongs to the classes made with a table and type"
                )
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)

        def __dir__(cls) -> list[str]:
            return [*super().__dir__(), *cls.__dict__.get("__dataclass_fields__", ())]


@dataclass_transform(kw_only_default=True, field_specifiers=(field, copy_of, dataclasses.field))
class Entity(metaclass=EntityType):
    """A keyword-only dataclass whose objects are items of a table.

        class User(Entity, table=app, type="user"):
            email: str

            @app.key
            @staticmethod
            def by_email(email: str) -> Key:
                return f"user#{email}", "user"

    `type` is stored with each item and guards every read; `version` is the schema's, raised together with an
    `upcast`. `stored_as` is an older version in whose form items are stored too, for programs that know no newer one;
    it needs a `downcast`. `stamp`, in a foreign table, has the attributes that another program wants in each item, with
    their values. `ambiguous` lets different values share a key, as another program's keys may: each write holds the
    values as a condition. A subclass without `table` and `type` is a mixin. Raises DeclarationError when the class is
    made.
    """

    __model__: ClassVar[Model[Any] | None] = None
    __table__: ClassVar[Table | None] = None
    __patterns__: ClassVar[Mapping[str, Bound[..., Any]]] = {}
    __undeclared__: ClassVar[Undeclared | None] = None
    """The undeclared values of an object: `values.undeclared`."""

    def __init_subclass__(
        cls,
        *,
        table: Table | None = None,
        type: str | None = None,
        version: int = 1,
        stored_as: int | None = None,
        stamp: Stamp | None = None,
        ambiguous: bool = False,
    ) -> None:
        super().__init_subclass__()
        _make_dataclass(cls)
        cls.__table__ = table or cls.__table__
        cls.__model__ = None
        if type is None:
            return
        if cls.__table__ is None:
            raise DeclarationError(
                f"{cls.__name__} has a type and no table", hint="Write class X(Entity, table=..., type=...)."
            )
        versions = version, version if stored_as is None else stored_as
        make_model(cls, cls.__table__, type, versions, names_around(cls), stamp or {}, ambiguous=ambiguous)

    def __repr__(self) -> str:
        from singletable.schema.personal import COVERED, personal_names  # noqa: PLC0415 for what is shown

        personal = personal_names(builtins.type(self))
        shown = (
            f"{f.name}={COVERED if f.name in personal else repr(getattr(self, f.name))}"
            for f in dataclasses.fields(cast(Any, self))
            if f.name in vars(self)
        )
        return f"{builtins.type(self).__qualname__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        from singletable.schema.notebook import entity_html  # noqa: PLC0415 for notebooks only

        return entity_html(self)

    @classmethod
    def upcast(cls, version: int) -> Callable[[Upcaster], Upcaster]:
        """`@User.upcast(1)` on a pure function from version 1's stored attributes, as a dict, to version 2's.

        It runs on read. Filters, conditions and index keys use the stored form: if one of those uses an attribute that
        a version changes, rewrite the items first.
        """

        def register(upcaster: Upcaster) -> Upcaster:
            model = model_of(cls)
            if not 1 <= version < model.version or version in model.upcasters:
                raise DeclarationError(
                    f"{cls.__name__}.upcast({version}): the class is of version {model.version}",
                    hint="One upcaster for each version before it: class X(Entity, ..., version=2).",
                )
            model.upcasters[version] = upcaster
            return upcaster

        return register

    @classmethod
    def downcast(cls, version: int) -> Callable[[Upcaster], Upcaster]:
        """`@User.downcast(2)` on a pure function from version 2's stored attributes, as a dict, to version 1's.

        The inverse of `upcast(1)`, for a class with `stored_as=1`: while programs of version 1 run, items are stored in
        both forms. Every write checks that the upcasters make the same entity of it: InvalidValue.
        """

        def register(downcaster: Upcaster) -> Upcaster:
            model = model_of(cls)
            if not 2 <= version <= model.version or version in model.downcasters:
                raise DeclarationError(
                    f"{cls.__name__}.downcast({version}): the class is of version {model.version}",
                    hint="One for each version from the second on: the inverse of upcast(version - 1).",
                )
            model.downcasters[version] = downcaster
            return downcaster

        return register

    @classmethod
    def becomes(cls, *into: builtins.type[Any]) -> Callable[[Converter], Converter]:
        """`@Contact.becomes(Person, Company)` on a pure function from a Contact to a Person, a Company, or several of
        them. An apply and `Migrations.fill` put what it returns, and delete the Contact, in one transaction.

        One class becomes two, or two become one, each by a function. The Contact itself, returned, stays; changed,
        among others, a part of it is split off. Raises DeclarationError for classes of two tables, or of a layer.
        """
        from singletable.schema.conversions import declare_conversion  # noqa: PLC0415 few classes become others

        return declare_conversion(cls, into)

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        """A layer's declarations for its kind of entities."""
        return Special()

    @classmethod
    def __readers__(cls) -> Sequence[Captured]:
        """The access patterns that a layer adds to the class, without its keys; each is a method of its name."""
        return ()

    @classmethod
    def __beside__(cls) -> Mapping[str, Mapping[str, str]]:
        """The values that a layer keeps in others for an item of this class, by name, with the forms of its parts."""
        return {}

    def __whole__(self) -> Iterable[Query[Any]]:
        """The items that a copy of this one must include: a key, or a pattern whose whole partition is meant. An edge's
        nodes, a document's other items."""
        return ()

    @classmethod
    def __field__(cls, name: str) -> Field:
        found = model_of(cls).by_name.get(name)
        if found is None:
            raise DeclarationError(f"{cls.__name__} has no attribute {name!r}")
        return found

    @classmethod
    def __pattern__(cls, name: str) -> Bound[..., Any]:
        found = cls.__patterns__.get(name)
        if found is None:
            raise AttributeError(name)  # and the metaclass says why
        return found


def key_of(entity: E) -> KeyOf[E]:
    """The primary key of an entity."""
    return model_for(entity).key_of(entity)


def _make_dataclass(cls: type[Any]) -> None:
    """Turn the class into a dataclass, without defaults on the class, where handles are expected."""
    for name in inspect.get_annotations(cls):  # redeclared without a default: not the parent's
        if name not in cls.__dict__ and isinstance(getattr(cls, name, None), Handle):
            setattr(cls, name, dataclasses.field())
    dataclasses.dataclass(kw_only=True, repr=False)(cls)
    shower = next(base for base in cls.__mro__ if "__repr__" in vars(base))
    if not issubclass(shower, Entity) and hasattr(shower.__repr__, "__wrapped__"):
        # Made by a plain dataclass that is mixed in: it would show that one's attributes alone.
        setattr(cls, "__repr__", Entity.__repr__)  # noqa: B010 for mypy, which takes no method
    for f in dataclasses.fields(cls):
        if f.name in vars(cls):
            delattr(cls, f.name)  # the default; the field remembers it
        if any(f.name in vars(base) for base in cls.__mro__):  # a plain dataclass mixed in
            setattr(cls, f.name, Handle(cls, f.name))
