"""The declarations of a table's classes, as a document: the record in the table, and the file that a review shows.

The same declaration gives the same bytes, one line for each template, attribute and setting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.foundation import Model, Table, model_of, type_text
from singletable.migrations.needed import outside_of
from singletable.tables import Provisioned

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

    @property
    def shape(self) -> tuple[str, ...]:
        """The key's templates with types for names: an attribute that only got another name changes no key."""
        return tuple(self._typed(text) for text in self.key)

    @property
    def slots(self) -> tuple[str, ...]:
        """The names in the key, in their order."""
        return tuple(name for text in self.key for name in _SLOT.findall(text))

    def has_key_of(self, other: EntityForm) -> bool:
        """Whether items of both forms have the same primary keys: the same shape, with each name that both have at its
        place. A name that one alone has is another's new one."""
        if self.shape != other.shape:
            return False
        places = zip(self.slots, other.slots, strict=True)
        return all(one == its or (one not in other.slots and its not in self.slots) for one, its in places)

    @property
    def before(self) -> EntityForm | None:
        """The form with the key that it was in the same table."""
        return None if self.was is None or self.other_table else replace(self, key=self.was, was=None)

    def _typed(self, text: str) -> str:
        return _SLOT.sub(lambda found: "{" + self.attributes.get(found[1], "").partition(" as ")[0] + "}", text)


class IndexForm(Struct, frozen=True):
    """An index: its key's attributes, and what it holds."""

    key: tuple[str, str]
    projection: str | tuple[str, ...]


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

    @property
    def text(self) -> str:
        """As JSON, sorted and indented."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2).decode() + "\n"

    def is_stored_as(self, type_name: str, other: ModelDocument) -> bool:
        """Whether the items of a type that `other` describes need no write: key, version, index keys, attributes."""
        mine, its = self.entities[type_name], other.entities[type_name]
        had = other._index_keys(its)
        has_keys = all(had.get(name) == keys for name, keys in self._index_keys(mine).items())
        forms = (mine.version, mine.stored_as) == (its.version, its.stored_as)
        return forms and has_keys and mine.has_key_of(its) and {*mine.outside} <= {*its.outside}

    def _index_keys(self, entity: EntityForm) -> dict[str, Any]:
        return {name: (self.indexes[name].key, texts) for name, texts in entity.indexes.items()}


def document_of(table: Table) -> ModelDocument:
    """The program's declarations of a table."""
    definition = table.definition
    indexes = {name: IndexForm((i.partition, i.sort), i.projection) for name, i in definition.indexes.items()}
    entities = {model.type: _form(model) for model in table.models}
    leaving = {m.type: replace(_form(m), other_table=model_of(m.kind).table.name) for m in table.leaving}
    return ModelDocument(table.name, definition.key, indexes, _settings(table), entities, leaving)


def read_document(text: str | bytes) -> ModelDocument:
    """A document from its JSON. msgspec.ValidationError for another one."""
    return msgspec.json.decode(text, type=ModelDocument)


def _form(model: Model[Any]) -> EntityForm:
    shown = {name: (t[0].shown, t[1].shown) for name, t in ((n, c.templates) for n, c in model.indexes.items())}
    attributes = {
        field.name: type_text(model.types.get(field.name, Any))
        + (f" as {field.stored}" if field.stored != field.name else "")
        for field in model.fields
    }
    partition, sort = model.key.templates
    was = None if model.key.was is None else (model.key.was.templates[0].shown, model.key.was.templates[1].shown)
    stored_as = model.stored_as if model.is_in_two_forms else None
    other = None if model.before is model else model.before.table.name
    return EntityForm(
        model.version, (partition.shown, sort.shown), shown, attributes, was, stored_as, outside_of(model), other
    )


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
    both = declared.entities.keys() & record.entities.keys()
    stale = {name for name in both if not declared.is_stored_as(name, record)}
    return sorted(stale | (declared.leaving.keys() & record.entities.keys()))
