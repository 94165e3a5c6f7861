"""A model: all that the library knows of one entity class, compiled when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from singletable import values
from singletable.errors import Corrupt, DeclarationError, InvalidRequest, InvalidValue, Newer
from singletable.operations import Item, Key, encode, read_item
from singletable.schema.corrupt_items import named, naming
from singletable.schema.derived_keys import (
    IndexText,
    derived_keys,
    filled,
    is_attribute,
    key_templates,
    made_by_library,
)
from singletable.schema.mistakes import not_an_entity
from singletable.schema.patterns import Captured, KeyOf
from singletable.schema.stored_key import StoredKey
from singletable.schema.table import Table
from singletable.schema.told_keys import asked_key
from singletable.schema.version_steps import Upcaster, VersionSteps, attribute_steps
from singletable.values import Codec, Constant, Field, KeyPlace, KeyType, Role, name_owner, undeclared_in, wire_struct

if TYPE_CHECKING:
    from singletable.schema.searches import SearchPattern

T = TypeVar("T")


class Model(Struct, Generic[T], eq=False, dict=True):
    """One entity class: its table, type, keys, fields and codec."""

    kind: type[T]
    table: Table
    type: str
    version: int
    stored_as: int
    """The schema version that items are stored with: an older one while programs that know no newer one run."""
    key: Captured
    indexes: Mapping[str, Captured]
    make_fields: Callable[[], list[Field]]
    roles: Mapping[str, Role] = field(default_factory=dict[str, Role])
    unique_types: Mapping[str, KeyType] = field(default_factory=dict[str, KeyType])
    """The attributes that are unique, with the type of the text that a guard's key holds."""
    searches: Mapping[str, SearchPattern] = field(default_factory=dict[str, "SearchPattern"])
    """The searches by words, by name."""
    types: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The attributes' declared types at the time when the class was made."""
    refuses: Mapping[str, str] = field(default_factory=dict[str, str])
    """The verbs that a layer above refuses for its items, each with what to do instead."""
    tombstone: str = ""
    """The stored attribute that marks an item as being deleted. Most classes have none."""
    tombstone_hint: str = ""
    upcasters: dict[int, Upcaster] = field(default_factory=dict[int, Upcaster])
    is_system: bool = False
    """A layer of the library made the class, for its own items."""
    downcasters: dict[int, Upcaster] = field(default_factory=dict[int, Upcaster])
    prefix: str = ""
    """How the names begin under which a layer keeps more in an item. An object carries nothing undeclared then."""
    stamps: tuple[Constant, ...] = ()
    """Attributes that another program wants in each item, with their values. Of a class in a foreign table only."""
    is_ambiguous: bool = False
    """Whether different values may share a key: a key has the values that it was asked with."""

    @cached_property
    def before(self) -> Model[T]:
        """The model of the items that have not moved: this one, or in another table that of the same class there.

        Its index keys there are not declared any more, so it has none.
        """
        was = self.key.was
        if was is None or was.table is None:
            return self
        return replace(self, table=was.table, key=was, indexes={})

    @property
    def is_leaving(self) -> bool:
        """Whether it is the model of items that are to move to their class's table."""
        return self.key.table is not None

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Computed at first use, when classes that the module defines later exist."""
        fields = tuple(filled(f) if self._is_key(f) else f for f in self.make_fields())
        stored = [f.stored for f in fields]
        for f in fields:
            is_own = (f.is_written or f.is_in_key) and f.role != "expires"
            taken = is_own and f.stored in self.beside and not self._is_key(f)
            if taken or stored.count(f.stored) > 1:
                raise DeclarationError(
                    f"{self.kind.__name__}.{f.name} is stored as {f.stored!r}, a name in use",
                    table=self.table.name,
                    hint='Store it under another name: field(name="...").'
                    if f.is_written
                    else "Name it otherwise; or declare it without in_key=True, where the key attribute is its value.",
                )
        return fields

    def _is_key(self, field: Field) -> bool:
        """Whether a key attribute is this attribute of the class."""
        one = {field.name: field}
        keys = (self.key, *self.indexes.values())
        pairs = (pair for captured in keys for pair in key_templates(captured, self.table.definition))
        return any(template.names == (field.name,) and is_attribute(template, name, one) for name, template in pairs)

    @cached_property
    def derived(self) -> Mapping[str | None, tuple[IndexText, ...]]:
        """The key attributes that the library makes of the class's attributes, by index."""
        return made_by_library(self.indexes, self.table.definition, self.by_name)

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        return {f.name: f for f in self.fields}

    @cached_property
    def steps(self) -> VersionSteps:
        """The steps between its schema versions."""
        otherwise = attribute_steps(self.fields, self.table.ttl_name)
        return VersionSteps(self.kind, self.table.name, otherwise, self.upcasters, self.downcasters)

    @cached_property
    def expires(self) -> Field | None:
        """The attribute that holds the time at which an item expires."""
        return next((f for f in self.fields if f.role == "expires"), None)

    @cached_property
    def counter(self) -> Field | None:
        """The attribute that counts an item's writes."""
        return next((f for f in self.fields if f.role == "version"), None)

    @cached_property
    def uniques(self) -> tuple[Field, ...]:
        """The attributes whose values no two items may share."""
        return tuple(f for f in self.fields if f.role == "unique")

    @cached_property
    def claimed(self) -> tuple[Field, ...]:
        """The attributes that make attached items: unique ones, the ones of a search that may change, and the expiry,
        which attached items share: one that ended earlier would free its value, or hide its owner."""
        if not self.has_claims:
            return ()
        names = {name for search in self.searches.values() for t in search.templates for name in t.names}
        return tuple(f for f in self.fields if f.role in ("unique", "expires") or (f.name in names - self.identity))

    @cached_property
    def has_claims(self) -> bool:
        """Whether its items have attached ones, which each write keeps in its transaction."""
        return bool(self.unique_types or self.searches)

    @cached_property
    def unique_texts(self) -> Mapping[str, Callable[[Any], str]]:
        """The functions that write the unique attributes' values in the keys of their guards."""
        place = KeyPlace(self.table.separator, is_last=True, is_identifier=True)
        return {name: key_type.writer(name, place) for name, key_type in self.unique_types.items()}

    def is_expired(self, entity: T, now: float) -> bool:
        """Whether an entity has expired as of a time."""
        if self.expires is None:
            return False
        ends = getattr(entity, self.expires.name)
        return ends is not None and ends.timestamp() <= now

    @cached_property
    def codec(self) -> Codec[T]:
        self.steps.check_down(self.version, self.stored_as)
        keys = derived_keys(self.key, self.indexes, self.table.definition, self.by_name, self.roles)
        texts = self.stored_key.key_texts(self.by_name)
        beside, forms = None if self.prefix else self.beside, None
        if self.table.definition.foreign:
            forms = values.STORED_FORMS
        return Codec(self.kind, self.fields, self.constants, [*keys], texts, beside=beside, forms=forms)

    @cached_property
    def beside(self) -> frozenset[str]:
        """The stored names that belong to the library in every item of the table, or of the one that it moved from."""
        names = {*self.reserved, *(constant.stored for constant in self.stamps)}
        if not self.table.definition.foreign:
            names |= {n for t in (self.table, self.before.table) for n in (*t.definition.reserved, t.ttl_name)}
        return frozenset(names | {self.tombstone} - {""})

    @cached_property
    def own_indexes(self) -> tuple[str, ...]:
        """The indexes whose keys a write decides: all, or in a foreign table those in which the class has a key."""
        indexes = self.table.definition.indexes
        return tuple(name for name in indexes if name in self.indexes or not self.table.definition.foreign)

    @cached_property
    def reserved(self) -> tuple[str, ...]:
        """The stored names in an item that belong to the library: it writes each anew, or takes it away."""
        definition = self.table.definition
        own = {name for index in (None, *self.own_indexes) for name in definition.index_keys(index)}
        others = {name for index in definition.indexes for name in definition.index_keys(index)} - own
        return tuple(name for name in definition.reserved if name not in others)

    @cached_property
    def stored_key(self) -> StoredKey:
        """Checks that an item is stored under the key that its attributes make."""
        place = self.kind, self.table.definition
        was = None
        if self.key.was is not None and self.key.was.table is None:
            was = StoredKey(*place, self.key.was.templates, self.by_name)
        return StoredKey(*place, self.key.templates, self.by_name, was)

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """The type and the schema version, as every item carries them; and the constants of another program."""
        definition, is_foreign = self.table.definition, self.table.definition.foreign
        type_wire = wire_struct("S", Literal[self.type])
        version_wire = wire_struct("N", Literal[self.version])
        is_told = is_foreign and not self.table.guards_overlap  # by the key, which one class alone makes
        is_first = self.version == 1  # an item without a version is of the first
        own = (
            Constant(definition.type_attribute, {"S": self.type}, type_wire, is_told),
            Constant(definition.version_attribute, {"N": str(self.version)}, version_wire, is_foreign and is_first),
        )
        return (*(constant for constant in own if constant.stored), *self.stamps)

    @cached_property
    def key_attributes(self) -> tuple[str, str]:
        return self.table.definition.key

    @cached_property
    def feeds(self) -> Mapping[str, tuple[Captured, ...]]:
        """The indexes whose keys contain an attribute's value, by attribute."""
        found: dict[str, tuple[Captured, ...]] = {}
        for captured in self.indexes.values():
            for name in {n for t in captured.templates for n in t.names}:
                found[name] = (*found.get(name, ()), captured)
        return found

    @cached_property
    def identity(self) -> frozenset[str]:
        """The attributes whose values make the primary key: they never change."""
        return frozenset(n for t in self.key.templates for n in t.names)

    # --- Reader ------------------------------------------------------------------------------------------------------
    @property
    def wire(self) -> Any:
        return self.codec.wire

    @property
    def build(self) -> Callable[[Any], T]:
        return self.codec.build  # itself, as a call in between would be a tenth of an item's time

    @property
    def build_all(self) -> Callable[[Sequence[Any]], list[T]]:
        return self.codec.build_all

    def load(self, item: Item) -> T | None:
        """Load an item by the slow path: None for another type, upcast if it has an older version.

        Raises Corrupt if it can't be read, or is stored under another key than its attributes make.
        """
        carrying = self.codec.load_carrying(item)
        if carrying is None:
            return self.load_anywhere(item, at_its_key=True)
        self.codec = self.codec.knowing(undeclared_in(carrying))
        return carrying

    def load_anywhere(self, item: Item, *, at_its_key: bool = False) -> T | None:
        """The same, for an item under any key. Attributes that are only in its key are read from there."""
        if not self.is_mine(item) or self.tombstone in item:
            return None
        with naming(self, item):
            known = self.stored_key.known_from(item)
            version = self.version_of(item)
            if version > self.version:
                raise self.newer(version)
            current = self.upcast(item, version) if version < self.version else item
            entity = self.codec.load(current, known)
            if at_its_key:
                self.stored_key.check(entity, item)
            return entity

    def is_mine(self, item: Item) -> bool:
        if self.table.definition.foreign:
            return self.table.type_of(item) == self.type
        return item.get(self.table.definition.type_attribute) == {"S": self.type}

    def version_of(self, item: Item) -> int:
        """The schema version of an item; 1 if it has none."""
        stored = item.get(self.table.definition.version_attribute, {"N": "1"})
        try:
            return int(stored.get("N", "1"))
        except ValueError:
            what = f"an item of {self.kind.__name__} can't be read: its schema version is not a whole number"
            raise named(self, item, Corrupt(what, hint="Correct the item.")) from None

    def is_current(self, item: Item) -> bool:
        """Whether an item has the schema version that this program writes."""
        return self.version_of(item) == self.stored_as

    def newer(self, version: int) -> Newer:
        return Newer(
            f"an item of {self.kind.__name__} has schema version {version}; this program knows version {self.version}",
            table=self.table.name,
            hint="Deploy the program that knows it.",
        )

    def upcast(self, item: Item, version: int) -> Item:
        """The item in the current version's form, by the chain of upcasters. Raises Corrupt if one is missing, or
        can't read the item."""
        with naming(self, item):
            return self.steps.up(item, version, self.version)

    # --- keys --------------------------------------------------------------------------------------------------------
    def item(self, entity: T) -> dict[str, Any]:
        """The whole item of an entity, with keys, type and version."""
        item = self.codec.dump(entity)
        return item if self.stored_as == self.version else self._in_both_forms(entity, item)

    @property
    def is_in_two_forms(self) -> bool:
        """Whether items are stored in an older form too."""
        return self.stored_as != self.version

    def _in_both_forms(self, entity: T, item: dict[str, Any]) -> dict[str, Any]:
        """An item with the attributes that it has in the older version, and marked as of that version."""
        item = read_item(encode(item))  # the stored form: an entity's item has bytes and sets in it
        older = self.steps.down(item, self.version, self.stored_as)
        both = {**item, **read_item(encode(older)), self.table.definition.version_attribute: {"N": str(self.stored_as)}}
        if self.codec.load(self.upcast(both, self.stored_as)) != entity:
            raise InvalidValue(
                "an entity is another after downcast and upcast, so that a part of it would be lost",
                hint=f"The two have to be each other's inverse for every value: @{self.kind.__name__}.downcast.",
            )
        return both

    def place_of(self, entity: T) -> tuple[str, str]:
        """The two texts of an entity's primary key."""
        partition, sort = self.key.templates
        try:
            return partition.write_of(entity), sort.write_of(entity)
        except InvalidValue as error:
            name_owner(error, self.kind)
            raise
        except AttributeError:
            missing = next((n for n in (*partition.names, *sort.names) if not hasattr(entity, n)), "its key")
            raise InvalidRequest(
                f"{self.kind.__name__}.{missing} was not loaded, and is part of the key",
                hint="Name it in only(...) as well.",
            ) from None

    def key_in(self, item: Item) -> KeyOf[Any] | None:
        """The key that an item lies under; None if it isn't of the declared kinds."""
        kinds = self.table.definition.kinds
        partition, sort = (item.get(n, {}).get(kinds.get(n, "S")) if n else "" for n in self.key_attributes)
        return self.key_at((partition, sort)) if isinstance(partition, str) and isinstance(sort, str) else None

    def key_of(self, entity: T) -> KeyOf[Any]:
        key = self._key_of(entity)
        return key if not self.is_ambiguous else asked_key(key, vars(entity))

    @cached_property
    def _key_of(self) -> Callable[[T], KeyOf[Any]]:
        return self.key.of_objects(KeyOf, self.kind, lambda entity: self.key_at(self.place_of(entity)))

    def key_at(self, place: tuple[str, str]) -> KeyOf[Any]:
        """The key with an item's two texts, also if its attributes make another one now."""
        text, whole = place
        return KeyOf((self.kind,), self.key, text, whole, whole, len(self.key.templates[1].parts))

    def old_key(self, key: KeyOf[Any]) -> KeyOf[Any]:
        """The key that an item of this key had before. Only for a class whose key was another."""
        was = self.key.was
        assert was is not None
        partition, sort = was.templates
        values = self.key_values(key)
        text, whole = partition.write(values), sort.write(values)
        return KeyOf((self.kind,), was, text, whole, whole, len(sort.parts))

    def is_moved(self, entity: T, item: Item) -> bool:
        """Whether an item of the table lies under the key of its class, not under the one that it was."""
        if self.is_leaving:
            return False
        return self.stored_key.was is None or self.stored_key.wrong_in(entity, item) is None

    def key_item(self, key: KeyOf[Any]) -> Key:
        """A key's attributes."""
        if not self.table.definition.has_text_keys:
            return self.table.definition.key_at(key.partition, key.low)
        partition, sort = self.key_attributes
        return {partition: {"S": key.partition}, sort: {"S": key.low}}

    def key_values(self, key: KeyOf[Any]) -> dict[str, Any]:
        """The attributes that a key's texts were written from."""
        partition, sort = self.key.templates
        return {**(partition.read(key.partition) or {}), **(sort.read(key.low) or {})}


def model_for(entity: object, *, or_key: bool = False) -> Model[Any]:
    """The model of an entity's class. InvalidRequest for what is none; `or_key` says that a key would do as well."""
    kind: Any = type(entity)
    model: Any = getattr(kind, "__model__", None)
    if model.__class__ is Model:
        return model
    if not hasattr(kind, "__model__"):
        raise not_an_entity(entity, or_key=or_key)
    return model_of(kind)


def model_of(kind: type[T]) -> Model[T]:
    """The model of an entity class; DeclarationError for a class without a table or type."""
    model: Any = getattr(kind, "__model__", None)
    if model.__class__ is not Model:
        name = getattr(kind, "__name__", str(kind))
        raise DeclarationError(
            f"{name} is not an entity with a table", hint='Declare it: class X(Entity, table=..., type="x").'
        )
    return model
