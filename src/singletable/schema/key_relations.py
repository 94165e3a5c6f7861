"""Relations by keys: a class whose key, or a key of an index, has the partition key by which one item is known.

OrganisationMember   organisation/{organisation_id}   names the Organisation under organisation/{organisation_id}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from singletable.schema.key_text import Template
from singletable.schema.models import Model
from singletable.values import KeyType


def named_in_keys(model: Model[Any], other: Model[Any]) -> Iterator[tuple[tuple[str, str], ...]]:
    """The attributes of a class that name one item of another, each with the attribute of that item; once for each key
    that has them."""
    partition = other.key.templates[0]
    names = partition.names
    if partition.alike or not names or frozenset(names) != other.identity or model.table is not other.table:
        return
    for captured in (model.key, *model.indexes.values()):
        own = captured.templates[0]
        if _shape(own) == _shape(partition) and (own.names == names or any(part.literal for part in own.parts)):
            yield tuple(zip(own.names, names, strict=True))


def _shape(template: Template) -> list[tuple[str, KeyType | None]]:
    return [(literal, slot.key_type if slot else None) for literal, slot in template.segments]
