"""The write of a row's entity, by the verbs of its class; each returns the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Literal

from singletable.errors import AlreadyExists, NotFound, SingletableError
from singletable.exchange.bad_rows import reason_of
from singletable.expressions import attr
from singletable.flow import Port
from singletable.foundation import UNREAD, CreateWrite, Moment, TryWrite, flows as records, is_same_item, model_for
from singletable.graph import Edge, Node, flows as graph
from singletable.operations import RAW, Item, RawCondition, RefusedWrite, UpdateItem, encode, read_item
from singletable.values import MAX_ITEM_BYTES, item_size, only_declared, to_attribute_value

_MOST_NAME_BYTES: Final = 1 << 16
Mode = Literal["create", "if_absent", "replace"]
WRITTEN, PRESENT = "(written)", "(present)"
"""The outcomes of a row that is not bad."""


async def _create(port: Port, entity: Any, if_absent: bool = False) -> str:
    try:
        await (graph.link(port, entity) if isinstance(entity, Edge) else records.create(port, entity))
    except AlreadyExists as error:
        is_as_wanted = not error.of_another_type if if_absent else await is_there(port, entity)
        if not is_as_wanted:
            raise
        return PRESENT
    return WRITTEN


async def _replace(port: Port, entity: Any) -> str:
    model = model_for(entity)
    if isinstance(entity, Edge):
        await _replace_edge(port, entity)
    elif isinstance(entity, Node) or model.counter is not None:
        await records.upsert(port, entity, ())
    else:
        await records.put(port, entity)
    return WRITTEN


async def _replace_edge(port: Port, edge: Any) -> None:
    model = model_for(edge)
    names = [field.name for field in model.fields if field.is_written]
    updates = tuple(attr(getattr(type(edge), name)).set(getattr(edge, name)) for name in names)
    try:
        await graph.relink(port, model.key_of(edge), updates)
    except NotFound:
        await graph.link(port, edge)


WRITERS: Final[Mapping[Mode, Any]] = {
    "create": _create,
    "if_absent": partial(_create, if_absent=True),
    "replace": _replace,
}


def held_by(entity: Any) -> set[Any]:
    """The values that forbid a concurrent write of another row: the item's key, and its unique values."""
    model = model_for(entity)
    values = {(model.type, unique.name, str(getattr(entity, unique.name))) for unique in model.uniques}
    return {(model.table.name, *model.place_of(entity)), *values}


async def is_there(port: Port, entity: Any) -> bool:
    """Whether the item of an entity's key is what the entity says: an earlier run wrote it."""
    stored = await records.get(port, model_for(entity).key_of(entity).consistent())
    return stored is not None and is_same_item(_content(stored), _content(entity))


def _content(entity: Any) -> Item:
    """The part of its item that an entity's class declares, without the count of its writes."""
    model = model_for(entity)
    counter = None if model.counter is None else model.counter.stored
    with only_declared():
        item: Item = read_item(encode(model.item(entity)))
    return {name: value for name, value in item.items() if name != counter}


def try_create(entity: Any, moment: Moment) -> TryWrite | None:
    """The request of a `create`; None for an entity that makes no item, as its error is its own."""
    try:
        part: Any = CreateWrite(entity).main(UNREAD, moment)
        part.action.request()
    except SingletableError:
        return None
    return TryWrite(part.action)


def why_not_kept(entity: Any, rest: Mapping[str, Any]) -> str:
    """The reason why a row's undeclared values can't be stored with its declared ones; '' if they can."""
    model = model_for(entity)
    definition = model.table.definition  # by the attribute of expiry the service deletes what no class has expire
    taken = {*definition.reserved, definition.ttl_attribute, *(field.stored for field in model.fields)}
    for name, value in rest.items():
        if name in taken:
            return f"{name}: the table or the class stores something else under that name"
        try:
            to_attribute_value(value)
        except SingletableError as error:
            return f"{name}: {error.what}"
        if not 0 < len(name.encode()) < _MOST_NAME_BYTES:
            return f"the name of an attribute has 1 to {_MOST_NAME_BYTES - 1:,} bytes"
    return why_too_large(entity, rest)


async def keep(port: Port, entity: Any, rest: Mapping[str, Any]) -> None:
    """Store undeclared values with an entity. One write. NotFound if it is gone."""
    model = model_for(entity)
    key, numbered = model.key_item(model.key_of(entity)), list(enumerate(rest.items()))
    names = {f"#{n}": name for n, (name, _) in numbered} | {"#key": model.key_attributes[0]}
    values = {f":{n}": to_attribute_value(value) for n, (_, value) in numbered}
    update = "SET " + ", ".join(f"#{n} = :{n}" for n, _ in numbered)
    guard = RawCondition("attribute_exists(#key)", names, values)
    try:
        await port.send(UpdateItem(model.table.name, key, update, guard, RAW, repeatable=True))
    except RefusedWrite:
        raise NotFound("its item was deleted meanwhile", table=model.table.name, operation="import") from None


def why_too_large(entity: Any, rest: Mapping[str, Any]) -> str:
    try:
        item: Item = read_item(encode(model_for(entity).item(entity)))
        size = item_size({**item, **{name: to_attribute_value(value) for name, value in rest.items()}})
    except SingletableError as error:
        return reason_of(error)
    return f"an item of {size} bytes; DynamoDB allows {MAX_ITEM_BYTES}" if size > MAX_ITEM_BYTES else ""
