"""What a plan has to say of stored items, and how they have to read afterwards: found by reading them by both programs.

Nothing here looks at records, or at what `differences` and `ItemCounts` make of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from time import time
from typing import Any

from singletable import Database, SingletableError
from singletable.errors import InvalidValue
from singletable.migrations import Counted, Migrations, Outcome, PlanRefused
from singletable.schema import guard_key
from tests.changed_data.stored import Stored
from tests.changes.declared import names_in
from tests.changes.laws import Case
from tests.changes.oracle import MADE, Failure, failures, is_read_alike, reading, readings, written
from tests.changes.shapes import AS_TEXT


@dataclass(frozen=True)
class Seen:
    """A stored item, and what the new program reads of it otherwise."""

    stored: Stored
    failures: tuple[Failure, ...]
    refusal: str = ""
    """Why the new program can't write it again: an attribute of it makes no key."""

    @property
    def is_unread(self) -> bool:
        """Whether it can't be read at all: what else of it would be read otherwise is unknown then."""
        return any("is read as" not in failure.what and failure.what != "it is not read" for failure in self.failures)

    def fails_in(self, attribute: str) -> bool:
        """Whether it is read otherwise in an attribute, or inside of it; of "", anywhere."""
        names = [failure.attribute for failure in self.failures]
        return any(not attribute or name == attribute or name.startswith(f"{attribute}.") for name in names)


def seen_by(case: Case, items: Sequence[Stored]) -> list[Seen]:
    """What the new program makes of the old one's items."""
    return [Seen(one, tuple(_failures(case, one)), _refusal(case, one)) for one in items]


def _refusal(case: Case, one: Stored) -> str:
    model: Any = case.new.model(one.type)
    try:
        written(model, model.load(one.written.item))
    except InvalidValue as error:
        return error.what
    except (SingletableError, AttributeError):  # it isn't read
        return ""
    return ""


def _failures(case: Case, one: Stored) -> Iterator[Failure]:
    is_raised, renamed = raised(case, one.type)
    told = {*renamed, *_described(case, one.type)}
    for failure in failures(one.written, case.old, case.new, one.type, known=False):
        is_upcast = is_raised and failure.what == "it is not read"  # the upcaster says so
        if not failure.is_index and failure.attribute not in told and not is_upcast:
            yield failure


def raised(case: Case, type_name: str) -> tuple[bool, dict[str, str]]:
    """Whether the new program reads another version of a class's items, and the stored names that differ there."""
    old, new = case.old.by_type[type_name], case.new.by_type.get(type_name)
    if new is None or new.version == old.version:
        return False, {}
    if new.version > old.version:
        return True, new.former_names
    return old.stored_as == new.version, {later: former for former, later in old.former_names.items()}


def _described(case: Case, type_name: str) -> dict[str, Any]:
    """The functions that make the new program's values of the old one's, by stored names."""
    old, new = case.old.by_type[type_name], case.new.by_type.get(type_name)
    if new is None or new.version == old.version:
        return {}
    attributes, way = (new.attributes, 0) if new.version > old.version else (old.attributes, 1)
    return {each.stored or each.name: AS_TEXT[way] for each in attributes if each.was == AS_TEXT}


# --- refused ----------------------------------------------------------------------------------------------------------
def wrong_counts(case: Case, seen: Sequence[Seen], refused: PlanRefused) -> Iterator[str]:
    """The counts of a refusal that are not those of the items, and the items that no count has."""
    if refused.reason == "foreign table" and _is_foreign(case):
        return
    places = [(one.difference.type, one.difference.attribute) for one in refused.counted]
    for one in refused.counted:
        least, most = _expected(case, seen, one)
        is_alone = places.count((one.difference.type, one.difference.attribute)) == 1
        if one.items > most or (is_alone and one.items < least):
            yield f"{one.items} are counted, and {least} to {most} are read otherwise: {one}"
    for item in seen:
        if (item.failures or item.refusal) and not any(_is_of(one, item) for one in refused.counted):
            yield f"not counted: {item.failures}{item.refusal}"


def _is_foreign(case: Case) -> bool:
    """Whether the new program knows none of the items by their types."""
    types = [program.table.definition.type_attribute for program in (case.old, case.new)]
    return types[0] != types[1] or not case.old.kinds.keys() & case.new.kinds.keys()


def _is_of(one: Counted, item: Seen) -> bool:
    difference = one.difference
    fails = bool(item.refusal) if difference.rule == "unwritable" else item.fails_in(difference.attribute)
    return difference.type in ("", item.stored.type) and fails


def _expected(case: Case, seen: Sequence[Seen], one: Counted) -> tuple[int, int]:
    """The least and the most items that may be counted."""
    own = [item for item in seen if one.difference.type in ("", item.stored.type)]
    if one.difference.rule == "unique.added":
        doubles = _doubles(case, own, one.difference.type, one.difference.attribute)
        return doubles, doubles
    is_careful = one.difference.rule == "default.changed" and MADE in one.difference.what
    exact = [_is_of(one, item) for item in own]
    most = [is_of or item.is_unread or is_careful for is_of, item in zip(exact, own, strict=True)]
    return 0 if is_careful else sum(exact), sum(most)


def _doubles(case: Case, seen: Sequence[Seen], type_name: str, attribute: str) -> int:
    """The items with a value of an attribute that another one has."""
    model = case.new.kinds[type_name].__model__
    (field,) = (each for each in model.uniques if each.stored == attribute)
    entities = [model.load(item.stored.written.item) for item in seen if not item.failures and not item.refusal]
    values = [getattr(entity, field.name) for entity in entities]
    keys = [guard_key(model, field.name, value).partition for value in values if value is not None]
    return len(keys) - len({*keys})


# --- gone on with -----------------------------------------------------------------------------------------------------
def broken_after(db: Database, case: Case, seen: Sequence[Seen]) -> Iterator[str]:
    """What is not right after an apply: values, keys, patterns, the check, another plan."""
    for item in seen:
        if item.failures or item.refusal:
            yield f"nothing was refused, and it is read otherwise: {item.failures}{item.refusal}"
    left, made = case.new.facts.becomes or ("", "")
    for type_name, kind in case.new.kinds.items():
        if type_name in case.old.kinds or type_name == made:
            entities = list(db.scan(kind))
            source = {made: left, left: ""}.get(type_name, type_name)
            yield from unread(case, [s for s in seen if s.stored.type == source], entities, kind)
            yield from _not_found(db, case, type_name, entities)
    yield from (f"check: {finding}" for finding in db.check(case.new.table))
    plan = Migrations(db, case.new.table).plan()
    if not plan.is_empty:
        yield f"a second plan has {[step.name for step in plan.steps]}"


def unread(case: Case, seen: Sequence[Seen], entities: Sequence[Any], kind: Any) -> Iterator[str]:
    left = [readings(kind.__model__, entity) for entity in entities]
    lasting = [item for item in seen if not _is_over(case, item)]
    if len(left) != len(lasting):
        yield f"{len(lasting)} items, and {len(left)} are read of {kind.__name__}"
    for item in lasting:
        expected = _readings(case, item, {field.stored for field in kind.__model__.fields})
        found = next((one for one in left if all(is_read_alike(expected[n], one[n]) for n in expected)), None)
        if found is None:
            yield f"not read afterwards: {expected}; {left}"
        else:
            left.remove(found)


def _readings(case: Case, item: Seen, names: set[str]) -> dict[str, Any]:
    """What the old program read, by the stored names of the new one."""
    model: Any = case.old.model(item.stored.type)
    renamed = raised(case, item.stored.type)[1]
    entity = model.load(item.stored.written.item)
    old = readings(model, entity)
    for field in model.fields:
        convert = _described(case, item.stored.type).get(field.stored)
        value = getattr(entity, field.name)
        if convert is not None and value is not None:
            old[field.stored] = reading(convert(value))
    own = [each.stored or each.name for each in case.old.by_type[item.stored.type].attributes]
    declared = [name for name in (*own, "source", "target", case.old.table.ttl_name) if name in old]
    return {renamed.get(name, name): old[name] for name in declared if renamed.get(name, name) in names}


def _is_over(case: Case, item: Seen) -> bool:
    """Whether an item has expired: also of a time that it didn't expire at before."""
    stored, new = item.stored.written.item, case.new.by_type.get(item.stored.type)
    ends = stored.get(case.old.table.ttl_name, {}).get("N")
    if ends is None and new is not None:
        times = [each.was for each in new.attributes if each.role == "expires" and isinstance(each.was, str)]
        texts = [stored[was]["S"] for was in times if was in stored]
        return any(datetime.fromisoformat(text) <= datetime.now(timezone.utc) for text in texts)
    return ends is not None and float(ends) <= time()


def _not_found(db: Database, case: Case, type_name: str, entities: Sequence[Any]) -> Iterator[str]:
    facts, kind = case.new.by_type[type_name], case.new.kinds[type_name]
    for entity in entities:
        if db.get(kind.__model__.key_of(entity)) != entity:
            yield f"not under its key: {entity}"
        for index, pattern in facts.patterns if facts.mirrors is None else ():
            values = {name: getattr(entity, name) for name in names_in(pattern)}
            if None not in values.values() and entity not in db.all(getattr(kind, f"in_{index}")(**values)):
                yield f"not found in {index}: {entity}"


def unlike_predicted(outcome: Outcome) -> Iterator[str]:
    """The steps that took others units than the plan said. The text of the lease, which is read too, is longer then."""
    for done in outcome.done:
        takes = done.step.takes
        more = done.read_units - takes.read_units
        if takes.write_units != done.write_units or not 0 <= more <= 1:
            yield f"{done.step.name}: {takes} was predicted, and it took {done}"
