"""Checks the invariants of records, a page of items at a time. It reads only.

* every item has a declared type and a known schema version, and can be read
* its primary key and its index keys match its attributes
* every unique value has its guard, and every word of a search its item; every one of these its owner
* a copy of another entity's attribute is not behind it
* each index holds what is declared
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from singletable.errors import SingletableError
from singletable.flow import Port, pause_for_index
from singletable.operations import Item, Key
from singletable.records.check_passes import (
    ItemCheck,
    ItemPass,
    Layer,
    Pass,
    Repair,
    ends_with,
    items_at,
    passes_of,
    type_in,
)
from singletable.records.copies import CopyWriter, copies_of, key_from
from singletable.records.findings import Finding
from singletable.records.readers import Place, place_in
from singletable.records.repairs import repair_of_record
from singletable.records.upgrade import is_same
from singletable.schema import (
    ATTACHED_TYPES,
    GUARD_TYPE,
    OWNER,
    OWNER_SORT,
    KeyOf,
    Model,
    Table,
    attached_keys,
    attached_model,
    guard_key,
    model_of,
    tool_model,
    word_keys,
    worded_search,
)
from singletable.tables import describe_indexes, smaller_indexes

_UNDECLARED = "index {} of the live table is not declared: a write leaves an item's keys in it as they were"


def passes(table: Table, layers: Sequence[Layer] = ()) -> list[Pass]:
    """The passes of the check of a table: all items once, and the other items of its layers."""
    return passes_of(table, RecordCheck(table), layers)


def items_of(table: Table) -> ItemPass:
    """The pass over a table's items alone, with the repairs of what it finds."""
    first = passes(table)[0]
    assert isinstance(first, ItemPass)
    return first


class RecordCheck(ItemCheck):
    """The check of items as records, whatever layer wrote them."""

    repairs = frozenset(
        f"{kind}.{fault}" for kind in ("guard", "word") for fault in ("expiry", "missing", "orphan")
    ) | {"copy.behind", "index-key.stale"}
    beside = (
        "guards of unique values, words of searches, copies, items under the keys of before and after a move, what the "
        "indexes hold"
    )

    def __init__(self, table: Table) -> None:
        self.table = table

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        table = self.table
        findings = self.alone(items, port.now())
        findings += await _twice(port, table, items)
        alive = [item for item in items if not _is_expired(table, item, port.now())]
        findings += await _unmatched(port, table, [(item, key) for item in alive for key in partners(table, item)])
        return findings + await _behind(port, table, alive)

    def alone(self, items: Sequence[Item], now: float) -> list[Finding]:
        return [finding for item in items for finding in _findings(self.table, item)]

    async def end(self, port: Port) -> list[Finding]:
        definition = self.table.definition
        live = await describe_indexes(port, definition)
        smaller = smaller_indexes(definition, live)
        findings = [Finding("index.smaller", f"{each}: its reads miss the rest", "", ("", "")) for each in smaller]
        if live is not None and definition.foreign:
            others = sorted(live.indexes.keys() - definition.indexes.keys() - self.table.ignores)
            findings += [Finding("index.undeclared", _UNDECLARED.format(name), "", ("", "")) for name in others]
        return findings

    async def repair(self, port: Port, item: Item, finding: Finding) -> Repair | None:
        return await repair_of_record(port, self.table, item, finding)


def _findings(table: Table, item: Item) -> Iterator[Finding]:
    place, type_name = place_in(table, item), type_in(table, item)
    model = _model(table, type_name)
    if model is None:
        yield Finding("type.unknown", "no entity of this program has its type", type_name, place)
        return
    try:
        entity: Any = model.load_anywhere(item)
    except SingletableError as error:
        yield Finding("item.unreadable", f"{error.what} ({error.attribute or 'the whole item'})", type_name, place)
        return
    if entity is not None and model.is_current(item):
        yield from _key_findings(model, entity, item, place)


def _key_findings(model: Model[Any], entity: Any, item: Item, place: tuple[str, str]) -> Iterator[Finding]:
    definition = model.table.definition
    try:
        written = model.item(entity)
        attached_keys(model, entity)
    except SingletableError as error:
        yield Finding("key.wrong", f"its attributes make no key: {error.what}", model.type, place)
        return
    for name in definition.key if _is_at_its_key(model, entity, item) else ():
        if _differs(written, item, name):
            yield Finding("key.wrong", f"{name} is not what its attributes make", model.type, place)
    for index in () if model.is_leaving else model.own_indexes:
        for name in definition.index_keys(index):
            if _differs(written, item, name):
                yield Finding("index-key.stale", f"{name} is not what its attributes make", model.type, place)
    for index in definition.indexes.keys() - {*model.own_indexes} - model.table.ignores:
        if any(name in item and name not in model.reserved for name in definition.index_keys(index)):
            what = f"it has a key of index {index}, which its class has none in: a write leaves it as it is"
            yield Finding("index-key.undeclared", what, model.type, place)


def _differs(written: Item, item: Item, name: str) -> bool:
    one, other = written.get(name), item.get(name)
    return one != other and (one is None or other is None or not is_same(one, other))


def _is_at_its_key(model: Model[Any], entity: Any, item: Item) -> bool:
    """Whether an item lies under the key of its class, or wrongly: not under the key that its class had before."""
    was = model.stored_key.was
    return not model.is_leaving and (was is None or was.wrong_in(entity, item) is not None)


async def _twice(port: Port, table: Table, items: Sequence[Item]) -> list[Finding]:
    """Items under the key that their class had before, where another lies under the new one."""
    keys: dict[Table, list[tuple[Item, Key]]] = {}
    for item in items:
        model = table.model_here(type_in(table, item))
        if model is None or (model.key.was is None and not model.is_leaving):
            continue
        own_model: Model[Any] = model_of(model.kind)
        with suppress(SingletableError):  # reported as item.unreadable, or key.wrong
            entity = model.load(item)
            if entity is not None and not _is_at_its_key(model, entity, item):
                keys.setdefault(own_model.table, []).append((item, model.key_item(own_model.key_of(entity))))
    what = "it lies under the key that its class had before, and another one under the key that it has now"
    findings: list[Finding] = []
    for new, pairs in keys.items():
        there = await items_at(port, new, [place_in(new, key) for _, key in pairs])
        twice = [item for item, key in pairs if place_in(new, key) in there]
        findings += [Finding("key.twice", what, type_in(table, item), place_in(table, item)) for item in twice]
    return findings


def partners(table: Table, item: Item) -> Iterator[Key]:
    """The keys of the items that must exist with an item: the guards of its unique values and its words; or, with one
    of these, its owner."""
    partition, sort = table.definition.key
    if _is_attached(table, item):
        if OWNER in item and OWNER_SORT in item:  # else the item itself is reported, as item.unreadable
            yield {partition: item[OWNER], sort: item[OWNER_SORT]}
        return
    model = table.model_here(type_in(table, item))
    if model is None:
        return
    for unique in model.uniques:
        if unique.stored in item and "NULL" not in item[unique.stored]:
            try:
                key = guard_key(model, unique.name, unique.plan.load(item[unique.stored]))
            except (SingletableError, ValueError, LookupError, TypeError, ArithmeticError):
                continue  # the item itself is reported, as item.unreadable or key.wrong
            yield model.key_item(key)
    yield from map(model.key_item, _words(model, item))


def _words(model: Model[Any], item: Item) -> Iterator[KeyOf[Any]]:
    """The keys of an item's words. None of one that can't be read, or lies under another key: it is reported itself."""
    if model.searches:
        with suppress(SingletableError):
            owner, entity = model.key_at(place_in(model.table, item)), model.load(item)
            for search in model.searches.values() if entity is not None else ():
                yield from word_keys(model, search, owner, entity).values()


async def _unmatched(port: Port, table: Table, pairs: list[tuple[Item, Key]]) -> list[Finding]:
    if not pairs:
        return []
    there = await items_at(port, table, [place_in(table, key) for _, key in pairs])
    findings: list[Finding] = []
    for item, key in pairs:
        partner = there.get(place_in(table, key))
        if _is_attached(table, item):
            if partner is None or not _keeps(table, partner, item):
                findings.append(_orphan(type_in(table, item), place_in(table, item)))
            continue
        is_word = worded_search(table, place_in(table, key)[0]) is not None
        if partner is None or not _owns(table, partner, item):
            finding = _missing(type_in(table, item), place_in(table, item), is_word=is_word)
        elif not ends_with(table, partner, item):
            finding = _ends_apart(type_in(table, item), place_in(table, item), is_word=is_word)
        else:
            continue
        if not is_word or findings[-1:] != [finding]:  # once for all of its words
            findings.append(finding)
    return findings


def _orphan(type_name: str, place: Place) -> Finding:
    if type_name == GUARD_TYPE:
        return Finding("guard.orphan", "its owner is gone or has another value", type_name, place)
    return Finding("word.orphan", "its owner is gone or has not this word", type_name, place)


def _missing(type_name: str, place: Place, *, is_word: bool) -> Finding:
    if is_word:
        return Finding("word.missing", "a search does not find it by one of its words", type_name, place)
    return Finding("guard.missing", "a unique value of it has no guard, or another item's", type_name, place)


def _ends_apart(type_name: str, place: Place, *, is_word: bool) -> Finding:
    if is_word:
        return Finding("word.expiry", "a word of it expires at another time than it does", type_name, place)
    return Finding("guard.expiry", "a guard of it expires at another time than it does", type_name, place)


def _keeps(table: Table, owner: Item, attached: Item) -> bool:
    """Whether an item has another one attached. The words of one that can't be read are not known: it may have it."""
    if any(_same(table, key, attached) for key in partners(table, owner)):
        return True
    model = table.model_here(type_in(table, owner))
    if model is None or type_in(table, attached) == GUARD_TYPE:
        return False
    try:
        return model.load(owner) is not None and not model.is_current(owner)
    except SingletableError:
        return True


async def _behind(port: Port, table: Table, items: Sequence[Item]) -> list[Finding]:
    """The copies that differ from their sources; read a second time after the usual lag of what keeps them."""
    behind = await _differing(port, table, items)
    if behind and port.traits.index_lag_seconds:
        await pause_for_index(port)
        again = await items_at(port, table, behind)
        behind = await _differing(port, table, list(again.values()))
    what = "a copy is not what its source has"
    return [Finding("copy.behind", what, type_name, place) for place, type_name in behind.items()]


async def _differing(port: Port, table: Table, items: Sequence[Item]) -> dict[Place, str]:
    """The places of items whose copies differ, with their types."""
    copies = [(item, *copy) for item in items for copy in _copies(table, item)]
    sources = await items_at(port, table, [place for _, _, _, place in copies])
    behind: dict[Place, str] = {}
    for item, holder, writer, place in copies:
        with suppress(SingletableError):
            source = model_of(writer.source).load(sources.get(place, {}))
            if source is not None and writer.differs(holder, source):
                behind[place_in(table, item)] = type_in(table, item)
    return behind


def _copies(table: Table, item: Item) -> Iterator[tuple[Any, CopyWriter, Place]]:
    """An item's copies, with the places of their sources."""
    model = table.model_here(type_in(table, item))
    writers = () if model is None else copies_of(model)
    if model is None or not writers:
        return
    with suppress(SingletableError):
        if (holder := model.load(item)) is not None:
            for writer in writers:
                key = key_from(writer.source, holder)
                yield holder, writer, (key.partition, key.low)


def _owns(table: Table, guard: Item, item: Item) -> bool:
    partition, sort = table.definition.key
    return guard.get(OWNER) == item[partition] and guard.get(OWNER_SORT) == item[sort]


def _same(table: Table, key: Key, item: Item) -> bool:
    return place_in(table, key) == place_in(table, item)


def _model(table: Table, type_name: str) -> Model[Any] | None:
    if type_name in ATTACHED_TYPES:
        return attached_model(table, type_name)
    return table.model_here(type_name) or tool_model(table, type_name)


def _is_attached(table: Table, item: Item) -> bool:
    return type_in(table, item) in ATTACHED_TYPES


def _is_expired(table: Table, item: Item, now: float) -> bool:
    """An expired item no longer has attached ones, and an expired guard reserves nothing."""
    ends = item.get(table.ttl_name, {}).get("N")
    return ends is not None and float(ends) <= now
