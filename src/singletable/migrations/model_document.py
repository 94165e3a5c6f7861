"""The declarations of a table's classes, as a document: the record in the table, and the file that a review shows.

The same declaration gives the same bytes. It has everything that decides which bytes are stored, under which key, in
which index, and which other items belong to it. All of it is derived: an attribute's form from its compiled plan
(`values.plans`), a key's from the key types of its template (`values.key_types`), a layer's by its function
(`layers`). `differences` says what a difference means.

A document of an older version of the library lacks `stored`, `slots`, `names` and `layers`: that is unknown, not empty.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from zlib import compress, decompress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.foundation import Captured, Model, Table, model_of, type_text
from singletable.layers import forms_of
from singletable.migrations.needed import outside_of
from singletable.tables import Provisioned
from singletable.values import Field

_TEXTS = re.compile(r'\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}')
"""The texts that a form lists, as a JSON object."""
_SLOT = re.compile(r"\{([^{}]*)\}")


class EntityForm(Struct, frozen=True, omit_defaults=True):
    """The stored form of one class."""

    version: int
    key: tuple[str, str]
    """The templates of partition and sort key."""
    indexes: Mapping[str, tuple[str, str]]
    attributes: Mapping[str, str]
    """Each attribute's type, by its name in Python; with the stored name where that is another."""
    was: tuple[str, str] | None = None
    """The key that items had before, where the class says so."""
    stored_as: int | None = None
    """The older version in whose form items are stored too."""
    outside: tuple[str, ...] = ()
    """The parts of its items that lie elsewhere: guards, copies, edge sets."""
    other_table: str | None = None
    """The table where items had the key that they had before; or, of what is leaving, that it moves to."""
    stored: Mapping[str, Any] | None = None
    """Each attribute by its stored name: its form, whether it may be absent, its role."""
    slots: Mapping[str, tuple[str, str]] | None = None
    """The forms of the values in the two texts of each key: of "key", of "was", and of each "index NAME"."""
    beside: Mapping[str, Any] | None = None
    """The parts that a layer keeps in other items, with their forms."""
    is_system: bool = False
    """A layer of the library made the class, for its own items."""
    becomes: tuple[str, ...] = ()
    """The types of the items that its items are converted into."""

    @property
    def written_version(self) -> int:
        """The version that its items have: an older one, where they are stored in two forms."""
        return self.version if self.stored_as is None else self.stored_as

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the key, in their order."""
        return tuple(name for text in self.key for name in _SLOT.findall(text))

    @property
    def guards(self) -> dict[str, str]:
        """The forms of unique values in the keys of their guards, by attribute."""
        return {name: facts["guard"] for name, facts in (self.stored or {}).items() if "guard" in facts}

    def has_key_of(self, other: EntityForm) -> bool:
        """Whether items of both forms have the same primary keys: the same shape, with each name that both have at its
        place. A name that one alone has is another's new one."""
        if not self._is_shaped_as(other, "key"):
            return False
        places = zip(self.names, other.names, strict=True)
        return all(one == its or (one not in other.names and its not in self.names) for one, its in places)

    def has_index_of(self, other: EntityForm, index: str) -> bool:
        """Whether items of both forms have the same texts in an index, if their attributes are the same."""
        return self.indexes[index] == other.indexes.get(index) and self._has_slots_of(other, f"index {index}")

    def has_beside_of(self, other: EntityForm) -> bool:
        """Whether the parts in other items, of those that both have, are in the same form."""
        mine, its = self.beside or {}, other.beside or {}
        return all(
            mine[name].keys() == its[name].keys() and all(is_alike(mine[name][p], its[name][p]) for p in mine[name])
            for name in mine.keys() & its.keys()
        )

    @property
    def before(self) -> EntityForm | None:
        """The form with the key that it was in the same table."""
        if self.was is None or self.other_table:
            return None
        slots = None if self.slots is None else {**self.slots, "key": self.slots["was"]}
        return replace(self, key=self.was, was=None, slots=slots)

    def _is_shaped_as(self, other: EntityForm, key: str) -> bool:
        """Whether two keys have the same literals and, in the same places, values of the same form. Where one's forms
        are unknown, of the same declared type."""
        if self.slots is None or other.slots is None:
            return self._typed(self.key) == other._typed(other.key)
        literals = [[_SLOT.sub("{}", text) for text in form.key] for form in (self, other)]
        return literals[0] == literals[1] and self._has_slots_of(other, key)

    def _has_slots_of(self, other: EntityForm, key: str) -> bool:
        """Whether the values in a key have the same forms; also where one of the two doesn't say."""
        mine, its = ((form.slots or {}).get(key) for form in (self, other))
        return mine is None or its is None or all(map(is_alike, mine, its))

    def _typed(self, texts: tuple[str, str]) -> list[str]:
        types = {name: text.partition(" as ")[0] for name, text in self.attributes.items()}
        return [_SLOT.sub(lambda slot: "{" + types.get(slot[1], "") + "}", text) for text in texts]


class IndexForm(Struct, frozen=True, omit_defaults=True):
    """An index: its key's attributes, and what it holds."""

    key: tuple[str, str]
    projection: str | tuple[str, ...]
    local: bool = False


class ModelDocument(Struct, frozen=True, omit_defaults=True):
    """A table's declaration."""

    table: str
    key: tuple[str, str]
    indexes: Mapping[str, IndexForm]
    settings: Mapping[str, Any]
    """The declared ones only."""
    entities: Mapping[str, EntityForm]
    leaving: Mapping[str, EntityForm] = msgspec.field(default_factory=dict[str, EntityForm])
    """The classes that move to another table, in their form here."""
    names: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """The separator of keys, and the attributes that every item has, by their use. Empty if they are unknown."""
    layers: Mapping[str, Mapping[str, Any]] | None = None
    """The forms of the table's layers, in addition to the classes of their items."""
    gone: Mapping[str, EntityForm] = msgspec.field(default_factory=dict[str, EntityForm])
    """The removed classes, whose items may still be there: one that comes back is compared with its former form."""
    purged: Mapping[str, int] = msgspec.field(default_factory=dict[str, int])
    """The items of removed classes that purges deleted, by type; of one that was killed, without its last page."""

    @property
    def declared(self) -> Mapping[str, EntityForm]:
        """The forms of the classes that are declared, by type; also of those that move to another table."""
        return {**self.leaving, **self.entities}

    @property
    def classes(self) -> Mapping[str, EntityForm]:
        """All forms by type, of removed classes too."""
        return {**self.gone, **self.declared}

    @property
    def text(self) -> str:
        """Write it as JSON, sorted and indented."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2).decode() + "\n"

    @property
    def is_whole(self) -> bool:
        """Whether it has all that decides the stored bytes: an older version of the library wrote less."""
        return bool(self.names)

    @property
    def packed(self) -> bytes:
        """The text, compressed."""
        return compress(msgspec.json.encode(self, order="sorted"), 9)

    def with_known(self, record: ModelDocument | None) -> ModelDocument:
        """The declaration with what a record has of removed classes, and of layers that this program didn't import."""
        if record is None:
            return self
        known = {n: f for n, f in record.entities.items() if f.is_system or n.startswith("_")}
        mine, its = self.layers or {}, record.layers or {}
        layers = {name: {**its.get(name, {}), **mine.get(name, {})} for name in (*its, *mine)}
        entities = {**known, **self.entities}
        gone = {n: f for n, f in {**record.gone, **record.entities}.items() if n not in {**self.leaving, **entities}}
        return replace(self, entities=entities, layers=layers, gone=gone).with_purged(record.purged)

    def is_declared_as(self, other: ModelDocument) -> bool:
        """Whether both are equal but for what was purged."""
        return replace(self, purged=other.purged) == other

    def with_purged(self, purged: Mapping[str, int]) -> ModelDocument:
        """The same after a purge. What is declared again is forgotten."""
        counts = Counter(self.purged) + Counter(purged)
        return replace(self, purged={name: count for name, count in counts.items() if name not in self.declared})

    @property
    def digest(self) -> str:
        """A digest, equal for declarations that store the same items."""
        items = replace(self, settings={}, layers=None, purged={})
        return sha256(msgspec.json.encode(items, order="sorted")).hexdigest()[:16]

    def is_stored_as(self, type_name: str, other: ModelDocument) -> bool:
        """Whether the items of a type that `other` describes need no write: key, version, index keys, attributes."""
        mine, its = self.entities[type_name], other.classes[type_name]
        forms = (mine.version, mine.stored_as) == (its.version, its.stored_as)
        has_keys = all(self._has_index_of(other, mine, its, name) for name in mine.indexes)
        is_left = any(name not in mine.indexes and name in self.indexes for name in its.indexes)
        has_parts = (
            {*mine.outside} <= {*its.outside}
            and mine.has_beside_of(its)
            and mine.guards.items() <= (its.guards or mine.guards).items()
        )
        is_converted = mine.becomes in ((), its.becomes)
        return forms and is_converted and has_keys and not is_left and mine.has_key_of(its) and has_parts

    def _has_index_of(self, other: ModelDocument, mine: EntityForm, its: EntityForm, name: str) -> bool:
        index = other.indexes.get(name)
        return index is not None and self.indexes[name].key == index.key and mine.has_index_of(its, name)


def document_of(table: Table) -> ModelDocument:
    """The program's declarations of a table."""
    definition = table.definition
    indexes = {
        name: IndexForm((i.partition, i.sort), i.projection, i.is_local) for name, i in definition.indexes.items()
    }
    entities = {model.type: form_of(model) for model in table.models}
    leaving = {m.type: replace(form_of(m), other_table=model_of(m.kind).table.name) for m in table.leaving}
    names = {
        "separator": table.separator,
        "type": definition.type_attribute,
        "version": definition.version_attribute,
        "write id": definition.write_id_attribute,
        "expiry": table.ttl_name,
    }
    settings, layers = _settings(table), forms_of(table)
    document = ModelDocument(table.name, definition.key, indexes, settings, entities, leaving, names, layers)
    return read_document(msgspec.json.encode(document))  # as a record is read: a layer's form may hold tuples


def is_alike(one: str, other: str) -> bool:
    """Whether two forms in a key write the same texts. Where they list texts, as those of an enum, one may have more:
    the difference of the attribute covers the others."""
    if one == other:
        return True
    texts = [[msgspec.json.decode(listed) for listed in _TEXTS.findall(form)] for form in (one, other)]
    grew = all(
        a.items() <= b.items() or b.items() <= a.items() or _is_renamed(a, b) for a, b in zip(*texts, strict=False)
    )
    return _TEXTS.sub("{}", one) == _TEXTS.sub("{}", other) and grew


def _is_renamed(was: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether one member alone has another name, and the same text."""
    lost, gained = was.items() - now.items(), now.items() - was.items()
    return len(lost) == 1 and [text for _, text in lost] == [text for _, text in gained]


def read_document(text: str | bytes) -> ModelDocument:
    """A document from its JSON, compressed or not. msgspec.MsgspecError or zlib.error for another one."""
    plain = decompress(text) if isinstance(text, bytes) and not text.startswith(b"{") else text
    return msgspec.json.decode(plain, type=ModelDocument)


def form_of(model: Model[Any]) -> EntityForm:
    """The stored form of a class, from its templates and plans."""
    keys = {"key": model.key, "was": model.key.was, **{f"index {n}": c for n, c in model.indexes.items()}}
    shown = {name: _shown(captured) for name, captured in keys.items() if captured is not None}
    return EntityForm(
        model.version,
        shown["key"],
        {name: shown[f"index {name}"] for name in model.indexes},
        {field.name: _type_of(model, field) for field in model.fields},
        shown.get("was"),
        model.stored_as if model.is_in_two_forms else None,
        outside_of(model),
        None if model.before is model else model.before.table.name,
        {field.stored: _stored(model, field) for field in model.fields},
        {n: (c.templates[0].form, c.templates[1].form) for n, c in keys.items() if c is not None},
        model.kind.__beside__() or None,
        model.is_system,
        model.table.conversions[model.type].types if model.type in model.table.conversions else (),
    )


def _shown(captured: Captured) -> tuple[str, str]:
    partition, sort = captured.templates
    return partition.shown, sort.shown


def _type_of(model: Model[Any], field: Field) -> str:
    stored = f" as {field.stored}" if field.stored != field.name else ""
    return f"{type_text(model.types.get(field.name, Any))}{stored}"


def _stored(model: Model[Any], field: Field) -> Mapping[str, Any]:
    """An attribute's own form, the name that the class calls it by, and the form of its value in a guard's key."""
    name = {"name": field.name} if field.name != field.stored else {}
    guard = {"guard": model.unique_types[field.name].form} if field.name in model.unique_types else {}
    return {**field.form, **name, **guard}


def _settings(table: Table) -> dict[str, Any]:
    definition, settings = table.definition, table.definition.settings
    billing = settings.billing
    said = {
        "TTL": definition.ttl_attribute,
        "stream": definition.stream,
        "deletion protection": definition.deletion_protection,
        "encryption key": definition.encryption_key,
        "point-in-time recovery": settings.point_in_time_recovery,
        "billing": msgspec.to_builtins(billing) if isinstance(billing, Provisioned) else billing,
        "table class": settings.table_class,
        "tags": dict(settings.tags) or None,
    }
    return {name: value for name, value in said.items() if value is not None}


def stale_types(declared: ModelDocument, record: ModelDocument) -> list[str]:
    """The types whose stored items may not be as declared. A type that is new since the record has none."""
    both = declared.entities.keys() & (record.entities.keys() | record.gone.keys())
    stale = {name for name in both if not declared.is_stored_as(name, record)}
    return sorted(stale | (declared.leaving.keys() & record.entities.keys()))
