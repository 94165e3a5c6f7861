"""Repairs: the writes that mend findings, each conditional on everything that it was decided from.

A finding is looked at again before its repair and after it. An item that a program changed meanwhile is decided again,
so a concurrent write is never overwritten; a finding that a person must decide is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from singletable.errors import Conflict, Corrupt, InvalidValue, SingletableError
from singletable.flow import Port, Race, patiently
from singletable.operations import Item, RefusedWrite
from singletable.records.check_passes import ItemPass, Repair, commit_repair, ends_with, items_at, type_in
from singletable.records.conditions import CHANGED, is_absent, is_current
from singletable.records.copies import CopyWriter, copies_of, key_from
from singletable.records.findings import Finding, Repaired
from singletable.records.guarded_write import GuardedWrite, check_if, delete_if
from singletable.records.readers import Place, place_in
from singletable.records.unique_guards import AttachedChange, GuardChange, claims_of, guard_actions
from singletable.records.upgrade import refresh_keys, value_as_read
from singletable.schema import OWNER, OWNER_SORT, KeyOf, Model, Table, attached_model, guard_key, guards_of, model_of
from singletable.values import Field


async def repair(port: Port, items: ItemPass, findings: Sequence[Finding], *, dry_run: bool = False) -> list[Repaired]:
    """Mend the findings of a table's items that have a safe repair, one after the other.

    Each takes a read of its item and of what it names, the write, and the same read again.
    """
    done: dict[tuple[str, Place], Repaired] = {}
    written: dict[Place, str] = {}
    for finding in findings:
        if (finding.code, finding.key) not in done:
            result = await patiently(port, partial(_one, port, items, finding, dry_run))
            if result.outcome == "mended":
                written[finding.key] = result.what
            elif result.outcome == "gone" and finding.key in written:  # with another finding of the same item
                result = Repaired(finding, "mended", written[finding.key])
            done[finding.code, finding.key] = result
    return [replace(done[finding.code, finding.key], finding=finding) for finding in findings]


async def _one(port: Port, items: ItemPass, finding: Finding, dry_run: bool) -> Repaired:
    if finding.code not in items.repairs:
        return Repaired(finding, "kept")
    written = ""
    race = Race(port, "repair", CHANGED)
    while True:
        stored = (await items_at(port, items.table, [finding.key])).get(finding.key)
        again = None if stored is None else await items.find_again(port, stored, finding)
        if again is None:
            return Repaired(finding, "mended" if written else "gone", written)
        mend = again.repair
        if mend is None:
            return Repaired(finding, "kept")
        if dry_run:
            return Repaired(finding, "mendable", mend.what)
        if await mend.apply(port):
            written = mend.what
        if not await race.goes_on():
            return Repaired(finding, "contended", written)


# --- the repairs of records -------------------------------------------------------------------------------------------
async def repair_of_record(port: Port, table: Table, item: Item, finding: Finding) -> Repair | None:
    model = table.model_here(type_in(table, item))
    if finding.code in ("guard.orphan", "word.orphan"):
        return await _without_owner(port, table, item)
    if model is None or table.read_only:
        return None
    with suppress(SingletableError):  # what can't be read, or written in its form, is for people
        if finding.code == "index-key.stale":
            return _with_keys(model, item)
        if finding.code == "guard.missing":
            return await _with_guard(port, model, item)
        if finding.code == "guard.expiry":
            return await _with_expiry(port, model, item)
        if finding.code in ("word.missing", "word.expiry"):
            return _with_words(port, model, item)
        if finding.code == "copy.behind":
            return await _with_copies(port, model, item)
    return None


def _with_keys(model: Model[Any], item: Item) -> Repair | None:
    update = refresh_keys(model, item)
    if update is None:
        return None

    async def apply(port: Port) -> bool:
        try:
            await port.send(update)
        except RefusedWrite:
            return False
        return True

    return Repair("write the index keys that its attributes make", apply)


def _with_words(port: Port, model: Model[Any], item: Item) -> Repair | None:
    """Put all words of an item."""
    writes = guard_writes(model, item, (), port.now())
    return Repair("put the words by which searches find it", partial(commit_repair, writes=writes)) if writes else None


async def _with_guard(port: Port, model: Model[Any], item: Item) -> Repair | None:
    """Put the guard of the first unique value without one. Leaves guards held by other items alone."""
    if not guard_writes(model, item, model.uniques, port.now(), with_words=False):
        return None
    entity: Any = model.load(item)
    values = {each: value for each in model.uniques if (value := getattr(entity, each.name)) is not None}
    keys = {each: guard_key(model, each.name, value) for each, value in values.items()}
    guards = await items_at(port, model.table, [(key.partition, key.low) for key in keys.values()])
    missing = [each for each, key in keys.items() if (key.partition, key.low) not in guards]
    if not missing:
        return None
    writes = guard_writes(model, item, missing[:1], port.now(), with_words=False)
    return Repair(f"put the guard of {missing[0].stored}, which no item has", partial(commit_repair, writes=writes))


async def _with_expiry(port: Port, model: Model[Any], item: Item) -> Repair | None:
    """Put the item's own guards again that expire at another time than it does."""
    entity: Any = model.load(item)
    values = {unique: getattr(entity, unique.name, None) for unique in model.uniques}
    keys = {unique: guard_key(model, unique.name, value) for unique, value in values.items() if value is not None}
    guards = await items_at(port, model.table, [(key.partition, key.low) for key in keys.values()])
    apart = [
        unique
        for unique, key in keys.items()
        if (guard := guards.get((key.partition, key.low))) is not None and not ends_with(model.table, guard, item)
    ]
    writes = guard_writes(model, item, apart, port.now(), with_words=False)
    return Repair("put its guards with its own expiry", partial(commit_repair, writes=writes)) if writes else None


def guard_writes(
    model: Model[Any], item: Item, uniques: Sequence[Field], now: float, *, with_words: bool = True
) -> list[GuardedWrite]:
    """The condition that an item has its values still, and the puts of the guards of some, and of its words. [] for an
    item that has none, that is of another schema version, that lies under the key of before, or that the class can't
    read or write: a check reports it."""
    try:
        return _guard_writes(model, item, uniques, now, with_words)
    except (Corrupt, InvalidValue):
        return []


def _guard_writes(
    model: Model[Any], item: Item, uniques: Sequence[Field], now: float, with_words: bool
) -> list[GuardedWrite]:
    entity: Any = model.load(item)
    if entity is None or not model.is_current(item):
        return []
    if model.place_of(entity) != place_in(model.table, item):  # it moves to another key, and its guard with it
        return []
    owner = model.key_of(entity)
    expires = item.get(model.table.ttl_name) if model.expires is not None else None
    claims: list[AttachedChange] = [
        claim
        for claim in claims_of(model, owner, None, entity, expires)
        if (claim.field in uniques if isinstance(claim, GuardChange) else with_words)
    ]
    held = is_current(model)
    names = [each.stored for each in (model.claimed if with_words else uniques) if each.stored in item]
    for name in (*names, *((model.table.ttl_name,) if model.expires is not None else ())):
        held = held & value_as_read(name, item)
    puts = [_put(model.table, put) for _, put, _ in guard_actions(claims, now)]
    return [_part(owner, check_if(owner, held)), *puts] if puts else []


async def _without_owner(port: Port, table: Table, item: Item) -> Repair | None:
    """Delete a guard, or a word. None if this program can't decide whether the owner has the value, of an unknown class
    or version."""
    own: Model[Any] = attached_model(table, type_in(table, item))
    guard: Any = own.load(item)
    if guard is None:
        return None
    model = table.model_here(guard.type)
    fields = [] if model is None else _made_of(model, guard)
    if model is None or not fields:
        return None
    place = (guard.owner, guard.owner_sort)
    owner = (await items_at(port, table, [place])).get(place)
    if owner is None:
        held = is_absent(model)
    elif model.is_mine(owner) and model.version_of(owner) == model.version:
        held = is_current(model)
        for field in fields:
            held = held & value_as_read(field.stored, owner)
    else:
        return None
    key, as_read = own.key_of(guard), value_as_read(OWNER, item) & value_as_read(OWNER_SORT, item)
    owner_key = model.key_at(place)
    writes = [_part(owner_key, check_if(owner_key, held)), _part(key, delete_if(key, as_read))]
    return Repair(
        f"delete the {'guard' if guard.__class__ is guards_of(table) else 'word'}, whose {model.type} is gone or has "
        f"another {fields[-1].stored}",
        partial(commit_repair, writes=writes),
    )


def _made_of(model: Model[Any], beside: Any) -> list[Field]:
    """The attributes that make an attached item; none if the class doesn't declare it."""
    if isinstance(beside, guards_of(model.table)):
        return [each for each in model.uniques if each.name == beside.attribute]
    search = model.searches.get(beside.search)
    if search is None:
        return []
    names = [name for name in search.templates[0].names if name not in model.identity]
    return [model.by_name[name] for name in (*names, search.text_name)]


async def _with_copies(port: Port, model: Model[Any], item: Item) -> Repair | None:
    holder: Any = model.load(item)
    for writer in copies_of(model):
        source = await _source_of(port, writer, holder)
        if source is not None and writer.differs(holder, source):
            return Repair(f"write what its {writer.source.__name__} has now", _copy(holder, writer, source))
    return None


def _copy(holder: Any, writer: CopyWriter, source: Any) -> Any:
    async def apply(port: Port) -> bool:
        return await writer.update_read(port, holder, source)

    return apply


async def _source_of(port: Port, writer: CopyWriter, holder: Any) -> Any:
    """The entity that a holder copies from; None if it is missing."""
    model, key = model_of(writer.source), key_from(writer.source, holder)
    place = (key.partition, key.low)
    stored = (await items_at(port, model.table, [place])).get(place)
    return None if stored is None else model.load(stored)


def _put(table: Table, action: Any) -> GuardedWrite:
    place = place_in(table, action.item)
    return _part(attached_model(table, type_in(table, action.item)).key_at(place), action)


def _part(key: KeyOf[Any], action: Any) -> GuardedWrite:
    return GuardedWrite(key, action, "repair", changed)


def changed(key: KeyOf[Any], verb: str) -> Conflict:
    """The refusal of a repair's part: the item is decided again."""
    return Conflict("it was changed since it was read", key=key, operation=verb)
