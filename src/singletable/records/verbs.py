"""The verbs that write, as values: what each needs, what it sends, and what a refusal means.

A write alone is one request if it has one part. With unique attributes it has more parts, and is sent as a
transaction. A transaction takes several of the same values. The rules are in `conditions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from singletable.errors import ConditionFailed, SingletableError
from singletable.expressions import AttributeChange, Condition, Update, first_name, is_whole, parents_of
from singletable.operations import DeleteItem, Item, PutItem
from singletable.operations.limits import check_item
from singletable.records.conditions import (
    already_exists,
    both,
    carries,
    check_verb,
    guard,
    in_two_forms,
    is_absent,
    is_alive,
    is_as_read,
    is_count,
    is_gone,
    is_not_write,
    is_own_or_absent,
    is_schema,
    is_schema_or_older,
    is_there,
    is_type,
    missing_path,
    not_found,
    plain_guard,
    refused,
)
from singletable.records.guarded_write import check_if, update_if
from singletable.records.index_keys import KeysNeeded, Planned, applied, is_repeatable, plan_keys
from singletable.records.unique_guards import Claim
from singletable.records.write import NEEDS, UNREAD, Moment, Needs, Part, Write
from singletable.schema.models import Model, model_for
from singletable.schema.patterns import KeyOf


def writes_entity(model: Model[Any], entity: Any, count: int | None, write_id: str) -> dict[str, Any]:
    """The item of an entity, with its count of writes and, if needed, a write id."""
    item = model.item(entity)
    if model.counter is not None and count is not None:
        item[model.counter.stored] = {"N": str(count)}
    if write_id:
        item[model.table.definition.write_id_attribute] = {"S": write_id}
    return item


@dataclass(eq=False)
class EntityWrite(Write):
    """A write of a whole entity."""

    entity: Any
    where: Condition | None = None
    origin: Any = None
    """The caller's own entity, if a changed copy of it is written in its place."""
    key: KeyOf[Any] = field(init=False)

    def __post_init__(self) -> None:
        model = model_for(self.entity)
        check_verb(model, self.verb)
        self.key = model.key_of(self.entity)

    @property
    def count(self) -> int | None:
        """The entity's own count of writes, if it has one."""
        counter = self.model.counter
        return None if counter is None else int(getattr(self.entity, counter.name))

    def claims(self, current: Any) -> Iterator[Claim]:
        expires = self.model.expires
        ends = self.model.item(self.entity).get(expires.stored) if expires is not None else None
        for unique in self.model.uniques:
            known = current is not None and current is not UNREAD
            old = getattr(current, unique.name) if known else None
            renew = (
                known and expires is not None and getattr(current, expires.name) != getattr(self.entity, expires.name)
            )
            yield Claim(self.model, unique, self.key, old, getattr(self.entity, unique.name), ends, renew)

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        return _uniques_moved(self.model, current, stored, now)

    def done(self) -> None:
        """The entity has the count that the item has now."""
        self.set_count((self.count or 0) + 1)

    def set_count(self, count: int) -> None:
        if self.model.counter is not None:
            for entity in (e for e in (self.entity, self.origin) if e is not None):
                setattr(entity, self.model.counter.name, count)


class CreateWrite(EntityWrite):
    """Create an item that is missing or has expired."""

    verb: ClassVar[str] = "create"

    def main(self, current: Any, moment: Moment) -> Part:
        model = self.model
        count = None if model.counter is None else 1
        item = writes_entity(model, self.entity, count, moment.write_id)
        expiring = model.expires is not None
        held = guard(model, is_gone(model, moment.now)) if expiring else plain_guard(model, is_absent)
        action = PutItem(model.table.name, item, held)
        return Part(
            action,
            lambda stored: already_exists(model, self.key, stored),
            lambda stored: carries(model, stored, moment.write_id),
        )

    def claims(self, current: Any) -> Iterator[Claim]:
        return super().claims(None)

    def done(self) -> None:
        self.set_count(1)


class PutWrite(EntityWrite):
    """Create or overwrite an item."""

    verb: ClassVar[str] = "put"

    def main(self, current: Any, moment: Moment) -> Part | Needs:
        model = self.model
        if model.uniques and current is UNREAD:
            return NEEDS
        count = self.count
        counted = None if count is None else count + 1
        item = writes_entity(model, self.entity, counted, moment.write_id if counted else "")
        plain = self.where is None and count is None and not model.uniques
        held = plain_guard(model, is_own_or_absent) if plain else guard(model, self._condition(current, moment.now))
        action = PutItem(model.table.name, item, held)
        certain = self.where is None and counted is None
        return Part(
            action,
            lambda stored: self._refusal(stored, moment.now),
            lambda stored: counted is not None and carries(model, stored, moment.write_id),
            certain,
        )

    def _condition(self, current: Any, now: float) -> Condition | None:
        model, same = self.model, is_count(self.model, self.count)
        condition: Condition | None = is_own_or_absent(model)
        if self.where is not None:
            own = is_type(model) & is_schema_or_older(model) & self.where
            condition = both(own, is_alive(model, now))
        if same is not None:
            condition = both(condition, is_gone(model, now) | same if self.count == 0 else same)
        return both(condition, _held_uniques(model, current, now))

    def _refusal(self, stored: Item | None, now: float) -> SingletableError:
        model = self.model
        if stored is not None and not model.is_mine(stored):
            return already_exists(model, self.key, stored)
        return refused(model, self.key, self.verb, self.where, self.count, stored)


class UpsertWrite(EntityWrite):
    """Set all of the entity's attributes on the item, which is created if it is missing; undeclared attributes stay."""

    verb: ClassVar[str] = "upsert"

    def main(self, current: Any, moment: Moment) -> Part | Needs:
        model = self.model
        if model.uniques and current is UNREAD:
            return NEEDS
        if model.expires is not None and current is None:
            return self._whole(moment)
        condition = both(self._condition(moment), _held_uniques(model, current, moment.now))
        action = update_if(self.key, list(self._changes(moment)), condition, reader=model)
        return Part(
            action,
            lambda stored: self._refusal(stored),
            lambda stored: model.counter is not None and carries(model, stored, moment.write_id),
        )

    def _whole(self, moment: Moment) -> Part:
        """Replace an expired item, like create: no attribute of the old item stays."""
        model = self.model
        item = writes_entity(model, self.entity, None if model.counter is None else 1, moment.write_id)
        action = PutItem(model.table.name, item, guard(model, is_gone(model, moment.now)))
        return Part(
            action,
            lambda stored: self._refusal(stored),
            lambda stored: carries(model, stored, moment.write_id),
        )

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        ended = stored is not None and self.model.is_mine(stored) and not is_there(self.model, stored, now)
        return (ended and current is UNREAD) or super().is_stale(current, stored, now)

    def _condition(self, moment: Moment) -> Condition:
        model = self.model
        mine = is_type(model) & is_schema_or_older(model)
        alive = is_alive(model, moment.now)
        mine = mine if alive is None else mine & alive
        if model.counter is not None and moment.write_id:
            mine = mine & is_not_write(model, moment.write_id)
        return is_absent(model) | mine

    def _changes(self, moment: Moment) -> Iterator[AttributeChange]:
        model, definition = self.model, self.model.table.definition
        item = model.item(self.entity)
        check_item(item, self.verb, definition.name)
        names = {f.stored for f in model.fields if f.is_written} | {*definition.reserved, *item}
        for name in sorted(names - {*model.key_attributes, definition.write_id_attribute}):
            if model.counter is None or name != model.counter.stored:
                yield AttributeChange(name, item.get(name))
        if model.counter is not None:
            yield from _counted(model, moment)

    def _refusal(self, stored: Item | None) -> SingletableError:
        model = self.model
        if stored is not None and model.is_mine(stored) and model.tombstone not in stored:
            return model.newer(model.version_of(stored))
        return already_exists(model, self.key, stored)

    def done(self) -> None:
        """The shell returns an entity that has the new count."""


@dataclass(eq=False)
class UpdateWrite(Write):
    """Change some attributes of an existing item."""

    key: KeyOf[Any]
    updates: tuple[Update, ...]
    where: Condition | None = None
    expected: int | None = None
    caller_copy: Any = UNREAD
    verb: ClassVar[str] = "update"

    def __post_init__(self) -> None:
        check_verb(self.model, self.verb)

    def main(self, current: Any, moment: Moment) -> Part | Needs:
        model = self.model
        if model.is_in_two_forms:
            raise in_two_forms(model, self.key, "an update in a transaction, or of many items,")
        if current is None:
            raise not_found(self.key, self.verb)
        planned = self._plan(current)
        if isinstance(planned, KeysNeeded):
            return NEEDS
        counted = () if model.counter is None else _counted(model, moment)
        changes = (*planned.changes, *counted)
        condition = self._condition(planned, current, moment)
        repeatable = is_repeatable(model, self.updates)
        action = update_if(self.key, changes, condition, updates=self.updates, repeatable=repeatable, reader=model)
        return Part(
            action,
            lambda stored: self._refusal(stored, moment.now),
            lambda stored: model.counter is not None and carries(model, stored, moment.write_id),
            certain=self.where is None and self.expected is None and not self._touches_expiry,
        )

    def claims(self, current: Any) -> Iterator[Claim]:
        if not self.touches_uniques:
            return
        expires, ends_change = self.model.expires, self._touches_expiry
        after = applied(self.model, current, tuple(u for u in self.updates if is_whole(u.path)))
        ends = self.model.item(after).get(expires.stored) if expires is not None else None
        for unique in self.model.uniques:
            old, new = getattr(current, unique.name), getattr(after, unique.name)
            if ends_change or old != new:
                yield Claim(self.model, unique, self.key, old, new, ends, ends_change)

    @property
    def needed_names(self) -> frozenset[str]:
        """The attributes whose stored values it needs, for an index key or a guard, and reads first."""
        planned = self._plan(UNREAD)
        return planned.names if isinstance(planned, KeysNeeded) else frozenset()

    def advice(self, refusal: str) -> str:
        named = " or ".join(str(u.path) for u in self.updates if u.verb not in ("SET", "REMOVE"))
        if not named or "operand" not in refusal.lower():
            return ""
        return f"{named} is stored with another type, such as the NULL that stands for None: set() it first."

    @property
    def _touches_expiry(self) -> bool:
        """Whether the update changes the expiry: its own success may be what expires the item."""
        expires = self.model.expires
        return expires is not None and any(first_name(u.path) == expires.name for u in self.updates)

    @property
    def touches_uniques(self) -> bool:
        moving = {f.name for f in self.model.uniques}
        if not moving:
            return False
        return self._touches_expiry or any(first_name(u.path) in moving for u in self.updates)

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        if current is UNREAD or current is None or not is_there(self.model, stored, now):
            return False
        assert stored is not None
        found: Any = self.model.load(stored)
        planned = self._plan(current)
        names = set(planned.held_names) if isinstance(planned, Planned) else set[str]()
        if self.touches_uniques:
            names |= {f.name for f in self.model.uniques}
        return any(getattr(found, n) != getattr(current, n) for n in names)

    def _plan(self, current: Any) -> Planned | KeysNeeded:
        if self.touches_uniques and current is UNREAD:
            return KeysNeeded(frozenset(f.name for f in self.model.uniques))
        return plan_keys(self.model, self.key, self.updates, None if current is UNREAD else current)

    def _condition(self, planned: Planned, current: Any, moment: Moment) -> Condition:
        model = self.model
        condition: Condition | None = is_type(model) & is_schema(model)
        held = _held_uniques(model, current, moment.now) if self.touches_uniques else None
        for more in (is_alive(model, moment.now), is_count(model, self.expected), planned.held, held, self.where):
            condition = both(condition, more)
        for parent in parents_of(self.updates):
            condition = both(condition, parent.condition)
        if model.counter is not None and moment.write_id:
            condition = both(condition, is_not_write(model, moment.write_id))
        assert condition is not None
        return condition

    def _refusal(self, stored: Item | None, now: float) -> SingletableError:
        if not is_there(self.model, stored, now):
            return not_found(self.key, self.verb)
        found = refused(self.model, self.key, self.verb, self.where, self.expected, stored)
        if type(found) is not ConditionFailed:
            return found
        missing = (p for p in parents_of(self.updates) if stored is not None and not p.is_in(stored))
        return next((missing_path(self.key, self.verb, p, found) for p in missing), found)


@dataclass(eq=False)
class DeleteWrite(Write):
    """Delete an item. Alone and without a condition, a missing item is not an error."""

    key: KeyOf[Any]
    where: Condition | None = None
    expected: int | None = None
    verb: ClassVar[str] = "delete"

    def __post_init__(self) -> None:
        check_verb(self.model, self.verb)

    @property
    def needs_item(self) -> bool:
        """Whether the write fails if the item is missing."""
        return self.where is not None or self.expected is not None

    def main(self, current: Any, moment: Moment) -> Part | Needs:
        model = self.model
        if model.uniques and current is UNREAD:
            return NEEDS
        condition: Condition | None = None
        if self.needs_item:
            there = is_type(model) & is_schema_or_older(model)
            for more in (is_count(model, self.expected), is_alive(model, moment.now), self.where):
                condition = both(there if condition is None else condition, more)
        condition = both(condition, _held_uniques(model, current, moment.now))
        plain = condition is None
        held = plain_guard(model, is_own_or_absent) if plain else guard(model, both(is_own_or_absent(model), condition))
        action = DeleteItem(model.table.name, model.key_item(self.key), held, model)
        return Part(action, lambda stored: self._refusal(stored, moment.now), certain=not self.needs_item)

    def claims(self, current: Any) -> Iterator[Claim]:
        if current is not None and current is not UNREAD:
            for unique in self.model.uniques:
                yield Claim(self.model, unique, self.key, getattr(current, unique.name), None)

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        return _uniques_moved(self.model, current, stored, now)

    def _refusal(self, stored: Item | None, now: float) -> SingletableError:
        if not is_there(self.model, stored, now):
            return not_found(self.key, self.verb)
        return refused(self.model, self.key, self.verb, self.where, self.expected, stored)


@dataclass(eq=False)
class CheckWrite(Write):
    """Check that an item exists, is of its type, has not expired, and meets a condition."""

    key: KeyOf[Any]
    where: Condition | None = None
    verb: ClassVar[str] = "check"

    def main(self, current: Any, moment: Moment) -> Part:
        model = self.model
        condition = both(both(is_type(model), is_alive(model, moment.now)), self.where)
        return Part(check_if(self.key, condition), lambda stored: self._refusal(stored, moment.now))

    def _refusal(self, stored: Item | None, now: float) -> SingletableError:
        if not is_there(self.model, stored, now):
            return not_found(self.key, self.verb)
        return refused(self.model, self.key, self.verb, self.where, None, stored)


def _counted(model: Model[Any], moment: Moment) -> Iterator[AttributeChange]:
    """The count of writes, one more, and this write's id: a repeat of the same write finds the id and is refused."""
    assert model.counter is not None
    yield AttributeChange(model.counter.stored, {"N": "0"}, plus={"N": "1"})
    if moment.write_id:
        yield AttributeChange(model.table.definition.write_id_attribute, {"S": moment.write_id})


def _held_uniques(model: Model[Any], current: Any, now: float) -> Condition | None:
    """The unique values have not changed since they were read."""
    if not model.uniques or current is UNREAD:
        return None
    if current is None:
        return is_gone(model, now)
    condition: Condition | None = None
    for unique in model.uniques:
        condition = both(condition, is_as_read(unique, model, current))
    return condition


def _uniques_moved(model: Model[Any], current: Any, stored: Item | None, now: float) -> bool:
    if current is UNREAD or not model.uniques:
        return False
    found: Any = model.load(stored) if stored is not None and is_there(model, stored, now) else None
    if found is None or current is None:
        return found is not current
    return any(getattr(found, f.name) != getattr(current, f.name) for f in model.uniques)
