"""Updates of a class with `stored_as=`: items are stored in an older form too, for programs that know no newer one.

Each form is a function of the whole other one. An update therefore reads the item, changes the entity, and writes the
differences in both forms, if the item is unchanged. Another program's write in between fails that condition, and the
item is read again. An item whose two forms disagree, because an older program wrote it, is brought into step first:
`where=` then sees the newer form.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.expressions import AttributeChange, Condition, first_name, is_whole
from singletable.flow import Port, Race
from singletable.operations import Item, RefusedWrite, UpdateItem
from singletable.records.conditions import (
    CHANGED,
    both,
    carries,
    is_alive,
    is_count,
    is_there,
    is_type,
    not_found,
    refused,
)
from singletable.records.guarded_write import update_if
from singletable.records.index_keys import applied
from singletable.records.placement import Placement
from singletable.records.proof import stored_read
from singletable.records.send import send_at_its_key
from singletable.records.upgrade import as_read, changes_to, is_same_item, upgrade_if_needed
from singletable.records.write import Write
from singletable.schema import Model
from singletable.values import changed as entity_with


def placed(model: Model[Any], placement: Placement) -> Placement:
    """The placement of a class with `stored_as=`."""
    return replace(
        placement, send=_send, check_in_transaction=_check_in_transaction, whole_only=f"stored_as={model.stored_as}"
    )


async def _send(port: Port, write: Write, exactly_once: bool, prove_absence: bool) -> Any:
    if write.updates:
        return await update_both_forms(port, write)
    return await send_at_its_key(port, write, exactly_once, prove_absence)


def _check_in_transaction(write: Write) -> None:
    if write.updates:
        raise _refused(write, "an update in a transaction, or of many items,")


async def update_both_forms(port: Port, write: Write) -> Any:
    """Update an item in both its forms. A consistent read, then a write; two more where an older program wrote it last.

    InvalidRequest for an update inside an attribute, or of a unique one.
    """
    model, write_id = write.model, port.token()
    _check(write)
    race = Race(port, write.verb, CHANGED, key=write.key)
    while True:
        stored: Item | None = await port.send(stored_read(write))
        if stored is None or not is_there(model, stored, port.now()):
            raise not_found(write.key, write.verb)
        stale = upgrade_if_needed(model, stored, model.version_of(stored))
        try:
            if stale is None:
                return await port.send(_action(write, stored, write_id, port.now()))
            await port.send(stale)
            race.hint = (
                "The item was brought to its current form, and not updated. Try again with fewer writers at once."
            )
        except RefusedWrite as error:
            now = error.stored or await port.send(stored_read(write))
            if carries(model, now, write_id):
                write.done()
                return model.load(now or {})
            if now is not None and is_same_item(now, stored):
                raise refused(model, write.key, write.verb, write.where, write.expected, stored) from None
        await race.lost()


def _check(write: Write) -> None:
    claimed = {field.name for field in write.model.claimed}
    for update in write.updates:
        if not is_whole(update.path):
            raise _refused(write, f"an update of {update.path}")
        if first_name(update.path) in claimed:
            raise _refused(write, f"an update of {update.path}, which is unique or in a search,")


def _action(write: Write, stored: Item, write_id: str, now: float) -> UpdateItem[Any]:
    """The changes of both forms, if the item is unchanged since it was read."""
    model = write.model
    before: Any = model.load(stored)
    after = applied(model, before, write.updates)
    if model.counter is not None:
        after = entity_with(after, **{model.counter.name: getattr(before, model.counter.name) + 1})
    changes = list(changes_to(model, stored, model.version_of(stored), after))
    changes.append(AttributeChange(model.table.definition.write_id_attribute, {"S": write_id}))
    condition: Condition | None = is_type(model) & as_read(model, stored)
    for more in (is_alive(model, now), is_count(model, write.expected), write.where):
        condition = both(condition, more)
    return update_if(write.key, changes, condition, repeatable=True, reader=model)


def _refused(write: Write, what: str) -> InvalidRequest:
    model = write.model
    return InvalidRequest(
        f"{model.kind.__name__} has stored_as={model.stored_as}, and {what} can't keep both forms of an item in step",
        key=write.key,
        operation="update",
        hint="Update whole attributes of one item, or put the entity.",
    )
