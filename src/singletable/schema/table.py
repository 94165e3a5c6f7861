"""The table that an application declares: its definition, its entities, and the decorators for key functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, cast, overload

from msgspec import Struct
from msgspec.structs import replace

from singletable import entry_points
from singletable.errors import DeclarationError
from singletable.operations import Item
from singletable.schema.bound_patterns import Declared, DeclaredKey
from singletable.schema.capture import Doubles
from singletable.schema.foreign import check_foreign, type_in_foreign
from singletable.schema.key_text import WORD_TYPE as WORD_TYPE, KeyPart, Slot, Template
from singletable.schema.overlap import common_key, could_meet
from singletable.schema.patterns import Captured, Key
from singletable.tables import Indexes, StreamView, TableDefinition, TableSettings, key_names, kinds_in, named_indexes
from singletable.values import SEPARATORS, AttributeValue, check_name, check_texts

if TYPE_CHECKING:
    from singletable.schema.models import Model

P = ParamSpec("P")

GUARD_TYPE = "_unique"
"""The type of the items that reserve unique values, the first part of their key, and their whole sort key."""
TOOLS_PARTITION = "_migration"
"""The partition key of what tools keep in a table: see `tool_items`."""
ATTACHED_TYPES = frozenset({GUARD_TYPE, WORD_TYPE})
"""The types of items that are attached to others: each has its owner's key."""
OWNER, OWNER_SORT = "owner", "owner_sort"
"""The attributes with the key of the item that holds the value."""
_GUARD_SORT = Template((KeyPart(GUARD_TYPE),))
_ABSENT: Mapping[str, Any] = {}


class IndexDecorator:
    """`@app.index("gsi1")`, above `@staticmethod`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, function: Callable[P, Key | str]) -> Declared[P]:
        return Declared(plain(function), self.name)


class KeyDecorator:
    """`@app.key(was=old_key)`, above `@staticmethod`."""

    def __init__(self, table: Table, was: Callable[..., Key] | DeclaredKey[...], doubles: Doubles) -> None:
        self._table, self._was, self._doubles = table, was, doubles

    def __call__(self, function: Callable[P, Key | str]) -> DeclaredKey[P]:
        was = self._was if isinstance(self._was, DeclaredKey) else plain(self._was)
        declared: DeclaredKey[P] = DeclaredKey(plain(function), self._table, was)
        declared.doubles = self._doubles
        return declared


class Conversion(Struct, frozen=True):
    """The classes that items of a class become, with their stored types, and the function that says how."""

    kind: type[Any]
    into: tuple[type[Any], ...]
    types: tuple[str, ...]
    function: Callable[[Any], Any]
    """From an entity to one of another class, or to several: the same ones for the same entity. It may return the
    entity too: it stays."""

    @property
    def shown(self) -> str:
        """The conversion as a person writes it."""
        return f"{self.kind.__name__}.becomes({', '.join(kind.__name__ for kind in self.into)})"


class Table:
    """One DynamoDB table, and the entities in it.

    `key` has the attributes of the primary key, or its only one; `N("at")` holds numbers, `B("digest")` bytes.
    `indexes` are names, with the attributes `<name>pk` and `<name>sk`; or names with their attributes, an `Index`
    or a `Local`.
    `separator` is between the parts of a key: '#' keeps every type in order, '/' and '-' all but a str that is not a
    key's last part, other signs numbers, times and identifiers. `overlap="guard"` allows entities whose keys could be
    equal, without `write_many`. `stream` is the view type of the table's stream; none by default. `settings` and
    `deletion_protection` are undeclared by default: a table keeps what it has.

    `foreign` is for a table that another program writes too: its items have no type, schema version or write id, unless
    `type_attribute`, `version_attribute` and `write_id_attribute` name them. A class is known by its key alone. Writes
    leave index keys that it does not declare; `ignores` names indexes that this may make stale.
    `own_items` is a table, of this one alone, for what the tools of the library keep; without it they refuse.
    `read_only` refuses every write of its classes: InvalidRequest.

    Raises DeclarationError. Makes no request: `db.create_table(table)` does, or first use on the local engine.
    """

    def __init__(
        self,
        name: str,
        *,
        indexes: Indexes = (),
        key: str | tuple[str, str] = ("pk", "sk"),
        separator: str = "#",
        type_attribute: str | None = None,
        version_attribute: str | None = None,
        write_id_attribute: str | None = None,
        ttl_attribute: str | None = None,
        overlap: Literal["refuse", "guard"] = "refuse",
        foreign: bool = False,
        ignores: Collection[str] = (),
        own_items: Table | None = None,
        read_only: bool = False,
        stream: StreamView | None = None,
        deletion_protection: bool | None = None,
        encryption_key: str | None = None,
        settings: TableSettings = TableSettings(),  # noqa: B008  (frozen)
    ) -> None:
        if not separator.isprintable() or not separator or "%" in separator or any(map(str.isalnum, separator)):
            raise DeclarationError(
                f"{separator!r} can't separate the parts of keys",
                table=name,
                hint=f"Use one of {' '.join(SEPARATORS)}, which sort before digits and letters; or other signs, as ::, "
                "which are neither letters, digits nor '%'.",
            )
        check_texts(raises=DeclarationError, indexes=indexes, ignores=ignores)
        own = _own_attributes(name, foreign, type_attribute, version_attribute, write_id_attribute)
        self.definition = TableDefinition(
            name,
            key_names(key),
            named_indexes(indexes, key),
            *own,
            ttl_attribute,
            stream,
            deletion_protection,
            encryption_key,
            settings,
            foreign,
            kinds_in(key, indexes),
        )
        self.ttl_name = ttl_attribute or "_ttl"
        """The name under which the expiring attribute is stored."""
        for attribute in (*self.definition.reserved, self.ttl_name):
            check_name(attribute, table=name)
        self.name = name
        self.separator = separator
        self.guards_overlap = overlap == "guard"
        self.ignores = frozenset(ignores)
        """The indexes of the live table whose keys this program leaves as they are."""
        if self.guards_overlap and not self.definition.type_attribute:
            raise DeclarationError(
                'overlap="guard" tells classes by their type, and the table has no attribute for it',
                table=name,
                hint="Name it, type_attribute=..., or give each class keys that no other one has.",
            )
        self.own_items = own_items
        """The table that has what tools keep of a foreign one: leases, progress, holds, the record of its model."""
        if read_only and not foreign:
            raise DeclarationError(
                "read_only= is for a table that another program writes",
                table=name,
                hint="Declare it so, Table(..., foreign=True).",
            )
        self.read_only = read_only
        """Whether no write of its classes is sent."""
        self._models: dict[str, Model[Any]] = {}
        self._leaving: dict[str, Model[Any]] = {}
        self.conversions: dict[str, Conversion] = {}
        """The classes whose items become items of others, by type."""

    def __repr__(self) -> str:
        return f"<Table {self.name}: {', '.join(m.kind.__name__ for m in self.models) or 'no entities'}>"

    @property
    def models(self) -> tuple[Model[Any], ...]:
        """The table's entities, in declaration order."""
        return tuple(self._models.values())

    @property
    def leaving(self) -> tuple[Model[Any], ...]:
        """The model of the items that have not moved, for each class that moves from here to another table."""
        return tuple(self._leaving.values())

    @property
    def sources(self) -> tuple[Table, ...]:
        """The tables where items of its classes may lie still."""
        return tuple(dict.fromkeys(m.before.table for m in self.models if m.before.table is not self))

    @property
    def targets(self) -> tuple[Table, ...]:
        """The tables that items leave this one for."""
        return tuple(dict.fromkeys(m.kind.__table__ for m in self.leaving))

    def type_of(self, item: Item) -> str:
        """The type of a stored item; empty where it has none. In a foreign table an item without one is of the
        class whose key it has."""
        if self.definition.foreign:
            return type_in_foreign(self, item)
        return str(item.get(self.definition.type_attribute, _ABSENT).get("S", ""))

    def model_of_type(self, type_name: str) -> Model[Any] | None:
        """The entity of a stored type; None for a type of no class."""
        return self._models.get(type_name)

    def model_here(self, type_name: str) -> Model[Any] | None:
        """The model of a type's items in this table, including the ones that will leave it."""
        return self._models.get(type_name) or self._leaving.get(type_name)

    @overload
    def key(self, function: Callable[P, Key | str], /) -> DeclaredKey[P]: ...
    @overload
    def key(self, /, *, was: Callable[..., Key] | DeclaredKey[...], doubles: Doubles = "refuse") -> KeyDecorator: ...
    def key(
        self,
        function: Callable[P, Key | str] | None = None,
        /,
        *,
        was: Callable[..., Key] | DeclaredKey[...] | None = None,
        doubles: Doubles = "refuse",
    ) -> DeclaredKey[P] | KeyDecorator:
        """The primary key of an entity: `@app.key` above `@staticmethod`.

        `@app.key(was=old_key)` where items still lie under an older key, whose function stands above: reads find them
        there, and writes and `Migrations.fill` move them. `was=old_table.key(old_key)` where they lie in another table.
        docs/how-to/migrate.md has what holds meanwhile.

        `doubles` says which of two items under both keys, which differ, a fill keeps. `("newest", "changed_at")`: the
        one with the later time, or the greater number, in this attribute. `"by version"`: the one that was written
        more often, by its `version` attribute. Of equal ones, the one under the old key, which was written after the
        other had moved. `"refuse"`: both stay, and an apply ends with ApplyRefused.
        """
        if was is not None:
            return KeyDecorator(self, was, doubles)
        assert function is not None
        return DeclaredKey(plain(function), self)

    def index(self, name: str) -> IndexDecorator:
        """The key of an entity in one of the table's indexes: `@app.index("gsi1")` above `@staticmethod`."""
        if name not in self.definition.indexes:
            known = ", ".join(self.definition.indexes) or "none"
            raise DeclarationError(
                f"table {self.name} has no index {name!r}; it has {known}",
                hint=f'Add it: Table(..., indexes=["{name}"]).',
            )
        return IndexDecorator(name)

    def search(self, function: Callable[P, Key]) -> Declared[P]:
        """A search for the items of an entity by words of a text: `@app.search` above `@staticmethod`, on a function
        that returns where is searched, and the words, as `f"{tenant}", f"{name:words(8)}"`.

        Each write of an item keeps its words in the same transaction: 2 write units a word that comes or goes.
        """
        from singletable.schema.searches import DeclaredSearch  # noqa: PLC0415 few classes have a search

        declared: Declared[P] = DeclaredSearch(plain(function))
        return declared

    def admit(self, model: Model[Any]) -> None:
        """Register an entity. Refused if its type is in use, or its keys could be those of another, or of a guard."""
        self._take_in(model)
        self._models[model.type] = model

    def let_go(self, model: Model[Any]) -> None:
        """Register what a class of another table has here still. Refused as in `admit`."""
        self._take_in(model)
        self._leaving[model.type] = model

    def _take_in(self, model: Model[Any]) -> None:
        """Refuse what others have taken. A class whose items expire gives the table the attribute for that."""
        if self.definition.foreign:
            check_foreign(model)
        else:
            self._refuse_reserved(model)
        self.refuse_taken(model)
        if "expires" in model.roles.values():
            self.definition = replace(self.definition, ttl_attribute=self.ttl_name)

    def refuse_taken(self, model: Model[Any]) -> None:
        """Refuse a class whose type or keys another one of the table has."""
        for other in (*self.models, *self.leaving):
            if (other.kind.__module__, other.kind.__qualname__) == (model.kind.__module__, model.kind.__qualname__):
                continue  # the same class, declared again: a reload, a notebook's cell
            if other.type == model.type:
                raise DeclarationError(
                    f"{model.kind.__name__} and {other.kind.__name__} are both of type {model.type!r}",
                    table=self.name,
                    hint='Give each its own: class X(Entity, ..., type="x"), or class X(Document, ..., word="X").',
                )
            if not self.guards_overlap:
                self._refuse_overlap(model, other)

    def _refuse_reserved(self, model: Model[Any]) -> None:
        for type_name, keys, what in _reserved(self.separator):
            if model.type == type_name or any(all(map(could_meet, form.templates, keys)) for form in _forms(model)):
                raise DeclarationError(
                    f"{model.kind.__name__} could have the key or the type of {what}, {type_name!r}",
                    table=self.name,
                    hint="Begin the key with another literal.",
                )
        searching = (model, *self.models, *self.leaving) if model.searches else (model,)
        if any(other.searches for other in (model, *self.models)):
            self._refuse_words(searching)
        taken = {OWNER, OWNER_SORT} & {*self.definition.reserved, self.ttl_name}
        if (model.unique_types or model.searches) and taken:
            what = "unique values, whose guards" if model.unique_types else "a search, whose words"
            raise DeclarationError(
                f"{model.kind.__name__} has {what} store {min(taken)!r}, which the table uses",
                table=self.name,
                hint="Give the attribute of the table or of its index another name.",
            )

    def _refuse_words(self, models: Iterable[Model[Any]]) -> None:
        """Refuse a class with keys that words of a search could have. Without a search in the table, none has them."""
        for model in models:
            keys = _words_keys(self.separator)
            if model.type == WORD_TYPE or any(all(map(could_meet, form.templates, keys)) for form in _forms(model)):
                raise DeclarationError(
                    f"{model.kind.__name__} could have the key of a word of a search, {WORD_TYPE!r}",
                    table=self.name,
                    hint="Begin the key with another literal.",
                )

    def _refuse_overlap(self, model: Model[Any], other: Model[Any]) -> None:
        example = shared_key(model, other)
        if example is None:
            return
        raise DeclarationError(
            f"{model.kind.__name__} and {other.kind.__name__} could have the same key, as in {example}",
            table=self.name,
            hint=f'Add a literal to one of them, as in f"{model.type}{self.separator}{{...}}", or use '
            f'Table(..., overlap="guard").',
        )

    def checks(self) -> Any:
        """The checks of `db.check(table)`, beyond those of records: invariants of the table's own layer. None here."""
        return None

    def belongings(self) -> Any:
        """The items that `Erasure(db, table)` deletes, beyond records: those of the table's own layer. None here."""
        return None

    @property
    def derived(self) -> frozenset[str]:
        """The stored attributes that the table's layer makes of other items, and `repair` rewrites. None here."""
        return frozenset()

    def remains(self, item: Item, types: Collection[str]) -> Mapping[str, AttributeValue | None]:
        """The attributes of an item in which the table's layer has something of items of removed types: what is left of
        each without them, or None. None here."""
        return {}

    def around(self, entity: Any) -> Sequence[Any]:
        """Queries whose whole partitions a slice of the table takes along with an entity, in addition to its
        references: the edges of a graph's node. None here."""
        return ()

    async def sweep_layer(self, port: Any, *, orphans: bool) -> int:
        """Finish or delete items of the table's layer in `db.sweep_table(table)`. Returns their number; 0 here."""
        return 0


def shared_key(model: Model[Any], other: Model[Any]) -> str | None:
    """A primary key that items of both classes could have, as a text for people; None if there is none."""
    pairs = product(_forms(model), _forms(other))
    return next(filter(None, (common_key(one.templates, another.templates) for one, another in pairs)), None)


def _own_attributes(
    table: str, foreign: bool, type_: str | None, version: str | None, write_id: str | None
) -> tuple[str, str, str]:
    """The attributes of type, schema version and write id: the library's, or in a foreign table the named ones."""
    usual = ("", "", "") if foreign else ("_type", "_v", "_w")
    own = (type_ or usual[0], version or usual[1], write_id or usual[2])
    for name in () if foreign else (type_, version, write_id):
        if name is not None:
            check_name(name, table=table)
    return own


@cache
def _reserved(separator: str) -> tuple[tuple[str, tuple[Template, Template], str], ...]:
    """The types and keys that no other class may have, each with what it is."""
    rest = KeyPart("", Slot.of("rest", str, "rest"))
    guards = Template((KeyPart(GUARD_TYPE), rest), separator), _GUARD_SORT
    what = "what tools keep in a table"
    return (
        (GUARD_TYPE, guards, "a guard of unique values"),
        *((type_name, _tools_key(type_name, rest, separator), what) for type_name in entry_points.ITEMS),
    )


def _tools_key(type_name: str, rest: KeyPart, separator: str) -> tuple[Template, Template]:
    """The keys of a tool's items, whatever follows their word."""
    tools, word = KeyPart(TOOLS_PARTITION), KeyPart(key_word(type_name))
    if type_name in entry_points.APART:
        return Template((tools, word, rest), separator), Template((word,))
    return Template((tools,)), Template((word, rest), separator)


@cache
def _words_keys(separator: str) -> tuple[Template, Template]:
    rest = KeyPart("", Slot.of("rest", str, "rest"))
    words = Template((KeyPart(WORD_TYPE), rest), separator)
    return words, words


def key_word(type_name: str) -> str:
    """The first word in the keys of a tool's items."""
    return entry_points.KEY_WORDS.get(type_name, type_name[1:])


def _forms(model: Model[Any]) -> tuple[Captured, ...]:
    """The keys that an item may have in the model's table: that of its class, and the one it was."""
    was = model.key.was
    return (model.key,) if was is None or was.table is not None else (model.key, was)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a staticmethod."""
    return cast("Callable[..., Any]", getattr(function, "__func__", function))
