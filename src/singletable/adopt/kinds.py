"""Kinds: which items of a table are alike, by an attribute that names their type, or by how their keys begin."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from singletable.operations import Item

_KNOWN = frozenset(
    {*("_ct", "_et", "__edb_e__", "entity", "entitytype", "entity_type", "_entity", "_type", "type", "__typename")}
    | {*("cls", "_class", "class", "kind", "model", "object", "_model", "_kind", "item_type", "itemtype")}
)
TYPE_NAMES = (
    "_ct",
    "_et",
    "__edb_e__",
    "entity",
    "entityType",
    "entity_type",
    "_entity",
    "_type",
    "type",
    "cls",
    "kind",
)
"""Names of attributes that hold a type in the tables of well-known libraries."""
_SURE = re.compile("_|cls|entity|item", re.IGNORECASE)
"""The beginnings of names that say a type of an item, not of what the item is about."""
_MOST_KINDS = 60
_LEAD = re.compile(
    r"[$A-Za-z\"'<(][A-Za-z_$.-]*(?=[#:/|=]|[\"'>)]?$)|[$A-Za-z][A-Za-z_$]*[-_](?=\d)|[A-Z][A-Z_]+(?=-[A-Za-z0-9])|[A-Za-z_]+(?=\d+$)"
)
_MARK = re.compile(r"[#:/|]")
_ALPHA = re.compile(r"[\W_]*[A-Za-z_]+[\W_]*")
_MOST_PARTS = 12
Lead = tuple[str, ...]


def lead_of(item: Item, key: Sequence[str], data: Iterable[int] = ()) -> Lead:
    """How the texts of an item's key begin; `*` for a value, and for the attributes in `data`."""
    return tuple("*" if at in data else _beginning(item, name) for at, name in enumerate(key) if name)


def _beginning(item: Item, name: str) -> str:
    text = item.get(name, {}).get("S")
    match = _LEAD.match(text) if text is not None else None
    return match[0] if match else "*"


def data_in(items: Sequence[Item], key: Sequence[str]) -> frozenset[int]:
    """The key attributes that begin with values: whole words that many items have, which are otherwise alike."""
    return frozenset(at for at, name in enumerate(key) if name and _begins_with_values(items, name))


def _begins_with_values(items: Sequence[Item], name: str) -> bool:
    """Whether most beginnings are whole texts without a mark, and say nothing of the other attributes."""
    names: dict[str, Counter[frozenset[str]]] = defaultdict(Counter)
    is_whole: Counter[str] = Counter()
    for item in items:
        lead = _beginning(item, name)
        names[lead][frozenset(item)] += 1
        is_whole[lead] += item.get(name, {}).get("S") == lead
    words = [lead for lead in names if lead != "*" and is_whole[lead] > names[lead].total() / 2]
    if len(words) < 4:
        return False
    usual = [names[lead].most_common(1)[0][0] for lead in words]
    (_, count) = Counter(usual).most_common(1)[0]
    return count > 0.6 * len(words)


def type_attribute(items: Sequence[Item], attributes: frozenset[str], key: Sequence[str]) -> str | None:
    """The attribute that names the type: of a well-known name, or one that follows from each key's beginning."""
    counts = Counter(name for item in items for name, value in item.items() if "S" in value and name not in attributes)
    data = data_in(items, key)
    usable = [name for name, count in counts.items() if count >= 0.7 * len(items)]
    rated = [(rating, name) for name in usable if (rating := _rating(items, name, key, data)) > 0]
    return max(rated)[1] if rated else None


def _rating(items: Sequence[Item], name: str, key: Sequence[str], data: frozenset[int]) -> float:
    values: dict[Lead, set[str]] = defaultdict(set)
    leads: dict[str, set[Lead]] = defaultdict(set)
    for item in items:
        if name not in item:
            continue
        value, lead = str(item[name].get("S", "")), lead_of(item, key, data)
        values[lead].add(value)
        leads[value].add(lead)
    if not 1 <= len(leads) <= min(_MOST_KINDS, max(1, len(items) // 2)):
        return 0
    is_known = name.lower() in _KNOWN
    is_one_each = all(len(some) == 1 for some in values.values())
    if is_one_each and (is_known or len(leads) > 1):
        return 2 + is_known + (name.startswith("_"))
    tells = all(len(some) == 1 for some in leads.values())
    return 1 + name.startswith("_") if is_known and _SURE.match(name) and tells else 0


def parts_of(items: Sequence[Item], key: Sequence[str]) -> Mapping[str, list[Item]]:
    """The items of one kind by all words of their keys, if these are of few sorts: `u#7#post` and `u#8#likes`."""
    parts: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        parts[" ".join(_words(item, name) for name in key)].append(item)
    return parts if 1 < len(parts) <= _MOST_PARTS else {}


def _words(item: Item, name: str) -> str:
    texts = _MARK.split(str(item.get(name, {}).get("S", "*")))
    return "_".join(text if _ALPHA.fullmatch(text) else "*" for text in texts)


def kinds_in(
    items: Sequence[Item], attributes: frozenset[str], key: Sequence[str]
) -> tuple[str | None, Mapping[str, list[Item]]]:
    """The attribute that names the type, if one does; and the items of each kind, by its type or how its keys begin."""
    named = type_attribute(items, attributes, key)
    data = data_in(items, key)
    kinds: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        type_name = item.get(named, {}).get("S") if named else None
        kinds[type_name or " ".join(lead_of(item, key, data))].append(item)
    return named, kinds if named else {
        n: some for name, whole in kinds.items() for n, some in _divided(name, whole, key)
    }


def _divided(name: str, items: list[Item], key: Sequence[str]) -> Iterable[tuple[str, list[Item]]]:
    """The items of a beginning, by all words of their keys if each sort has attributes of its own."""
    parts = parts_of(items, key)
    names = [frozenset(attribute for item in part for attribute in item) for part in parts.values()]
    return parts.items() if len({*names}) == len(names) > 1 else [(name, items)]
