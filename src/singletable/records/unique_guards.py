"""The writes of attached items: guards, which hold unique values, and words of searches. Each is in the transaction
that writes its owner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from singletable.errors import Conflict, InvalidValue, NotUnique, SingletableError
from singletable.expressions import Condition, Given, Stored
from singletable.operations import CheckItem, DeleteItem, Item, PutItem
from singletable.records.conditions import guard
from singletable.schema import OWNER, OWNER_SORT, KeyOf, Model, guard_key
from singletable.values import Field

if TYPE_CHECKING:
    from singletable.schema import SearchPattern
else:
    SearchPattern = Any  # help() evaluates it; few programs search


class GuardChange(Struct, frozen=True):
    """The change of one guard: `old` is given up, `new` is taken; None for no value."""

    model: Model[Any]
    field: Field
    owner: KeyOf[Any]
    old: Any
    new: Any
    expires: Any = None
    """The owner's attribute value of its expiry, for its guard."""
    renew: bool = False
    """Write the guard again though its value stays: its expiry changes."""

    def taken(self) -> Iterator[KeyOf[Any]]:
        if self.new is not None and (self.renew or self.new != self.old):
            yield guard_key(self.model, self.field.name, self.new)

    def given_up(self) -> Iterator[KeyOf[Any]]:
        """A value that makes no key has no guard: a program wrote it that didn't know it as unique."""
        if self.old is not None and self.new != self.old:
            with suppress(InvalidValue):
                yield guard_key(self.model, self.field.name, self.old)

    def refusal(self, stored: Item | None) -> SingletableError:
        return NotUnique(
            "another item has this value",
            key=self.owner,
            attribute=f"{self.model.kind.__name__}.{self.field.name}",
            hint="Choose another value, or change the item that has it first.",
        )

    def free_elsewhere(self) -> Iterator[KeyOf[Any]]:
        """The guards that no item which has not moved to the class's table may have."""
        before = self.model.before
        if before is not self.model:
            yield from (guard_key(before, self.field.name, self.new) for _ in self.taken())


class WordsChange(Struct, frozen=True):
    """The change of an item's words in one search."""

    model: Model[Any]
    search: SearchPattern
    owner: KeyOf[Any]
    old: Any
    """The entity before the write; None if it was missing."""
    new: Any
    """The entity after it; None if it is deleted."""
    expires: Any = None
    renew: bool = False

    def taken(self) -> Iterator[KeyOf[Any]]:
        had = {} if self.renew else self._keys(self.old)
        return (key for place, key in self._keys(self.new).items() if place not in had)

    def given_up(self) -> Iterator[KeyOf[Any]]:
        """A scope that makes no key has no words."""
        with suppress(InvalidValue):
            has = self._keys(self.new)
            yield from (key for place, key in self._keys(self.old).items() if place not in has)

    def _keys(self, entity: Any) -> dict[tuple[str, str], KeyOf[Any]]:
        from singletable.schema import word_keys  # noqa: PLC0415 few classes have a search

        return {} if entity is None else word_keys(self.model, self.search, self.owner, entity)

    def refusal(self, stored: Item | None) -> SingletableError:
        return Conflict(
            "another item has the key of a word",
            key=self.owner,
            attribute=f"{self.model.kind.__name__}.{self.search.text_name}",
            hint="Repair the table: singletable check --repair.",
        )

    def free_elsewhere(self) -> Iterator[KeyOf[Any]]:
        """None: other items' words may be the same."""
        return iter(())


AttachedChange = GuardChange | WordsChange
Place = tuple[str, str, str]
"""An attached item: its table, and its key."""


def claims_of(
    model: Model[Any], owner: KeyOf[Any], old: Any, new: Any, expires: Any = None, *, renew: bool = False
) -> Iterator[AttachedChange]:
    """The changes of all attached items, as an entity becomes another; None for a missing one."""
    for unique in model.uniques:
        was, now = (None if entity is None else getattr(entity, unique.name) for entity in (old, new))
        yield GuardChange(model, unique, owner, was, now, expires, renew)
    for search in model.searches.values():
        yield WordsChange(model, search, owner, old, new, expires, renew)


def guard_actions(
    claims: Iterable[AttachedChange], now: float, foreign: Collection[Place] = ()
) -> Iterator[tuple[AttachedChange, PutItem | DeleteItem[Any] | CheckItem, Place | None]]:
    """The writes of all attached items of a transaction, one for each, with the place of each that is given up.

    A value that one item gives up and another takes changes its owner in one action. A guard in `foreign`, which
    belongs to another item though this one has the value, is left to it: that it is not this item's is checked.
    Raises InvalidRequest if two items would take the same value.
    """
    taken: dict[Place, tuple[AttachedChange, KeyOf[Any]]] = {}
    given_up: dict[Place, tuple[AttachedChange, KeyOf[Any]]] = {}
    for claim in claims:
        given_up |= {_place(claim, key): (claim, key) for key in claim.given_up()}
        for key in claim.taken():
            if _place(claim, key) in taken:
                raise claim.refusal(None)
            taken[_place(claim, key)] = claim, key
    for place, (claim, key) in taken.items():
        before = given_up.pop(place, None)
        yield claim, _put(claim, key, before[0].owner if before else None, now), None
        for other in claim.free_elsewhere():
            if (other.model.table.name, other.partition, other.low) not in given_up:
                yield claim, _check_free(claim, other, now), None
    for place, (claim, key) in given_up.items():
        yield claim, _check(claim, key) if place in foreign else _delete(claim, key), place


def _delete(claim: AttachedChange, key: KeyOf[Any]) -> DeleteItem[Any]:
    free = _is_free(claim) | _is_owner(claim.owner)
    return DeleteItem(claim.model.table.name, key.model.key_item(key), guard(claim.model, free), claim.model)


def _check(claim: AttachedChange, key: KeyOf[Any]) -> CheckItem:
    another = _is_free(claim) | ~_is_owner(claim.owner)
    return CheckItem(claim.model.table.name, key.model.key_item(key), guard(claim.model, another))


def _check_free(claim: AttachedChange, key: KeyOf[Any], now: float) -> CheckItem:
    """No item that has not moved to the claim's table yet has the value."""
    free = _is_free(claim) | _has_ended(claim, now) if claim.model.expires is not None else _is_free(claim)
    return CheckItem(key.model.table.name, key.model.key_item(key), guard(claim.model, free))


def _put(claim: AttachedChange, key: KeyOf[Any], given_up_by: KeyOf[Any] | None, now: float) -> PutItem:
    made = key.model.kind(**key.model.key_values(key), owner=claim.owner.partition, owner_sort=claim.owner.low)
    item = key.model.item(made)
    if claim.expires is not None:
        item[claim.model.table.ttl_name] = claim.expires
    free = _is_free(claim) | _is_owner(claim.owner)
    if given_up_by is not None:
        free = free | _is_owner(given_up_by)
    if claim.model.expires is not None:
        free = free | _has_ended(claim, now)
    return PutItem(claim.model.table.name, item, guard(claim.model, free))


def _is_free(claim: AttachedChange) -> Condition:
    return Condition("attribute_not_exists", (Stored(claim.model.key_attributes[0]),))


def _has_ended(claim: AttachedChange, now: float) -> Condition:
    return Condition("<=", (Stored(claim.model.table.ttl_name), Given({"N": str(int(now))})))


def _is_owner(owner: KeyOf[Any]) -> Condition:
    partition = Condition("=", (Stored(OWNER), Given({"S": owner.partition})))
    return partition & Condition("=", (Stored(OWNER_SORT), Given({"S": owner.low})))


def _place(claim: AttachedChange, key: KeyOf[Any]) -> Place:
    return claim.model.table.name, key.partition, key.low
