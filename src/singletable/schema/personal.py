"""Personal attributes: `field(personal=True)`. What is shown has a mark in their place, also within keys.

An entity's repr covers them always. The program `singletable` covers them in all that it prints, unless it is called
with `--personal`. The values themselves, which a program reads, are unchanged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from singletable.expressions import Condition, Handle, encoded, first_name, is_whole, owner_of
from singletable.schema.key_bounds import within
from singletable.schema.key_text import Template
from singletable.schema.models import Model
from singletable.schema.patterns import Captured, KeyOf, Query
from singletable.schema.table import ATTACHED_TYPES, Table
from singletable.values import METADATA

COVERED: Final = "‹personal›"
_NAMES: Final = "__personal__"
_COMPARISONS: Final = ("=", "<", "<=", ">", ">=")


def personal_names(kind: type[Any]) -> frozenset[str]:
    """The personal attributes of a class: declared ones, and others that have the value of a declared one, as copies,
    attributes in `belongs_to=` and `mentions=`, and the ends of an edge whose nodes have a personal id. Found at
    first use, when the module's later classes exist."""
    found: frozenset[str] | None = vars(kind).get(_NAMES)
    if found is None:
        declared = dataclasses.fields(cast(Any, kind))
        found = frozenset(each.name for each in declared if _is_personal(each) or _is_personal_end(kind, each.name))
        setattr(kind, _NAMES, found)
    return found


def covered_place(table: Table, type_name: str, place: tuple[str, str]) -> tuple[str, str]:
    """The key of an item, without the personal values that it is made of.

    The key of a class that this program doesn't know is covered whole, if the table has any personal attributes.
    """
    model = table.model_of_type(type_name)
    if model is not None and _forms(model):
        return _covered_texts(model, place)
    if not any(personal_names(each.kind) for each in table.models):
        return place
    own = type_name.startswith("_") and type_name not in ATTACHED_TYPES
    return place if own else (COVERED, COVERED)


def covered_body(query: Query[Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a query's request, without the personal values in its keys, including the keys from before."""
    texts: dict[str, str] = {}
    for each in (query, *_before(query)):
        texts |= _covered_in(each)
    covered: dict[str, Any] = _replaced(body, texts)
    return covered


def _before(query: Query[Any]) -> Iterator[Query[Any]]:
    """The same under the key that the class had before."""
    if query.has_parts or query.shards:
        yield from query.parts
    model = query.model
    if isinstance(query, KeyOf) and query.is_one_key and query.captured is model.key and model.key.was is not None:
        yield model.old_key(query)


def _covered_in(query: Query[Any]) -> Mapping[str, str]:
    """The shown form of each text of a query's keys that has a personal value in it."""
    personal = personal_names(query.model.kind)
    texts: dict[str, str] = {}
    partition, sort = query.captured.templates
    if personal.intersection(partition.names):
        texts[query.partition] = _covered_text(partition, query.partition, personal)
    if personal.intersection(sort.names):
        asked = (query.low, query.high, *within(query.low, query.high))
        texts |= {text: COVERED for text in asked if text}
    for name, value in _compared(query.filter):
        if name in personal:
            stored = encoded(query.model.by_name[name].plan, value)
            texts |= {text: COVERED for text in stored.values() if isinstance(text, str)}
    return texts


def _compared(condition: Condition | None) -> Iterator[tuple[str, Any]]:
    """The attributes that a filter compares as a whole, each with its value: a key's own filter is made so."""
    if condition is None:
        return
    if condition.how == "AND":
        for part in condition.operands:
            yield from _compared(part)
    elif condition.how in _COMPARISONS:
        handle, value = condition.operands
        if isinstance(handle, Handle) and is_whole(handle) and value is not None and not isinstance(value, Handle):
            yield first_name(handle), value


def _forms(model: Model[Any]) -> list[Captured]:
    return [model.key] if model.key.was is None else [model.key, model.key.was]


def _covered_texts(model: Model[Any], place: tuple[str, str]) -> tuple[str, str]:
    personal = personal_names(model.kind)
    for captured in _forms(model):
        pairs = list(zip(captured.templates, place, strict=True))
        if all(template.read(text) is not None for template, text in pairs):
            first, second = (_covered_text(template, text, personal) for template, text in pairs)
            return first, second
    return (COVERED, COVERED) if personal.intersection(model.identity) else place


def _covered_text(template: Template, text: str, personal: frozenset[str]) -> str:
    """A key's text with a mark for each personal value."""
    if not personal.intersection(template.names):
        return text
    values = template.read(text, whole=True)
    if values is None:
        return COVERED
    texts: list[str] = []
    for literal, slot in template.segments:
        texts.append(literal)
        if slot is not None:
            texts.append(COVERED if slot.name in personal else template.text_of(slot, values[slot.name]))
    return "".join(texts)


def _replaced(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, dict):
        return {name: _replaced(each, texts) for name, each in cast("dict[str, Any]", value).items()}
    return [_replaced(each, texts) for each in cast("Any", value)] if isinstance(value, list) else value


def _is_personal(declared: dataclasses.Field[Any]) -> bool:
    options: Mapping[str, Any] = declared.metadata.get(METADATA, {})
    if options.get("personal"):
        return True
    for bond in ("copy_of", "belongs_to", "mentions"):
        if (said := options.get(bond)) is not None:
            source = said if isinstance(said, Handle) else said()
            fields = {each.name: each for each in dataclasses.fields(cast(Any, owner_of(source)))}
            if _is_personal(fields[first_name(source)]):
                return True
    return False


def _is_personal_end(kind: type[Any], name: str) -> bool:
    """Whether an attribute is the end of an edge that some node with a personal id may be at."""
    nodes: tuple[type[Any], ...] = getattr(kind, f"__{name}s__", ()) if name in ("source", "target") else ()
    return any("id" in personal_names(node) for node in nodes)
