"""Guarded writes: one action on one item under one condition, for layers that store more in an item than its class has.

    held = is_type(key.model) & equal("fence", 7)
    action = delete_if(key, held)                        # a request of its own: await port.send(action)
    TryWrite(action)                                     # the same, and whether the condition held
    GuardedWrite(key, action, "done", lost)              # a part of a transaction, or send_alone(port, write)

Each `..._if` takes the key of the item, which carries the model. `None` as the condition means no condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.expressions import AttributeChange, Condition, Expressions, Update, stored_texts
from singletable.flow import DECLARED, Consumed, OperationFacts, Request, Response, TableNames
from singletable.operations import (
    RAW,
    CheckItem,
    DeleteItem,
    ItemReader,
    PutItem,
    RawCondition,
    RefusedWrite,
    TransactAction,
    UpdateItem,
)
from singletable.records.conditions import guard, guard_in
from singletable.records.write import Moment, Write, WritePart
from singletable.schema import KeyOf
from singletable.values import AttributeValue

T = TypeVar("T")


def put_if(key: KeyOf[Any], item: Mapping[str, AttributeValue], condition: Condition | None) -> PutItem:
    """The put of a whole item, its key attributes included."""
    return PutItem(key.model.table.name, item, guard(key.model, condition), pattern=key.captured)


def update_if(
    key: KeyOf[Any],
    changes: Sequence[AttributeChange],
    condition: Condition | None,
    *,
    updates: Sequence[Update] = (),
    repeatable: bool = True,
    reader: ItemReader[T] = RAW,  # type: ignore[assignment]  # the default's T is Item
) -> UpdateItem[T]:
    """An update of stored attributes, and of a class's attributes by `updates`; `reader` reads the item after it."""
    model = key.model
    texts = None if updates else stored_texts(changes, condition)
    if texts is None:
        expressions = Expressions((model.kind,))
        text = expressions.update(tuple(updates), changes)
        held = guard_in(expressions, condition)
    else:
        text, held = texts.update, RawCondition(texts.condition, texts.names, texts.values)
    return UpdateItem(model.table.name, model.key_item(key), text, held, reader, repeatable, key.captured)


def delete_if(key: KeyOf[Any], condition: Condition | None) -> DeleteItem[Any]:
    """The deletion of an item."""
    model = key.model
    return DeleteItem(model.table.name, model.key_item(key), guard(model, condition), RAW, pattern=key.captured)


def check_if(key: KeyOf[Any], condition: Condition | None) -> CheckItem:
    """A check of an item, inside a transaction only."""
    model = key.model
    return CheckItem(model.table.name, model.key_item(key), guard(model, condition), key.captured)


class TryWrite(Struct, frozen=True):
    """A write as a request of its own. Returns True if it was done, False if its condition failed."""

    write: PutItem | UpdateItem[Any] | DeleteItem[Any]

    def request(self, names: TableNames = DECLARED) -> Request:
        return self.write.request(names)

    def answer(self, response: Response) -> tuple[bool, Consumed]:
        try:
            _, consumed = self.write.answer(response)
        except RefusedWrite:
            return False, Consumed()
        return True, consumed

    def facts(self, value: bool | None) -> OperationFacts:
        return self.write.facts(None)


@dataclass(eq=False)
class GuardedWrite(Write):
    """An action that is ready to be sent. `refusal(key, verb)` makes the error of a failed condition. The error doesn't
    depend on the stored item, so no read is needed."""

    key: KeyOf[Any]
    action: TransactAction
    verb: str  # type: ignore[misc]
    refusal: Callable[[KeyOf[Any], str], SingletableError]

    def main(self, current: Any, moment: Moment) -> WritePart:
        return WritePart(self.action, lambda stored: self.refusal(self.key, self.verb), refusal_needs_item=False)
