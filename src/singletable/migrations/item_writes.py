"""The write of a fill for one item, under the condition that it is unchanged.

A kind of write is a class here. It says how it is tried, what it leaves in the item's place, and what it costs.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import Applied, InvalidRequest, NotUnique, TooLarge
from singletable.flow import DECLARED, Consumed, Operation, Request, Response, TableNames
from singletable.foundation import Finding, Move, MoveOutcome, Table, TryMove, place_in
from singletable.operations import DeleteItem, Item, Key, PutItem, RefusedWrite, UpdateItem
from singletable.tables import Projected, projected_in, size_units, write_units

_SETS = re.compile(r"(#\d+) = (:\d+)")
_STARTS = re.compile(r"(#\d+) = if_not_exists\(#\d+, (:\d+)\)(?: \+ (:\d+))?")
_REMOVES = re.compile(r"REMOVE ((?:#\d+(?:, )?)+)")
Attempt = Operation[MoveOutcome | Finding]
"""A write whose refusal is an outcome and no error; a finding where it can never be done."""


class ItemWrite(ABC):
    """The write that one item needs."""

    @property
    @abstractmethod
    def key(self) -> Key:
        """The key of the item that was read."""

    @abstractmethod
    def attempt(self) -> Attempt: ...

    @abstractmethod
    def after(self, item: Item) -> Item | None:
        """The item in this place after the write; None if it moves away, with its parts elsewhere."""

    @abstractmethod
    def units(self, indexes: Sequence[Projected], item: Item) -> float:
        """The units that it takes, with these indexes of its table."""


@dataclass(frozen=True)
class ItemUpdate(ItemWrite):
    """An update of the item where it lies."""

    update: UpdateItem[Any]

    @property
    def key(self) -> Key:
        return self.update.key

    def attempt(self) -> Attempt:
        return UpdateAttempt(self.update)

    def after(self, item: Item) -> Item:
        return updated(item, self.update.update, self.update.guard.names, self.update.guard.values)

    def units(self, indexes: Sequence[Projected], item: Item) -> float:
        return write_units(indexes, item, self.after(item))


@dataclass(frozen=True)
class ItemDelete(ItemWrite):
    """The deletion of an item that no class reads any more."""

    delete: DeleteItem[Any]
    type: str = ""
    """The type of the item that is counted under it; empty for a guard, and for one of two under both keys."""

    @property
    def key(self) -> Key:
        return self.delete.key

    def attempt(self) -> Attempt:
        return UpdateAttempt(self.delete)

    def after(self, item: Item) -> None:
        return None

    def units(self, indexes: Sequence[Projected], item: Item) -> float:
        return write_units(indexes, item, None)


@dataclass(frozen=True)
class Later(ItemWrite):
    """A write of an item that another one has changed before."""

    write: ItemWrite
    item: Item

    @property
    def key(self) -> Key:
        return self.write.key

    def attempt(self) -> Attempt:
        return self.write.attempt()

    def after(self, item: Item) -> Item | None:
        return self.write.after(self.item)

    def units(self, indexes: Sequence[Projected], item: Item) -> float:
        return self.write.units(indexes, self.item)


@dataclass(frozen=True)
class ItemMove(ItemWrite):
    """A move to the key that its class has now, or to the items that it is converted into: one transaction, with the
    guards of unique values."""

    move: Move

    @property
    def key(self) -> Key:
        return self.move.old.model.key_item(self.move.old)

    @property
    def new_key(self) -> Key:
        return self.move.key.model.key_item(self.move.key)

    @property
    def items(self) -> list[Item]:
        """The items under their new keys."""
        return [put.item for put in self.move.puts]

    @property
    def type(self) -> str:
        return self.move.old.model.type

    @property
    def place(self) -> tuple[str, str]:
        """The place of the item before the move."""
        return self.move.old.partition, self.move.old.low

    @property
    def target(self) -> Table:
        """The table to which it moves."""
        return self.move.key.model.table

    def without(self, items: Collection[Item]) -> ItemMove:
        """The rest of it, where some of its items are there already."""
        return ItemMove(replace(self.move, puts=tuple(put for put in self.move.puts if put.item not in items)))

    def attempt(self) -> Attempt:
        return MoveAttempt(self.move)

    def after(self, item: Item) -> None:
        return None

    def units(self, indexes: Sequence[Projected], item: Item) -> float:
        its = indexes if self.move.old.model.table is self.target else projected_in(self.target.definition)
        put = sum(write_units(its, None, each, transaction=True) for each in self.items)
        rest = None if self.move.rest is None else self.move.rest.item
        guards = [action.item if isinstance(action, PutItem) else None for _, action in self.move.claims]
        return put + write_units(indexes, item, rest, transaction=True) + 2.0 * sum(map(size_units, guards))


class UpdateAttempt(Struct, frozen=True):
    """An update or a deletion. A failed condition is a normal outcome."""

    write: UpdateItem[Any] | DeleteItem[Any]

    def request(self, names: TableNames = DECLARED) -> Request:
        return self.write.request(names)

    def answer(self, response: Response) -> tuple[MoveOutcome, Consumed]:
        try:
            _, consumed = self.write.answer(response)
        except RefusedWrite:
            return MoveOutcome.CHANGED, Consumed()
        except Applied:
            return MoveOutcome.DONE, Consumed()
        return MoveOutcome.DONE, consumed


class MoveAttempt(Struct, frozen=True):
    """A move; where the item can't be moved, the finding that says why."""

    move: Move

    def request(self, names: TableNames = DECLARED) -> Request:
        return TryMove(self.move).request(names)

    def answer(self, response: Response) -> tuple[MoveOutcome | Finding, Consumed]:
        try:
            return TryMove(self.move).answer(response)
        except (NotUnique, TooLarge, InvalidRequest) as error:
            old = self.move.old
            return Finding("key.immovable", error.what, old.model.type, (old.partition, old.low)), Consumed()


def key_in(table: Table, item: Item) -> Key:
    """The primary key of a stored item, as a request has it."""
    return {name: item[name] for name in table.definition.key if name}


def left_after(table: Table, items: Iterable[Item], writes: Iterable[ItemWrite]) -> list[Item]:
    """The items as the writes leave them in their places."""
    by_place = {place_in(table, write.key): write for write in writes}
    pairs = ((item, by_place.get(place_in(table, item))) for item in items)
    left = (item if write is None else write.after(item) for item, write in pairs)
    return [item for item in left if item is not None]


def updated(item: Item, update: str, names: Mapping[str, str], values: Mapping[str, Any]) -> Item:
    """An item after an update of the library's: it sets attributes, gives them a first value, counts, and removes."""
    changed = {**item, **{names[name]: values[value] for name, value in _SETS.findall(update)}}
    for name, first, step in _STARTS.findall(update):
        value = item.get(names[name], values[first])
        changed[names[name]] = {"N": str(int(value["N"]) + int(values[step]["N"]))} if step else value
    for removed in _REMOVES.findall(update):
        for name in removed.split(", "):
            changed.pop(names[name], None)
    return changed
