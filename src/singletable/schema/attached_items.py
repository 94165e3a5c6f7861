"""Items attached to others, by their owners: guards of unique values, and words of searches."""

from __future__ import annotations

from typing import Any

from singletable.schema.guard_items import guard_keys, guard_prefix, guarded_type, guards_of
from singletable.schema.models import Model, model_of
from singletable.schema.patterns import KeyOf
from singletable.schema.table import GUARD_TYPE, WORD_TYPE, Table
from singletable.schema.word_items import word_keys, word_prefix, worded_search, words_of


def models_of(table: Table) -> tuple[Model[Any], ...]:
    """The models of all items of a table: its entities, then the guards and words attached to them."""
    has_guards = any(model.unique_types for model in (*table.models, *table.leaving))
    has_words = any(model.searches for model in (*table.models, *table.leaving))
    own = [*([guards_of] if has_guards else []), *([words_of] if has_words else [])]
    return (*table.models, *(model_of(kind_of(table)) for kind_of in own))


def attached_keys(model: Model[Any], entity: Any) -> list[KeyOf[Any]]:
    """The keys of an entity's attached items. Raises InvalidValue for values that make none."""
    owner = model.key_of(entity)
    words = (word_keys(model, search, owner, entity).values() for search in model.searches.values())
    return [*guard_keys(model, entity), *(key for keys in words for key in keys)]


def attached_model(table: Table, type_name: str) -> Model[Any]:
    """The model of a table's guards of unique values, or words of searches, by their type."""
    return model_of(words_of(table) if type_name == WORD_TYPE else guards_of(table))


def owner_type(table: Table, type_name: str, partition: str) -> str | None:
    """The type of an attached item's owner, by the partition key."""
    if type_name == GUARD_TYPE:
        return guarded_type(table, partition)
    return (worded_search(table, partition) or (None,))[0]


def attached_prefixes(model: Model[Any]) -> list[str]:
    """The prefixes of the partition keys of all items attached to those of a class."""
    guards = (guard_prefix(model, name) for name in model.unique_types)
    return [*guards, *(word_prefix(model, name) for name in model.searches)]
