"""Flows that write one item: create, put, update, upsert, delete. What each means is in `rules`."""

from __future__ import annotations

from typing import Any, TypeVar

from singletable.errors import AlreadyExists, InvalidRequest, NotFound, TransactionConflict
from singletable.expressions import Change, Condition, Expressions, Update
from singletable.operations import DeleteItem, GetItem, Guard, Item, PutItem, Refused, TransactWriteItems, UpdateItem
from singletable.operations.transact import Cancelled
from singletable.records.changes import (
    KeysNeeded,
    Planned,
    applied,
    check_updates,
    plan_keys,
    update_operation,
)
from singletable.records.models import Model, model_for, model_of
from singletable.records.patterns import KeyOf
from singletable.records.reading import check_whole, get_operation
from singletable.records.rules import (
    absent_or_mine,
    already_exists,
    at_most_version,
    both,
    condition_failed,
    is_absent,
    is_type,
    not_found,
    outcome_unknown,
)
from singletable.records.tables import first_use
from singletable.wire.port import Port

T = TypeVar("T")

_TRIES = 20
"""How often an update is planned anew because what it had read was changed meanwhile."""


async def create(port: Port, entity: Any) -> None:
    """Write an item where there is none; AlreadyExists otherwise. One request."""
    model = await _ready(port, entity)
    write_id = {"S": port.token()}
    item = {**model.item(entity), model.table.definition.write_id_attribute: write_id}
    try:
        await port.send(PutItem(model.table.name, item, guard(model, is_absent(model))))
    except Refused as refused:
        stored: Item = refused.stored or {}
        if stored.get(model.table.definition.write_id_attribute) == write_id:
            return  # our own earlier try, whose answer was lost
        raise already_exists(model, model.key_of(entity), refused.stored) from None


async def put(port: Port, entity: Any, where: Condition | None = None) -> None:
    """Write an item over what is there. With `where`, only over one of its type that meets it. One request."""
    model = await _ready(port, entity)
    operation = put_operation(model, entity, where)
    try:
        await port.send(operation)
    except Refused as refused:
        raise put_refused(model, model.key_of(entity), where, refused.stored, refused.unsettled) from None


def put_operation(model: Model[Any], entity: Any, where: Condition | None) -> PutItem:
    item = model.item(entity)
    condition = where
    if where is not None:
        condition = is_type(model) & where
    elif model.table.guards_overlap:
        condition = absent_or_mine(model)
    return PutItem(model.table.name, item, guard(model, condition))


def put_refused(
    model: Model[Any], key: Any, where: Condition | None, stored: Item | None, unsettled: bool
) -> Exception:
    if stored is not None and not model.is_mine(stored):
        return already_exists(model, key, stored)
    if unsettled and where is not None:
        return outcome_unknown(model, key, "put")
    return condition_failed(model, key, "put", where, stored)


async def update(
    port: Port, key: KeyOf[T], updates: tuple[Update, ...], where: Condition | None, exactly_once: bool
) -> T:
    """Change attributes of an item that is there; gives it as it is then. NotFound, ConditionFailed.

    One request; one read more where an index key needs values that neither the key nor the updates hold, or where the
    item has an older schema version. `exactly_once` makes it a transaction (twice the units) and a read.
    """
    model: Model[Any] = model_of(key.captured.owner)
    check_whole(key)
    check_updates(model, updates)
    if port.traits.creates_tables:
        await first_use(port, model.table)
    planned = plan_keys(model, key, updates, None)
    current: Any = None
    if isinstance(planned, KeysNeeded):
        current = await port.send(get_operation(key, consistent=True))
        if current is None:
            raise not_found(model, key, "update")
    for _ in range(_TRIES):
        planned = plan_keys(model, key, updates, current)
        assert isinstance(planned, Planned)
        operation = update_operation(model, key, updates, where, planned)
        stored, unsettled, changed = await _send_update(port, operation, exactly_once)
        if changed is not None:
            return changed  # type: ignore[no-any-return]
        current = await _after_refusal(port, model, key, where, planned, current, stored, unsettled)
    raise _contended(model, key, "update")


async def _send_update(port: Port, operation: UpdateItem[Any], exactly_once: bool) -> tuple[Item | None, bool, Any]:
    """(the stored item, whether an earlier try was lost, None) when refused; (..., the entity) when done."""
    if not exactly_once:
        try:
            return None, False, await port.send(operation)
        except Refused as refused:
            return refused.stored, refused.unsettled, None
    try:
        await port.send(TransactWriteItems([operation], port.token()))
    except Cancelled as cancelled:
        reason = cancelled.reasons[0]
        if reason.code != "ConditionalCheckFailed":
            raise InvalidRequest(
                f"DynamoDB refused the update: {reason.code}", operation="update", table=operation.table
            ) from None
        return reason.stored, cancelled.unsettled, None
    read_back = GetItem(operation.table, operation.key, operation.reader, consistent=True)
    return None, False, await port.send(read_back)


async def _after_refusal(
    port: Port,
    model: Model[Any],
    key: KeyOf[Any],
    where: Condition | None,
    planned: Planned,
    current: Any,
    stored: Item | None,
    unsettled: bool,
) -> Any:
    """The item to plan anew with; or raise what the refusal means."""
    if stored is None or not model.is_mine(stored):
        raise not_found(model, key, "update")
    version = model.version_of(stored)
    if version > model.version:
        raise model.newer(version)
    if version < model.version:
        return await rewrite(port, model, stored, version)
    found: Any = model.load(stored)
    if any(getattr(found, n) != getattr(current, n) for n in planned.held_names):
        return found
    if unsettled:
        raise outcome_unknown(model, key, "update")
    raise condition_failed(model, key, "update", where, stored)


async def rewrite(port: Port, model: Model[Any], stored: Item, version: int) -> Any:
    """Write an older item whole as the current version stores it, under its old version; gives the entity."""
    entity: Any = model.load(stored)
    kept = {n: v for n, v in model.upcast(stored, version).items() if n not in model.table.definition.reserved}
    item = {**kept, **model.item(entity)}
    version_is = Expressions()
    name = version_is.name(model.table.definition.version_attribute)
    if model.table.definition.version_attribute in stored:
        condition = f"{name} = {version_is.value({'N': str(version)})}"
    else:
        condition = f"attribute_not_exists({name})"
    try:
        await port.send(PutItem(model.table.name, item, Guard(condition, version_is.names, version_is.values)))
    except Refused:
        return entity  # another writer was first; the update that follows sees what it wrote
    return entity


async def upsert(port: Port, entity: Any, updates: tuple[Update, ...], exactly_once: bool) -> Any:
    """Where there is an item, apply the updates to it; where there is none, write the entity with them applied. Without
    updates, give the item all of the entity's attributes. Gives the item as it is then.

    One request; with updates, one more where there is no item.
    """
    model = await _ready(port, entity)
    if not updates:
        return await _overwrite(port, model, entity)
    key = model.key_of(entity)
    fresh = applied(model, entity, updates)
    for _ in range(_TRIES):
        try:
            return await update(port, key, updates, None, exactly_once)
        except NotFound:
            try:
                await create(port, fresh)
            except AlreadyExists as taken:
                if "another type" in taken.what:
                    raise
            else:
                return fresh
    raise _contended(model, key, "upsert")


async def _overwrite(port: Port, model: Model[Any], entity: Any) -> Any:
    try:
        return await port.send(upsert_operation(model, entity))
    except Refused as refused:
        raise upsert_refused(model, model.key_of(entity), refused.stored) from None


def upsert_operation(model: Model[Any], entity: Any) -> UpdateItem[Any]:
    """Give an item, there or not, all of an entity's attributes and keys; attributes that no class declares stay."""
    item = model.item(entity)
    stored = {f.stored for f in model.fields} | set(model.table.definition.reserved)
    stored -= {*model.key_attributes, model.table.definition.write_id_attribute}
    expressions = Expressions((model.kind,))
    text = expressions.update((), [Change(name, item.get(name)) for name in sorted(stored)])
    condition = is_absent(model) | (is_type(model) & at_most_version(model))
    conditions = Guard(expressions.condition(condition), expressions.names, expressions.values)
    return UpdateItem(model.table.name, model.key_item(model.key_of(entity)), text, conditions, model, repeatable=True)


def upsert_refused(model: Model[Any], key: Any, stored: Item | None) -> Exception:
    if stored is not None and model.is_mine(stored):
        return model.newer(model.version_of(stored))
    return already_exists(model, key, stored)


async def delete(port: Port, key: KeyOf[T], where: Condition | None) -> T | None:
    """Remove an item; gives it as it was, None where there was none of its type. One request."""
    model: Model[Any] = model_of(key.captured.owner)
    check_whole(key)
    if port.traits.creates_tables:
        await first_use(port, model.table)
    try:
        return await port.send(delete_operation(model, key, where))
    except Refused as refused:
        if refused.stored is None or not model.is_mine(refused.stored):
            return None
        raise condition_failed(model, key, "delete", where, refused.stored) from None


def delete_operation(model: Model[Any], key: KeyOf[Any], where: Condition | None) -> DeleteItem[Any]:
    condition = both(is_type(model), where)
    return DeleteItem(model.table.name, model.key_item(key), guard(model, condition), model)


async def _ready(port: Port, entity: Any) -> Model[Any]:
    model = model_for(entity)
    if port.traits.creates_tables:
        await first_use(port, model.table)
    return model


def _contended(model: Model[Any], key: KeyOf[Any], operation: str) -> TransactionConflict:
    return TransactionConflict(
        f"the item was changed by others between each of {_TRIES} reads and writes",
        key=key,
        table=model.table.name,
        operation=operation,
        hint="Try again later, or write to this item less often.",
    )


def guard(model: Model[Any], condition: Condition | None) -> Guard:
    """A condition as a request takes it."""
    if condition is None:
        return Guard()
    expressions = Expressions((model.kind,))
    return Guard(expressions.condition(condition), expressions.names, expressions.values)
