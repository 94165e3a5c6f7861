"""Writes of plain items: one alone, and several in a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from singletable.errors import (
    ConditionFailed,
    Failure,
    InvalidRequest,
    OutcomeUnknown,
    SingletableError,
    TooLarge,
)
from singletable.flow import Operation, Port, Race
from singletable.foundation import PASSING_REASONS, WriteBlock, not_applied
from singletable.operations import (
    MAX_ACTIONS,
    CheckItem,
    DeleteItem,
    Item,
    PutItem,
    RawCondition,
    Reason,
    ReasonedCancellation,
    RefusedWrite,
    TransactAction,
    TransactWriteItems,
    UpdateItem,
    why_too_large,
)
from singletable.raw.items import NONE, PLAIN, RawItem, RawTable, condition, stored

T = TypeVar("T")


class RawWrite(Struct, frozen=True):
    """An action, and the verb that errors name."""

    verb: str
    action: TransactAction
    where: str


class RawWrites(WriteBlock[RawWrite]):
    """Collects the writes of a transaction, which the shell sends when its `with` block ends without an error."""

    def __init__(self, table: RawTable) -> None:
        super().__init__(in_block=True)
        self._name = table.name

    def put(
        self,
        item: Mapping[str, Any],
        *,
        where: str = "",
        names: Mapping[str, str] = NONE,
        values: Mapping[str, Any] = NONE,
    ) -> None:
        """Write an item, over the one there may be; with `where`, only if the stored one meets it."""
        self._collect(RawWrite("put", put_of(self._name, item, condition(where, names, values, "put")), where))

    def update(
        self,
        key: Mapping[str, Any],
        changes: str,
        *,
        where: str = "",
        names: Mapping[str, str] = NONE,
        values: Mapping[str, Any] = NONE,
    ) -> None:
        """Change attributes of an item, as `Raw.update`."""
        held = condition(where, names, values, "update")
        self._collect(RawWrite("update", update_of(self._name, key, changes, held), where))

    def delete(
        self,
        key: Mapping[str, Any],
        *,
        where: str = "",
        names: Mapping[str, str] = NONE,
        values: Mapping[str, Any] = NONE,
    ) -> None:
        """Delete an item. Without `where`, a missing one is not an error."""
        held = condition(where, names, values, "delete")
        self._collect(RawWrite("delete", delete_of(self._name, key, held), where))

    def check(
        self,
        key: Mapping[str, Any],
        where: str,
        *,
        names: Mapping[str, str] = NONE,
        values: Mapping[str, Any] = NONE,
    ) -> None:
        """Check that an item meets a condition. It is not changed."""
        held = condition(where, names, values, "check")
        self._collect(RawWrite("check", CheckItem(self._name, stored(key, "check"), held), where))


def put_of(table: str, item: Mapping[str, Any], held: RawCondition) -> PutItem:
    return PutItem(table, stored(item, "put"), held)


def update_of(table: str, key: Mapping[str, Any], changes: str, held: RawCondition) -> UpdateItem[RawItem]:
    """Sent once: its text may add or append, which a repeat would do twice."""
    return UpdateItem(table, stored(key, "update"), changes, held, PLAIN)


def delete_of(table: str, key: Mapping[str, Any], held: RawCondition) -> DeleteItem[RawItem]:
    return DeleteItem(table, stored(key, "delete"), held, PLAIN)


async def send(port: Port, table: RawTable, operation: Operation[T], verb: str, where: str = "") -> T:
    """Send one write. ConditionFailed, or OutcomeUnknown if an earlier try of it may be what refuses it."""
    await table.ready(port)
    try:
        return await port.send(operation)
    except RefusedWrite as refused:
        if refused.unsettled:
            raise OutcomeUnknown(
                "the answer to an earlier try was lost, and the condition fails now, because of that try or of another "
                "writer",
                table=table.name,
                operation=verb,
                hint="Read the item, then decide; or write in raw.transaction(), whose token settles a lost answer.",
            ) from None
        raise _failed(refused.stored, where, table.name, verb) from None


async def commit(port: Port, table: RawTable, writes: Sequence[RawWrite]) -> None:
    """Send a transaction: one request, repeated with the same token until a definite answer."""
    if not writes:
        return
    port.traits.check("transactions", "a transaction")
    await table.ready(port)
    if len(writes) > MAX_ACTIONS:
        raise InvalidRequest(
            f"a transaction of {len(writes)} items; DynamoDB allows {MAX_ACTIONS}",
            table=table.name,
            operation="transaction",
            hint="Split it into independent transactions.",
        )
    race = Race(port, "transaction", "another writer changed items of the transaction", table=table.name)
    while True:
        try:
            await port.send(TransactWriteItems([write.action for write in writes], port.token()))
        except ReasonedCancellation as cancelled:
            _refuse(table.name, writes, cancelled.reasons)
            await race.lost()
        else:
            return


def _refuse(table: str, writes: Sequence[RawWrite], reasons: Sequence[Reason]) -> None:
    """TransactionCancelled with each write that was refused; nothing where the transaction only met another one."""
    failures = [
        Failure(number, write.verb, _reason(write, reason, table))
        for number, (write, reason) in enumerate(zip(writes, reasons, strict=True), 1)
        if reason.code not in PASSING_REASONS
    ]
    if failures:
        raise not_applied(table, len(writes), failures) from None


def _reason(write: RawWrite, reason: Reason, table: str) -> SingletableError:
    if reason.code == "ConditionalCheckFailed":
        return _failed(reason.stored, write.where, table, write.verb)
    if (too_large := why_too_large(reason.code, reason.message)) is not None:
        what, hint = too_large
        return TooLarge(what, table=table, operation=write.verb, hint=hint)
    return InvalidRequest(
        f"DynamoDB refused the {write.verb}: {reason.code}",
        table=table,
        operation=write.verb,
        hint="Compare its key and its texts with the table's.",
    )


def _failed(item: Item | None, where: str, table: str, verb: str) -> ConditionFailed:
    there = "the condition does not hold", "The stored item is in the error's `stored`. Decide by it, then try again."
    what, hint = there if item else ("the condition does not hold: there is no item with this key", "Put it first.")
    return ConditionFailed(
        what,
        stored=PLAIN.load(item) if item else None,
        condition=where,
        table=table,
        operation=verb,
        hint=hint,
    )
