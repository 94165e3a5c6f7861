"""The writes of an item that is named by its key: update, delete and check. The rules are in `conditions`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from singletable.errors import ConditionFailed, InvalidRequest, SingletableError
from singletable.expressions import Condition, Parted, Update, first_name, is_whole, parents_of
from singletable.operations import CheckItem, DeleteItem, Item
from singletable.records.compiled_writes import checked_parts, guard_of, update_of
from singletable.records.conditions import (
    Facts,
    both,
    carries,
    check_condition,
    check_verb,
    delete_condition,
    held_values,
    is_absent_or,
    is_as_asked,
    is_as_read,
    is_gone,
    is_own_or_absent,
    is_there,
    is_type,
    missing_path,
    not_found,
    plain_guard,
    refused,
)
from singletable.records.index_keys import KeysNeeded, Planned, applied, is_repeatable, plan_keys
from singletable.records.unique_guards import AttachedChange, claims_of
from singletable.records.write import UNREAD, Moment, Presence, Write, WritePart, WriteResult
from singletable.schema import KeyOf, Model


@dataclass(eq=False)
class UpdateWrite(Write):
    """Change some attributes of an existing item."""

    key: KeyOf[Any]
    updates: tuple[Update, ...]
    where: Condition | None = None
    expected: int | None = None
    caller_copy: Any = UNREAD
    parted: Parted | None = field(init=False, repr=False)
    """The shape of the updates, if they have one, and their values."""
    verb: ClassVar[str] = "update"
    presence: ClassVar[Presence] = Presence.PRESENT
    answer: ClassVar[WriteResult] = WriteResult.AFTER
    always_guards: ClassVar[bool] = False
    upgrades_item: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_verb(self.model, self.verb)
        self.parted = checked_parts(self.model, self.updates)

    @property
    def stores_write_id(self) -> bool:
        return self.model.counter is not None

    def main(self, current: Any, moment: Moment) -> WritePart | None:
        model = self.model
        if current is None:
            raise not_found(self.key, self.verb)
        planned = self._plan(current)
        if isinstance(planned, KeysNeeded):
            return None
        facts, repeatable = self._facts(planned, current, moment), is_repeatable(self.updates)
        action = update_of(self.key, self.updates, self.parted, planned.changes, facts, repeatable)
        return WritePart(
            action,
            lambda stored: self._refusal(stored, moment.now),
            lambda stored: model.counter is not None and carries(model, stored, moment.write_id),
            certain=self.where is None and self.expected is None and not self._touches_expiry,
        )

    def claims(self, current: Any) -> Iterable[AttachedChange]:
        if not self.touches_claims:
            return ()
        expires = self.model.expires
        after = applied(self.model, current, tuple(u for u in self.updates if is_whole(u.path)))
        ends = self.model.item(after).get(expires.stored) if expires is not None else None
        return claims_of(self.model, self.key, current, after, ends, renew=self._touches_expiry)

    @property
    def needed_names(self) -> frozenset[str]:
        """The attributes whose stored values it needs, for an index key or a guard, and reads first."""
        planned = self._plan(UNREAD)
        return planned.names if isinstance(planned, KeysNeeded) else frozenset()

    def advice(self, refusal: str) -> str:
        named = " or ".join(str(u.path) for u in self.updates if u.verb not in ("SET", "REMOVE"))
        if named and ("significant digits" in refusal or "overflow" in refusal.lower()):
            return f"{named} would have more digits than the 38 that DynamoDB keeps, or be out of its range."
        if not named or "operand" not in refusal.lower():
            return ""
        return f"{named} is stored with another type, such as the NULL that stands for None: set() it first."

    @property
    def _touches_expiry(self) -> bool:
        """Whether the update changes the expiry: its own success may be what expires the item."""
        expires = self.model.expires
        return expires is not None and any(first_name(u.path) == expires.name for u in self.updates)

    @cached_property
    def touches_claims(self) -> bool:
        """Whether it may change an attached item."""
        if not self.model.has_claims:
            return False
        moving = {f.name for f in self.model.claimed}
        return self._touches_expiry or any(first_name(u.path) in moving for u in self.updates)

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        if current is UNREAD or current is None or not is_there(self.model, stored, now):
            return False
        assert stored is not None
        entity: Any = self.model.load(stored)
        planned = self._plan(current)
        names = set(planned.held_names) if isinstance(planned, Planned) else set[str]()
        if self.touches_claims:
            names |= {f.name for f in self.model.claimed}
        return any(getattr(entity, n) != getattr(current, n) for n in names)

    def _plan(self, current: Any) -> Planned | KeysNeeded:
        if current is UNREAD and self.touches_claims:
            return KeysNeeded(frozenset(f.name for f in self.model.claimed))
        return plan_keys(self.model, self.key, self.updates, None if current is UNREAD else current)

    def _facts(self, planned: Planned, current: Any, moment: Moment) -> Facts:
        model, held = self.model, planned.held
        if self.touches_claims:
            held = both(held, claimed_as_read(model, current, moment.gone_until))
        if model.is_ambiguous:
            held = both(held, held_values(self.key))
        parents = () if self.parted is not None else tuple(p.condition for p in parents_of(self.updates))
        write_id = "" if model.counter is None else moment.write_id
        return Facts(moment.now, 0.0, self.expected, write_id, self.where, held, parents)

    def _refusal(self, stored: Item | None, now: float) -> SingletableError:
        refusal = refusal_of(self, stored, now)
        if type(refusal) is not ConditionFailed:
            return refusal
        missing = (p for p in parents_of(self.updates) if stored is not None and not p.is_in(stored))
        return next((missing_path(self.key, self.verb, p, refusal) for p in missing), refusal)

    def with_update(self, update: Write) -> Write:
        expected = {e for e in (self.expected, update.expected) if e is not None}
        if len(expected) > 1:
            raise InvalidRequest("two versions are expected of the same item", key=self.key, operation="transaction")
        changed = {str(one.path) for one in self.updates}
        name = next((str(one.path) for one in update.updates if str(one.path) in changed), None)
        if name is not None:
            raise InvalidRequest(
                f"operations {self.number} and {update.number} both change {name} of one item",
                key=self.key,
                operation="transaction",
                hint="Make one change of them: sum what is added.",
            )
        updates, where = (*self.updates, *update.updates), both(self.where, update.where)
        return replace(self, updates=updates, where=where, expected=next(iter(expected), None))

    def with_check(self, check: Write) -> Write:
        return replace(self, where=where_with(check, self))


@dataclass(eq=False)
class DeleteWrite(Write):
    """Delete an item. Alone and without a condition, a missing item is not an error."""

    key: KeyOf[Any]
    where: Condition | None = None
    expected: int | None = None
    verb: ClassVar[str] = "delete"
    presence: ClassVar[Presence] = Presence.EITHER
    answer: ClassVar[WriteResult] = WriteResult.BEFORE

    def __post_init__(self) -> None:
        check_verb(self.model, self.verb)

    @property
    def needs_item(self) -> bool:
        """Whether the write fails if the item is missing."""
        return self.where is not None or self.expected is not None

    @property
    def stores_write_id(self) -> bool:
        return False

    def main(self, current: Any, moment: Moment) -> WritePart | None:
        model = self.model
        if model.has_claims and current is UNREAD:
            return None
        held = claimed_as_read(model, current, moment.gone_until)
        if model.is_ambiguous:
            held = both(held, is_absent_or(model, held_values(self.key)))
        if held is None and not self.needs_item:
            guard = plain_guard(model, is_own_or_absent)
        else:
            guard = guard_of(delete_condition, model, moment.facts(self.expected, where=self.where, held=held))
        action = DeleteItem(model.table.name, model.key_item(self.key), guard, model, pattern=self.key.captured)
        return WritePart(action, lambda stored: refusal_of(self, stored, moment.now), certain=not self.needs_item)

    def claims(self, current: Any) -> Iterable[AttachedChange]:
        if not self.model.has_claims or current is None or current is UNREAD:
            return ()
        return claims_of(self.model, self.key, current, None)

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        return claims_moved(self.model, current, stored, now)

    def is_moot(self, stored: Item | None, now: float) -> bool:
        return not is_there(self.model, stored, now) or not is_as_asked(self.key, self.model, stored)

    @property
    def ignores_item(self) -> bool:
        return not self.needs_item and not self.model.has_claims

    def with_check(self, check: Write) -> Write:
        return replace(self, where=where_with(check, self))


@dataclass(eq=False)
class CheckWrite(Write):
    """Check that an item exists, is of its type, has not expired, and meets a condition."""

    key: KeyOf[Any]
    where: Condition | None = None
    verb: ClassVar[str] = "check"
    presence: ClassVar[Presence] = Presence.PRESENT

    def main(self, current: Any, moment: Moment) -> WritePart:
        model = self.model
        held = held_values(self.key) if model.is_ambiguous else None
        guard = guard_of(check_condition, model, moment.facts(where=self.where, held=held))
        action = CheckItem(model.table.name, model.key_item(self.key), guard, self.key.captured)
        return WritePart(action, lambda stored: refusal_of(self, stored, moment.now))

    def joined_with(self, other: Write) -> Write | None:
        return other.with_check(self)

    def with_check(self, check: Write) -> Write:
        return replace(self, where=both(check.where, self.where))


def refusal_of(write: Write, stored: Item | None, now: float) -> SingletableError:
    """The error of a failed condition of a write that needs its item."""
    if not is_there(write.model, stored, now) or not is_as_asked(write.key, write.model, stored):
        return not_found(write.key, write.verb)
    return refused(write.model, write.key, write.verb, write.where, write.expected, stored)


def where_with(check: Write, write: Write) -> Condition:
    """The condition of a write that a check of the same item joins: that the item is there, where neither has one."""
    where = both(check.where, write.where)
    return is_type(write.model) if where is None else where


def claimed_as_read(model: Model[Any], current: Any, gone_until: float) -> Condition | None:
    """The values that make attached items have not changed since they were read; or the item is gone (see
    `Moment.gone_until`)."""
    if not model.has_claims or current is UNREAD:
        return None
    if current is None:
        return is_gone(model, gone_until)
    condition: Condition | None = None
    for claimed in model.claimed:
        condition = both(condition, is_as_read(claimed, model, current))
    return condition


def claims_moved(model: Model[Any], current: Any, stored: Item | None, now: float) -> bool:
    if current is UNREAD or not model.has_claims:
        return False
    before: Any = model.load(stored) if stored is not None and is_there(model, stored, now) else None
    if before is None or current is None:
        return before is not current
    return any(getattr(before, f.name) != getattr(current, f.name) for f in model.claimed)
