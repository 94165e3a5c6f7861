"""Checks the invariants of records. The flow reads the whole table and changes nothing.

* every item has a declared type and a known schema version, and can be read
* its primary key and its index keys are those that its attributes make
* every unique value has its guard, and every guard its owner
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from singletable.errors import SingletableError
from singletable.flow.port import Port
from singletable.operations import BatchGetItem, Item, Key, Scan, Selection
from singletable.operations.answers import RAW
from singletable.records.first_use import ready
from singletable.schema.guard_items import guard_key, guards_of
from singletable.schema.migration_items import migration_models
from singletable.schema.models import Model, model_of
from singletable.schema.table import GUARD_TYPE, OWNER, OWNER_SORT, Table

_PAGE = 100


@dataclass(frozen=True)
class Finding:
    """One violation of an invariant. `key` is the item's key, for a program; the text doesn't contain it."""

    code: str
    what: str
    type: str
    key: tuple[str, str]

    def __str__(self) -> str:
        return f"{self.code}: {self.type or 'an item'}: {self.what}"


async def check(port: Port, table: Table) -> list[Finding]:
    """Findings for everything in a table that violates an invariant; [] for a sound one. Reads the whole table."""
    await ready(port, table)
    found: list[Finding] = []
    after: Key | None = None
    while True:
        selection = Selection(limit=_PAGE, after=after, consistent=True)
        page = await port.send(Scan(table.name, selection, RAW))
        found += [finding for item in page.items for finding in _findings(table, item)]
        alive = [item for item in page.items if not _is_expired(table, item, port.now())]
        found += await _twice(port, table, page.items)
        found += await _unmatched(port, table, [(item, key) for item in alive for key in _partners(table, item)])
        after = page.after
        if after is None:
            return found


def _findings(table: Table, item: Item) -> Iterator[Finding]:
    place, type_name = _place(table, item), _type(table, item)
    model = _model(table, type_name)
    if model is None:
        yield Finding("type.unknown", "no entity of this program has its type", type_name, place)
        return
    try:
        entity: Any = model.load_anywhere(item)
    except SingletableError as error:
        yield Finding("item.unreadable", f"{error.what} ({error.attribute or 'the whole item'})", type_name, place)
        return
    if entity is not None and model.version_of(item) == model.stored_as:
        yield from _key_findings(model, entity, item, place)


def _key_findings(model: Model[Any], entity: Any, item: Item, place: tuple[str, str]) -> Iterator[Finding]:
    definition = model.table.definition
    try:
        made = model.item(entity)
    except SingletableError as error:
        yield Finding("key.wrong", f"its attributes make no key: {error.what}", model.type, place)
        return
    for name in definition.key if _is_at_its_key(model, entity, item) else ():
        if made[name] != item.get(name):
            yield Finding("key.wrong", f"{name} is not what its attributes make", model.type, place)
    for index in definition.indexes:
        for name in definition.index_keys(index):
            if made.get(name) != item.get(name):
                yield Finding("index-key.stale", f"{name} is not what its attributes make", model.type, place)


def _is_at_its_key(model: Model[Any], entity: Any, item: Item) -> bool:
    """Whether an item lies under the key of its class, or wrongly: not under the key that its class had before."""
    was = model.stored_key.was
    return was is None or was.wrong_in(entity, item) is not None


async def _twice(port: Port, table: Table, items: Sequence[Item]) -> list[Finding]:
    """Items under the key that their class had before, where another lies under the new one."""
    keys: list[tuple[Item, Key]] = []
    for item in items:
        model = table.model_of_type(_type(table, item))
        if model is None or model.key.was is None:
            continue
        try:
            entity = model.load(item)
        except SingletableError:
            continue  # reported as item.unreadable
        if entity is not None and not _is_at_its_key(model, entity, item):
            keys.append((item, model.key_item(model.key_of(entity))))
    there = await _fetch(port, table, [key for _, key in keys])
    what = "it lies under the key that its class had before, and another one under the key that it has now"
    return [
        Finding("key.twice", what, _type(table, item), _place(table, item))
        for item, key in keys
        if _place(table, key) in there
    ]


def _partners(table: Table, item: Item) -> Iterator[Key]:
    """The keys of the items that must exist with an item: the guards of its unique values, or a guard's owner."""
    partition, sort = table.definition.key
    if _is_guard(table, item):
        if OWNER in item and OWNER_SORT in item:  # else the item itself is reported, as item.unreadable
            yield {partition: item[OWNER], sort: item[OWNER_SORT]}
        return
    model = table.model_of_type(_type(table, item))
    if model is None:
        return
    for unique in model.uniques:
        if unique.stored in item and "NULL" not in item[unique.stored]:
            try:
                value = unique.plan.load(item[unique.stored])
            except (SingletableError, ValueError, LookupError, TypeError, ArithmeticError):
                continue  # the item itself is reported, as item.unreadable
            yield model.key_item(guard_key(model, unique.name, value))


async def _unmatched(port: Port, table: Table, pairs: list[tuple[Item, Key]]) -> list[Finding]:
    if not pairs:
        return []
    there = await _fetch(port, table, [key for _, key in pairs])
    found: list[Finding] = []
    for item, key in pairs:
        partner = there.get(_place(table, key))
        if _is_guard(table, item):
            if partner is None or not any(_same(table, k, item) for k in _partners(table, partner)):
                what = "its owner is gone or has another value"
                found.append(Finding("guard.orphan", what, GUARD_TYPE, _place(table, item)))
        elif partner is None or not _owns(table, partner, item):
            what = "a unique value of it has no guard, or another item's"
            found.append(Finding("guard.missing", what, _type(table, item), _place(table, item)))
    return found


async def _fetch(port: Port, table: Table, keys: list[Key]) -> Mapping[tuple[str, str], Item]:
    unique = list({_place(table, key): key for key in keys}.values())
    parts = [unique[i : i + _PAGE] for i in range(0, len(unique), _PAGE)]
    found: dict[tuple[str, str], Item] = {}
    while parts:
        answers = await port.send_all([BatchGetItem(table.name, part, RAW, consistent=True) for part in parts])
        found |= {_place(table, item): item for answer in answers for item in answer.items}
        parts = [answer.rest for answer in answers if answer.rest]
    return found


def _owns(table: Table, guard: Item, item: Item) -> bool:
    partition, sort = table.definition.key
    return guard.get(OWNER) == item[partition] and guard.get(OWNER_SORT) == item[sort]


def _same(table: Table, key: Key, item: Item) -> bool:
    return _place(table, key) == _place(table, item)


def _model(table: Table, type_name: str) -> Model[Any] | None:
    if type_name == GUARD_TYPE:
        return model_of(guards_of(table))
    return migration_models(table).get(type_name) or table.model_of_type(type_name)


def _is_guard(table: Table, item: Item) -> bool:
    return _type(table, item) == GUARD_TYPE


def _is_expired(table: Table, item: Item, now: float) -> bool:
    """An expired item no longer holds unique values, and an expired guard reserves none."""
    ends = item.get(table.ttl_name, {}).get("N")
    return ends is not None and float(ends) <= now


def _type(table: Table, item: Item) -> str:
    return str(item.get(table.definition.type_attribute, {}).get("S", ""))


def _place(table: Table, item: Item) -> tuple[str, str]:
    partition, sort = table.definition.key
    return item[partition]["S"], item[sort]["S"]
