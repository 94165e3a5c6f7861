"""Moves an item from the key that its class had before to the one that it has: `@app.key(was=old_key)`; or turns it
into items of other classes: `@Old.becomes(...)`.

A move is one transaction: the item is put under its new key if nothing lies there, deleted under the old one if it has
not changed, and the guards of its unique values get their owner's new key. So no concurrent write is lost, not even
one of a program that knows only the old key, and no reader sees the item twice or not at all.

`old_keys` says when a verb moves an item; `migrations` moves the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest, TooLarge
from singletable.flow import DECLARED, Consumed, Port, Race, Request, Response, TableNames
from singletable.operations import (
    RAW,
    CheckItem,
    DeleteItem,
    GetItem,
    Item,
    PutItem,
    Reason,
    ReasonedCancellation,
    RefusedWrite,
    TransactAction,
    TransactWriteItems,
    check_item,
    why_too_large,
)
from singletable.records.conditions import CHANGED, is_gone
from singletable.records.guarded_write import check_if, delete_if, put_if
from singletable.records.unique_guards import AttachedChange, GuardChange, claims_of, guard_actions
from singletable.records.unreadable import OnUnreadable, load_or_tell
from singletable.records.upgrade import as_read
from singletable.schema import KeyOf, Model, MovingPattern, model_of

NEEDED_BY = "a key that was another"


class MoveOutcome(Enum):
    DONE = auto()
    CHANGED = auto()
    """Another writer was first: the item under the old key has changed."""
    TWICE = auto()
    """Another item lies under the new key."""


class Move(Struct, frozen=True):
    """The writes that move one item. `key` is the one it has now, `old` the one that it was."""

    key: KeyOf[Any]
    """The old one, for an item that is converted."""
    old: KeyOf[Any]
    puts: tuple[PutItem, ...]
    """The item under its new key; or the items that it is converted into."""
    delete: DeleteItem[Any]
    claims: tuple[tuple[AttachedChange, TransactAction], ...] = ()
    """The change of the owner in each unique value's guard."""
    stays: CheckItem | None = None
    """Instead of the put: the item under the new key stays, unchanged, and the one under the old key is deleted."""
    rest: PutItem | None = None
    """Instead of the deletion: what is left of an item that is converted."""

    @property
    def is_conversion(self) -> bool:
        """Whether the item becomes items of other classes."""
        return self.key is self.old

    def actions(self) -> list[TransactAction]:
        first: Sequence[TransactAction] = self.puts if self.stays is None else (self.stays,)
        return [*first, self.rest or self.delete, *(action for _, action in self.claims)]


def move_of(model: Model[Any], stored: Item, now: float) -> Move | None:
    """The move of an item to the key of its class, in the current schema version; None if it lies there. `model` is
    that of the table where the item lies.

    Raises Corrupt if the item can't be read, InvalidValue if it has no place under the new key, TooLarge, and
    InvalidRequest for more attributes than a condition can compare.
    """
    entity = model.load(stored)
    if entity is None or model.is_moved(entity, stored):
        return None
    own_model: Model[Any] = model_of(model.kind)
    key = own_model.key_of(entity)
    old = own_model.old_key(key)
    item = moved(model, entity, stored)
    check_item(item, "move", own_model.table.name)
    return Move(
        key,
        old,
        (put_if(key, item, is_gone(own_model, now)),),
        delete_if(old, as_read(model, stored)),
        tuple(_claims(model, entity, key, old, item, now)),
    )


def moved(model: Model[Any], entity: Any, stored: Item) -> Item:
    """The item as it lies under its new key: all that it held, what no program declares as well."""
    version = model.version_of(stored)
    current = model.upcast(stored, version) if version < model.version else stored
    own_model: Model[Any] = model_of(model.kind)
    reserved = {*model.table.definition.reserved, *own_model.table.definition.reserved}
    return {**{name: value for name, value in current.items() if name not in reserved}, **own_model.item(entity)}


def _claims(
    model: Model[Any], entity: Any, key: KeyOf[Any], old: KeyOf[Any], item: Item, now: float
) -> Iterator[tuple[AttachedChange, TransactAction]]:
    ends = item.get(model.expires.stored) if model.expires is not None else None
    claims = [*claims_of(model, old, entity, None), *claims_of(key.model, key, None, entity, ends)]
    for claim, action, _ in guard_actions(claims, now):
        yield claim, action


def settled(move: Move, there: Item, now: float) -> Move | None:
    """The move of an item while another lies under its new key: one transaction, which leaves one of them, by the rule
    of their class. None where it has no rule, or the other item is of another class. Where an item is replaced, the
    count of its writes is higher than both were.

    Raises Corrupt if one can't be read, and InvalidRequest for more attributes than a condition can compare.
    """
    model = move.key.model
    decides = model.key.decides if isinstance(model.key, MovingPattern) else ""
    mine, other = model.load(move.puts[0].item), model.load(there)
    if not decides or mine is None or other is None:
        return None
    ranks = [(value is not None, value) for value in (getattr(mine, decides), getattr(other, decides))]
    is_replaced, unchanged = ranks[0] >= ranks[1], as_read(model, there)
    claims = tuple(_double_claims(move, mine, other, now, is_replaced=is_replaced))
    if not is_replaced:
        return replace(move, stays=check_if(move.key, unchanged), claims=claims)
    item = dict(move.puts[0].item)
    if (counter := model.counter) is not None:
        item[counter.stored] = {"N": str(max(getattr(mine, counter.name), getattr(other, counter.name)) + 1)}
    return replace(move, puts=(put_if(move.key, item, unchanged),), claims=claims)


def _double_claims(
    move: Move, mine: Any, other: Any, now: float, *, is_replaced: bool
) -> Iterator[tuple[AttachedChange, TransactAction]]:
    """The guards of two items of which one stays. A value that both have is guarded already."""
    model, expires = move.key.model, move.key.model.expires
    ends = move.puts[0].item.get(expires.stored) if expires is not None else None
    claims = [*claims_of(move.old.model, move.old, mine, None)]
    if is_replaced:
        claims += claims_of(model, move.key, other, mine, ends, renew=expires is not None)
    shared = {name for name in (unique.name for unique in model.uniques) if getattr(mine, name) == getattr(other, name)}
    claims = [claim for claim in claims if not (isinstance(claim, GuardChange) and claim.field.name in shared)]
    for claim, action, _ in guard_actions(claims, now):
        yield claim, action


class TryMove(Struct, frozen=True):
    """A move as one request. A refusal is a normal outcome. Raises NotUnique if a guard is another item's.

    It may be repeated: an item that has left the old key, or changed there, is not moved again.
    """

    move: Move

    def request(self, names: TableNames = DECLARED) -> Request:
        return self._transaction.request(names)

    def answer(self, response: Response) -> tuple[MoveOutcome, Consumed]:
        try:
            _, consumed = self._transaction.answer(response)
        except ReasonedCancellation as cancelled:
            return self._outcome(cancelled.reasons), Consumed()
        return MoveOutcome.DONE, consumed

    @property
    def _transaction(self) -> TransactWriteItems:
        return TransactWriteItems(self.move.actions())

    def _outcome(self, reasons: Sequence[Reason]) -> MoveOutcome:
        for reason in reasons:
            if (too_large := why_too_large(reason.code, reason.message)) is not None:
                what, hint = too_large
                raise TooLarge(f"{what}, under its new key", key=self.move.key, hint=hint)
            if reason.code == "ValidationError":
                raise InvalidRequest("DynamoDB refused the move of an item", key=self.move.key)
        count = len(reasons) - 1 - len(self.move.claims)
        refused = [reason.code == "ConditionalCheckFailed" for reason in reasons]
        if refused[count]:
            return MoveOutcome.CHANGED
        if any(refused[:count]):
            return MoveOutcome.TWICE
        for (claim, _), is_refused, reason in zip(
            self.move.claims, refused[count + 1 :], reasons[count + 1 :], strict=True
        ):
            if is_refused:
                raise claim.refusal(reason.stored)
        return MoveOutcome.CHANGED


async def read_old(port: Port, key: KeyOf[Any]) -> Item | None:
    """Read the item under the key that an item of this key had before. One request; a unit for each 4 KB."""
    model = key.model
    return await port.send(GetItem(model.before.table.name, model.key_item(model.old_key(key)), RAW, consistent=True))


async def settle(port: Port, key: KeyOf[Any], stored: Item | None = None) -> Item | None:
    """Move the item of a key to it, if it lies under the old one. One request where it does not, two where it does.

    Returns what lies under the old key still, because another item lies under the new one; else None.
    Raises TransactionConflict if other writers change the item each time.
    """
    model = key.model
    port.traits.check("transactions", NEEDED_BY)
    race = Race(port, "move", CHANGED, key=key)
    while True:
        stored = stored or await read_old(port, key)
        entity = None if stored is None else own(model.before, key, stored)
        if stored is None or entity is None or model.is_expired(entity, port.now()):
            return None
        move = move_of(model.before, stored, port.now())
        if move is None:
            return None
        outcome = await port.send(TryMove(move))
        if outcome is MoveOutcome.DONE:
            return None
        if outcome is MoveOutcome.TWICE:
            return stored
        stored = None
        await race.lost()


async def remove_old(port: Port, key: KeyOf[Any]) -> None:
    """Before an item is deleted under its key: move it there, or delete its twin under the old key."""
    hint = "Nothing was deleted; the item may have been moved to its key. Try again with fewer writers at once."
    race = Race(port, "delete", CHANGED, key=key, hint=hint)
    while True:
        twice = await settle(port, key)
        if twice is None:
            return
        try:
            await port.send(delete_if(key.model.old_key(key), as_read(key.model.before, twice)))
        except RefusedWrite:
            await race.lost()
        else:
            return


def own(lies_in: Model[Any], key: KeyOf[Any], item: Item, unreadable: OnUnreadable = None) -> Any:
    """The entity of an item if it is the one of a key, under whichever of its two keys it lies; None for another's.
    `lies_in` is the model of the table where the item lies: that of the key, or the one `before`.

    Without `unreadable`, raises Corrupt if the item can't be read.
    """
    entity = load_or_tell(lies_in, item, unreadable, "TransactGetItems")
    return entity if entity is not None and key.model.place_of(entity) == (key.partition, key.low) else None


def at_new_key(lies_in: Model[Any], key: KeyOf[Any], item: Item) -> Item:
    """An item of another table as the class's readers take it: with the key that it is to have."""
    return {**item, **key.model.key_item(key)} if lies_in.is_leaving else item
