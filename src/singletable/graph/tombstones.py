"""The tombstone of a deleted node, its states, and the writes that move it from one to the next.

set       delete_node() has begun: readers treat the node as missing, links and create() refuse it
retained  the edges that could be found are deleted; only the key and the tombstone are left. The node's unique values
          are free, and no link can be made to its id. The item is marked `buried`
removed   no edge leads to the node: proved by the table itself, or by an index that is written with the table

Each tombstone has a number of its own, from the time and random digits. A node that was created again under the same id
and deleted again has another number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import urandom
from typing import Any, ClassVar

from singletable.errors import Corrupt, NotFound, SingletableError, TransactionCancelled
from singletable.events import GuardKept
from singletable.expressions import AttributeChange, Condition, Given, Stored
from singletable.flow import Port
from singletable.foundation import (
    GuardChange,
    KeyOf,
    Model,
    Moment,
    Write,
    WritePart,
    check_if,
    delete_if,
    is_type,
    put_if,
    update_if,
)
from singletable.graph.nodes import RETAINED, TOMBSTONE
from singletable.operations import Item, RefusedWrite


async def set_tombstone(port: Port, key: KeyOf[Any]) -> Item | None:
    """Set the tombstone unless it is set. Returns the node's item, None if the node is missing. One request."""
    mark = f"{port.now():.3f}{int.from_bytes(urandom(5)):013}"
    change = AttributeChange(TOMBSTONE, {"N": mark}, keep=True)
    try:
        item: Any = await port.send(update_if(key, [change], is_type(key.model)))
    except RefusedWrite:
        return None
    return dict(item)


@dataclass(eq=False)
class HoldTombstone(Write):
    """The condition that this deletion of the node has not ended, so the node is not a new one with the same id."""

    verb: ClassVar[str] = "delete_node"
    key: KeyOf[Any]
    mark: str
    """The tombstone's number."""

    def main(self, current: Any, moment: Moment) -> WritePart:
        action = check_if(self.key, self._marked)
        return WritePart(action, self._refusal, refusal_needs_item=False)

    @property
    def _marked(self) -> Condition:
        return is_type(self.model) & Condition("=", (Stored(TOMBSTONE), Given({"N": self.mark})))

    def _refusal(self, stored: Item | None) -> SingletableError:
        return NotFound("the node was deleted by another call", key=self.key)


class _End(HoldTombstone):
    """Deletes the node's item, and with it the guards of its unique values, which `current` has by name."""

    def claims(self, current: Any) -> Iterator[GuardChange]:
        for unique in self.model.uniques if current else ():
            yield GuardChange(self.model, unique, self.key, current[unique.name], None)


class RemoveNode(_End):
    """Removes the node's item."""

    def main(self, current: Any, moment: Moment) -> WritePart:
        action = delete_if(self.key, self._marked)
        return WritePart(action, self._refusal, refusal_needs_item=False)


class RetainTombstone(_End):
    """Removes the node's data; its key and its tombstone are left."""

    def main(self, current: Any, moment: Moment) -> WritePart:
        definition = self.model.table.definition
        item: dict[str, Any] = {
            **self.model.key_item(self.key),
            definition.type_attribute: {"S": self.model.type},
            definition.version_attribute: {"N": str(self.model.version)},
            TOMBSTONE: {"N": self.mark},
            RETAINED: {"BOOL": True},
        }
        condition = self._marked & Condition("attribute_not_exists", (Stored(RETAINED),))
        action = put_if(self.key, item, condition)
        return WritePart(action, self._refusal, refusal_needs_item=False)


def is_ended(cancelled: TransactionCancelled) -> bool:
    """Whether the node is missing or a new one, because another call has finished the same deletion."""
    return any(failure.verb == HoldTombstone.verb for failure in cancelled.failures)


def claimed_by(port: Port, model: Model[Any], item: Item) -> Mapping[str, Any] | None:
    """The unique values that a node's deletion frees, by name; None if it has none, or no longer has any.

    The node is read only if needed. If it can't be read as a whole, its unique attributes are read alone. A value
    that can't be read keeps its guard, which check() reports as guard.orphan. Raises Corrupt for a node of another
    schema version that can't be read: the program that wrote it can delete it.
    """
    if not model.uniques or RETAINED in item:
        return None
    data = {name: value for name, value in item.items() if name != TOMBSTONE}
    try:
        node = model.load(data)
    except Corrupt:
        if model.version_of(data) != model.version:
            raise
        return _readable_values(port, model, data)
    return {unique.name: getattr(node, unique.name) for unique in model.uniques}


def _readable_values(port: Port, model: Model[Any], item: Item) -> Mapping[str, Any]:
    values: dict[str, Any] = dict.fromkeys((unique.name for unique in model.uniques), None)
    known = model.stored_key.known_from(item)
    for unique in model.uniques:
        stored = item.get(unique.stored)
        try:
            values[unique.name] = known.get(unique.name) if stored is None else unique.plan.load(stored)
        except (SingletableError, ValueError, LookupError, TypeError, ArithmeticError):
            kept = GuardKept(table=model.table.name, entity=model.kind.__name__, attribute=unique.stored)
            port.events.emit(kept)
    return values
