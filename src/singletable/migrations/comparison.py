"""Comparison of a declaration with the model that the table was last brought to, and with the live table: what to do.

The order of the steps: settings that only add; indexes, one at a time; the fill; what is taken away; the record.

An index is made before the fill, not after. Both cost the same units: DynamoDB charges the writes of its own filling as
it does those of an update. Made first, its entries are written by the fill, which keeps to a rate, reports its units
and goes on after a kill; and a program that is already deployed can query it, though it finds all items only after the
fill. An index that takes another's place has its keys on the items already: DynamoDB fills it by itself.

Undeclared parts are left alone. Parts of the record that the declaration lacks are removed, last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from singletable.foundation import Table
from singletable.migrations.fill import moving_keys
from singletable.migrations.model_document import ModelDocument
from singletable.migrations.refusals import PlanRefused
from singletable.migrations.steps import Step
from singletable.tables import MAX_INDEXES, Description, LiveSettings, Setting, differences


class Live(Struct, frozen=True):
    """A live table."""

    description: Description
    settings: LiveSettings


class Comparison(Struct, frozen=True):
    """The steps to take, without their cost."""

    steps: tuple[Step, ...]
    left: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()


def compare(table: Table, declared: ModelDocument, record: ModelDocument | None, live: Live) -> Comparison:
    """The steps from a live table to its declaration. Raises PlanRefused if it can't be done."""
    if record is not None:
        _check_record(declared, record)
    settings, unset, unsupported = _settings(table, record, live)
    adds, drops, left = _indexes(table, record, live)
    fill = [] if record is not None and not stale_types(declared, record) else [_fill(table, declared, record)]
    over = len(live.description.indexes) + sum(step.kind == "add index" for step in adds) > MAX_INDEXES
    steps = [*settings, *(drops if over else ()), *adds, *fill, *(() if over else drops), *unset]
    if steps or record != declared:
        steps.append(record_step(table))
    if record is not None:
        gone = sorted(record.entities.keys() - declared.entities.keys() - declared.leaving.keys())
        left = [*left, *moved_types(table, declared, record)]
        left = [*left, *(f"items of type {name}, which no class has any more: they stay" for name in gone)]
    return Comparison(tuple(steps), tuple(left), tuple(unsupported))


def creation(table: Table) -> Comparison:
    """The steps for a table that is missing."""
    indexes = ", ".join(table.definition.indexes)
    made = f"create the table{f' with {indexes}' if indexes else ''}"
    return Comparison((Step("create table", table.name, made), record_step(table)))


def record_step(table: Table) -> Step:
    return Step("record", table.name, "write down the model that the table now has")


def stale_types(declared: ModelDocument, record: ModelDocument) -> list[str]:
    """The types whose stored items may not be as declared. A type that is new since the record has none."""
    both = declared.entities.keys() & record.entities.keys()
    stale = {name for name in both if not declared.is_stored_as(name, record)}
    return sorted(stale | (declared.leaving.keys() & record.entities.keys()))


# --- refusals ---------------------------------------------------------------------------------------------------------
def check_key(table: Table, found: Description) -> None:
    """PlanRefused if a table's key is not the declared one."""
    wrong = [d for d in differences(table.definition, found) if d.what == "key"]
    if wrong:
        raise PlanRefused(
            f"the table's key is {wrong[0].found}, declared is {wrong[0].declared}, and a table keeps its key",
            reason="changed key",
            table=table.name,
            hint="Declare the key that the table has, as in Table(..., key=(...)), or a table of another name.",
        )


def _check_record(declared: ModelDocument, record: ModelDocument) -> None:
    forms = {**declared.leaving, **declared.entities}
    both = forms.keys() & record.entities.keys()
    if record.entities and not both:
        raise foreign_table(declared.table, sorted(record.entities), "was brought to a model with")
    for name in sorted(both):
        mine, before = forms[name], record.entities[name]
        if mine.version < before.version:
            raise PlanRefused(
                f"type {name} was brought to schema version {before.version}; this program has {mine.version}",
                reason="older program",
                table=declared.table,
                hint="Run it from the newer program.",
            )
        if not mine.has_key_of(before) and not (mine.before is not None and mine.before.has_key_of(before)):
            raise PlanRefused(
                f"the key of type {name} was {' / '.join(before.key)} and is now {' / '.join(mine.key)}; items keep "
                "their keys",
                reason="changed key",
                table=declared.table,
                hint="Declare the key as it was, or what it was, as in @table.key(was=...): then its items are moved.",
            )


def foreign_table(table: str, theirs: list[str], how: str) -> PlanRefused:
    """The error for a table whose items are of another model."""
    shown = ", ".join(name or "(none)" for name in theirs[:5]) + (" and others" if len(theirs) > 5 else "")
    return PlanRefused(
        f"the table {how} the types {shown}, and this program doesn't declare them",
        reason="foreign table",
        table=table,
        hint="Name the module of that model, or a table of another name.",
    )


# --- settings ---------------------------------------------------------------------------------------------------------
def _settings(table: Table, record: ModelDocument | None, live: Live) -> tuple[list[Step], list[Step], list[str]]:
    steps: list[Step] = []
    unset: list[Step] = []
    unsupported: list[str] = []
    before: Mapping[str, Any] = record.settings if record is not None else {}
    for setting, wanted, found in _declared(table, live):
        if found is None:
            unsupported.append(f"{setting}: the engine has none")
        elif setting == "stream" and found != "off" and wanted != found:
            steps.append(Step("unset", "stream", f"end the stream of {found}", online=False, notes=(_STREAM_ENDS,)))
            steps.append(Step("set", "stream", f"begin a stream of {wanted}"))
        elif setting == "TTL" and found != "none" and wanted != found:
            steps.append(Step("unset", "TTL", f"{found} is no longer the time of expiry", notes=(_TTL_WAIT,)))
            steps.append(Step("set", "TTL", f"{wanted} becomes the time of expiry"))
        elif wanted != found:
            steps.append(Step("set", setting, f"{wanted}; it was {found}"))
    definition = table.definition
    if definition.ttl_attribute is None and "TTL" in before and live.settings.ttl == before["TTL"]:
        unset.append(Step("unset", "TTL", f"items no longer expire by {before['TTL']}"))
    if definition.stream is None and "stream" in before and live.settings.stream is not None:
        unset.append(Step("unset", "stream", "end the stream", online=False, notes=(_STREAM_ENDS,)))
    return steps, unset, unsupported


_STREAM_ENDS = "consumers get what is in the old stream for a day, under its old ARN"
_TTL_WAIT = "DynamoDB takes up to an hour between two changes of it, and refuses the second one until then"


def _declared(table: Table, live: Live) -> Iterator[tuple[Setting, str, str | None]]:
    """Each declared setting: its name, what it is to be, and what it is; None if the engine has none."""
    definition, settings, has = table.definition, table.definition.settings, live.settings
    if settings.tags:
        kept = None if has.tags is None else _tags({n: v for n, v in has.tags.items() if n in settings.tags})
        yield "tags", _tags(settings.tags), kept
    if definition.deletion_protection is not None:
        yield "deletion protection", _on(definition.deletion_protection), _on(has.deletion_protection)
    if settings.point_in_time_recovery is not None:
        found = has.point_in_time_recovery
        yield "point-in-time recovery", _on(settings.point_in_time_recovery), None if found is None else _on(found)
    if settings.table_class is not None:
        yield "table class", settings.table_class, has.table_class
    if settings.billing is not None:
        yield "billing", str(settings.billing), str(has.billing)
    if definition.encryption_key is not None:
        wanted = definition.encryption_key
        key = wanted if definition.is_encrypted_by(has.encryption_key) else has.encryption_key or "owned by AWS"
        yield "encryption key", wanted, key if live.description.knows_encryption else None
    if definition.ttl_attribute is not None:
        yield "TTL", definition.ttl_attribute, (has.ttl or "none") if live.description.knows_expiry else None
    if definition.stream is not None:
        yield "stream", definition.stream, has.stream or "off"


def _tags(tags: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={tags[name]}" for name in sorted(tags)) or "none"


def _on(setting: bool) -> str:
    return "on" if setting else "off"


# --- indexes ----------------------------------------------------------------------------------------------------------
def _indexes(table: Table, record: ModelDocument | None, live: Live) -> tuple[list[Step], list[Step], list[str]]:
    adds: list[Step] = []
    drops: list[Step] = []
    left: list[str] = []
    differs = {d.what: d for d in differences(table.definition, live.description)}
    patterns = _patterns_of(table)
    for name in table.definition.indexes:
        there = live.description.indexes.get(name)
        changed = differs.get(f"index {name} key") or differs.get(f"index {name} projection")
        if there is not None and changed is not None:
            drop = f"it has {changed.found}, declared is {changed.declared}: an index can't be changed"
            adds.append(Step("drop index", name, drop, online=False, notes=_without(patterns.get(name, []))))
            adds.append(_add(name, patterns, refills=True))
        elif there is None or there.get("IndexStatus") in ("CREATING", "DELETING"):
            adds.append(_add(name, patterns, refills=False))
    for name in live.description.indexes.keys() - table.definition.indexes.keys():
        if record is not None and name in record.indexes:
            drops.append(Step("drop index", name, "no class declares it any more", notes=(_OLD_PROGRAMS,)))
        else:
            left.append(f"index {name}: it was never declared")
    return adds, drops, left


_OLD_PROGRAMS = "a program of an older version that still queries it fails from then on"


def _add(name: str, patterns: Mapping[str, list[str]], *, refills: bool) -> Step:
    known = patterns.get(name, [])
    what = "make the index; DynamoDB fills it with the items that have its keys"
    notes = _without(known) if refills else tuple(f"{p} is complete after the fill" for p in known)
    return Step("add index", name, what, online=not refills, notes=notes)


def _without(patterns: list[str]) -> tuple[str, ...]:
    return tuple(f"{pattern} fails until the index is there again" for pattern in patterns)


def _patterns_of(table: Table) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for model in table.models:
        for name, captured in model.indexes.items():
            found.setdefault(name, []).append(captured.shown)
    return found


# --- items ------------------------------------------------------------------------------------------------------------
def _fill(table: Table, declared: ModelDocument, record: ModelDocument | None) -> Step:
    if record is None:
        return Step("fill", table.name, "bring all items to what their classes declare; no record says that they are")
    changes = [_change(name, declared, record) for name in stale_types(declared, record)]
    return Step("fill", table.name, f"rewrite items: {', '.join(changes)}")


def _change(name: str, declared: ModelDocument, record: ModelDocument) -> str:
    """The change of a type's items."""
    if name in declared.leaving:
        return f"{name} moves to table {declared.leaving[name].other_table}"
    mine, before = declared.entities[name], record.entities[name]
    if not mine.has_key_of(before):
        return f"{name} moves from {' / '.join(before.key)} to {' / '.join(mine.key)}"
    if mine.version != before.version:
        return f"{name} to version {mine.version}"
    if mine.stored_as != before.stored_as:
        return f"{name} in the form of version {mine.stored_as or mine.version}"
    added = [each for each in mine.outside if each not in before.outside]
    return f"{name} with {', '.join(added) or 'its index keys'}"


def moved_types(table: Table, declared: ModelDocument, record: ModelDocument) -> list[str]:
    """The parts that can go from the code: keys that classes had before, if an apply has moved their items."""
    return [
        f"{key.shown_with_was}: an apply has moved all items; it can go, once no program writes under the old key"
        for name, key in moving_keys(table)
        if name in declared.leaving.keys() & record.leaving.keys() - record.entities.keys()
        or (
            (name in declared.entities.keys() & record.entities.keys())
            and declared.entities[name].has_key_of(record.entities[name])
        )
    ]
