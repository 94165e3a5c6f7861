"""The writes of a whole entity: create, put and upsert. The rules are in `conditions`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from singletable.errors import SingletableError
from singletable.expressions import Condition
from singletable.operations import Item, PutItem, RawCondition, check_item
from singletable.records.compiled_writes import guard_of, upsert_of
from singletable.records.conditions import (
    Facts,
    already_exists,
    both,
    carries,
    check_verb,
    create_condition,
    guard,
    held_values,
    is_absent,
    is_absent_or,
    is_as_asked,
    is_gone,
    is_own_or_absent,
    is_there,
    plain_guard,
    put_condition,
    refused,
)
from singletable.records.index_keys import applied
from singletable.records.item_writes import claimed_as_read, claims_moved, where_with
from singletable.records.unique_guards import AttachedChange, claims_of
from singletable.records.write import UNREAD, Moment, Presence, Write, WritePart, WriteResult
from singletable.schema import KeyOf, Model, model_for
from singletable.values import undeclared_in


def writes_entity(model: Model[Any], entity: Any, count: int | None, write_id: str) -> dict[str, Any]:
    """The item of an entity, with its count of writes and, if needed, a write id."""
    item = model.item(entity)
    mark(item, model, count, write_id)
    return item


def mark(item: dict[str, Any], model: Model[Any], count: int | None, write_id: str) -> None:
    """Put the count of writes and, if needed, a write id into an item."""
    if model.counter is not None and count is not None:
        item[model.counter.stored] = {"N": str(count)}
    if write_id and model.table.definition.write_id_attribute:
        item[model.table.definition.write_id_attribute] = {"S": write_id}


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
        if model.refuses:
            check_verb(model, self.verb)
        self.key = model.key_of(self.entity)
        vars(self)["model"] = model  # as the key would give it

    @property
    def count(self) -> int | None:
        """The entity's own count of writes, if it has one."""
        counter = self.model.counter
        return None if counter is None else int(getattr(self.entity, counter.name))

    def claims(self, current: Any) -> Iterable[AttachedChange]:
        return self._claims(None if current is UNREAD else current) if self.model.has_claims else ()

    def _claims(self, current: Any) -> Iterator[AttachedChange]:
        expires, ends, renew = self.model.expires, None, False
        if expires is not None:
            ends = self.model.item(self.entity).get(expires.stored)
            renew = current is not None and getattr(current, expires.name) != getattr(self.entity, expires.name)
        return claims_of(self.model, self.key, current, self.entity, ends, renew=renew)

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        return claims_moved(self.model, current, stored, now)

    def with_update(self, update: Write) -> Write | None:
        """The write of the entity after the update."""
        if update.where is not None or update.expected not in (None, self.count):
            return None
        after = applied(self.model, self.entity, update.updates)
        return replace(self, entity=after, origin=self.entity if self.origin is None else self.origin)

    def done(self) -> None:
        """The entity has the count that the item has now."""
        if self.model.counter is not None:
            self.set_count((self.count or 0) + 1)

    def set_count(self, count: int) -> None:
        if self.model.counter is not None:
            for entity in (e for e in (self.entity, self.origin) if e is not None):
                setattr(entity, self.model.counter.name, count)


class CreateWrite(EntityWrite):
    """Create an item that is missing or has expired."""

    verb: ClassVar[str] = "create"
    presence: ClassVar[Presence] = Presence.ABSENT

    def main(self, current: Any, moment: Moment) -> WritePart:
        model = self.model
        count = None if model.counter is None else 1
        item = writes_entity(model, self.entity, count, moment.write_id)
        expiring = model.expires is not None
        held = guard_of(create_condition, model, moment.facts()) if expiring else plain_guard(model, is_absent)
        action = PutItem(model.table.name, item, held, pattern=model.key)
        return WritePart(
            action,
            lambda stored: already_exists(model, self.key, stored),
            lambda stored: carries(model, stored, moment.write_id),
            bool(model.table.definition.write_id_attribute),
        )

    def claims(self, current: Any) -> Iterable[AttachedChange]:
        return super().claims(None)

    def done(self) -> None:
        self.set_count(1)


class PutWrite(EntityWrite):
    """Create or overwrite an item."""

    verb: ClassVar[str] = "put"
    presence: ClassVar[Presence] = Presence.EITHER

    @property
    def stores_write_id(self) -> bool:
        return self.model.counter is not None

    def main(self, current: Any, moment: Moment) -> WritePart | None:
        model = self.model
        if model.has_claims and current is UNREAD:
            return None
        count = None if model.counter is None else self.count
        next_count = None if count is None else count + 1
        item = model.item(self.entity)
        if next_count is not None:
            mark(item, model, next_count, moment.write_id)
        plain = self.where is None and count is None and not model.has_claims and not model.is_ambiguous
        held = plain_guard(model, is_own_or_absent) if plain else self._guard(current, moment)
        action = PutItem(model.table.name, item, held, pattern=model.key)
        certain = self.where is None and next_count is None
        return WritePart(
            action,
            lambda stored: self._refusal(stored, moment.now),
            lambda stored: next_count is not None and carries(model, stored, moment.write_id),
            certain,
        )

    def _guard(self, current: Any, moment: Moment) -> RawCondition:
        model = self.model
        held = is_absent_or(model, held_values(self.key)) if model.is_ambiguous else None
        held = both(held, claimed_as_read(model, current, moment.gone_until))
        return guard_of(put_condition, model, moment.facts(self.count, where=self.where, held=held))

    def _refusal(self, stored: Item | None, now: float) -> SingletableError:
        model = self.model
        if stored is not None and not (model.is_mine(stored) and is_as_asked(self.key, model, stored)):
            return already_exists(model, self.key, stored)
        return refused(model, self.key, self.verb, self.where, self.count, stored)

    @property
    def ignores_item(self) -> bool:
        return self.where is None and self.count is None and not self.model.has_claims

    def with_check(self, check: Write) -> Write:
        return replace(self, where=where_with(check, self))


class UpsertWrite(EntityWrite):
    """Set all of the entity's attributes on the item, which is created if it is missing; undeclared attributes stay."""

    verb: ClassVar[str] = "upsert"
    presence: ClassVar[Presence] = Presence.EITHER
    answer: ClassVar[WriteResult] = WriteResult.AFTER

    @property
    def stores_write_id(self) -> bool:
        return self.model.counter is not None or self.model.expires is not None

    def main(self, current: Any, moment: Moment) -> WritePart | None:
        model = self.model
        if model.has_claims and current is UNREAD:
            return None
        if model.expires is not None and current is None:
            return self._whole(moment)
        item = model.item(self.entity)
        check_item(item, self.verb, model.table.name)
        write_id = "" if model.counter is None else moment.write_id
        same = held_values(self.key) if model.is_ambiguous else None
        as_read = claimed_as_read(model, current, moment.gone_until)
        facts = Facts(moment.now, 0.0, write_id=write_id, where=as_read, held=same)
        return WritePart(
            upsert_of(self.key, item, undeclared_in(self.entity), facts),
            lambda stored: self._refusal(stored),
            lambda stored: model.counter is not None and carries(model, stored, moment.write_id),
        )

    def _whole(self, moment: Moment) -> WritePart:
        """Replace an expired item, like create: no attribute of the old item stays."""
        model = self.model
        item = writes_entity(model, self.entity, None if model.counter is None else 1, moment.write_id)
        action = PutItem(model.table.name, item, guard(model, is_gone(model, moment.gone_until)), pattern=model.key)
        return WritePart(
            action,
            lambda stored: self._refusal(stored),
            lambda stored: carries(model, stored, moment.write_id),
            bool(model.table.definition.write_id_attribute),
        )

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        ended = stored is not None and self.model.is_mine(stored) and not is_there(self.model, stored, now)
        return (ended and current is UNREAD) or super().is_stale(current, stored, now)

    def _refusal(self, stored: Item | None) -> SingletableError:
        model = self.model
        if not is_as_asked(self.key, model, stored):
            return already_exists(model, self.key, stored)
        if stored is not None and model.is_mine(stored) and model.tombstone not in stored:
            return model.newer(model.version_of(stored))
        return already_exists(model, self.key, stored)

    def done(self) -> None:
        """The shell returns an entity that has the new count."""
