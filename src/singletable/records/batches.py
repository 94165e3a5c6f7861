"""Flows over many items, each by itself: get_many and write_many. Complete, or an error that carries the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Raw

from singletable.errors import Incomplete, InvalidRequest, Throttled, Unavailable
from singletable.flow import Port, pause
from singletable.operations import (
    MAX_BATCH_GET,
    MAX_BATCH_WRITE,
    BatchGetItem,
    BatchWriteItem,
    Item,
    ItemReader,
    Key,
    delete_request,
    place_of,
    put_request,
)
from singletable.records.conditions import check_verb, is_answer, is_own_or_absent
from singletable.records.first_use import ready
from singletable.records.placement import placement_of
from singletable.records.query_request import check_whole
from singletable.records.readers import Place, place_in, placed_reader_of
from singletable.records.target import target_of
from singletable.records.unreadable import OnUnreadable, readable
from singletable.records.write_rounds import BulkWrite, BulkWrites, Source, write_in_rounds
from singletable.schema import Captured, Entity, KeyOf, Model, Table, check_keys, model_for

T = TypeVar("T")

_TRIES = 12
_THROTTLED = "the table is throttled"
_FIRST_WAIT_SECONDS = 0.05
_LONGEST_WAIT_SECONDS = 5.0


async def get_many(
    port: Port, keys: Iterable[KeyOf[T]], consistent: bool = False, unreadable: OnUnreadable = None
) -> list[T]:
    """The entities of the keys, in the order of the keys; missing ones are left out.

    100 keys in a request, each key once; one round trip for up to 1,600 keys. `Incomplete` has the keys that the
    service left unprocessed after several tries.
    """
    wanted: dict[Table, dict[Place, KeyOf[T]]] = {}
    asked: list[tuple[Model[Any], Place, KeyOf[Any]]] = []
    check_keys(keys)
    for key in keys:
        check_whole(key)
        if key.attributes:
            raise _of_parts(key)
        model, place = key.captured.model, (key.partition, key.low)
        if (places := wanted.get(model.table)) is None:
            places = wanted[model.table] = {}
        places[place] = key
        asked.append((model, place, key))
        consistent = consistent or key.strong
    models = dict.fromkeys([model for model, _, _ in asked])
    entities: dict[Table, dict[Place, Any]] = {}
    for table, places in wanted.items():
        of_table = [model for model in models if model.table is table]
        kinds = tuple(dict.fromkeys([model.kind for model in of_table]))
        reader = placed_reader_of(kinds, tells=unreadable is not None)
        entities[table] = there = dict(await get_at(port, table, places, reader, places.__getitem__, consistent))
        for find_many in dict.fromkeys(placement_of(model).find_many for model in of_table):
            if find_many is not None:
                await find_many(port, table, places, reader, there, unreadable)
        if unreadable is not None:
            readable([*there.values()], unreadable, "BatchGetItem")
    now = port.now()
    read: list[tuple[Any, Model[Any], KeyOf[Any]]] = [(entities[m.table].get(place), m, key) for m, place, key in asked]
    return [
        entity
        for entity, model, key in read
        if isinstance(entity, model.kind)
        and not (model.expires and model.is_expired(entity, now))
        and not (model.is_ambiguous and not is_answer(key, entity))
    ]


async def get_at(
    port: Port,
    table: Table,
    places: Collection[Place],
    reader: ItemReader[T],
    key_at: Callable[[Place], KeyOf[Any]],
    consistent: bool = False,
) -> list[T]:
    """The items at some places of a table, from a reader, in no order: for flows that know places without keys.
    `key_at` makes the keys that `Incomplete` carries."""
    await ready(port, table)

    def pattern_at(key: Item) -> Captured:
        return key_at(place_in(table, key)).captured

    keys = table.definition.keys_at(places)
    read, rest = await read_batches(port, table.name, keys, reader, consistent, pattern_at)
    if not rest:
        return read
    error = Incomplete(
        f"{len(rest)} of {len(places)} items could not be read: {_THROTTLED}",
        rest=tuple(key_at(place_in(table, key)) for key in rest),
        table=table.name,
        operation="get_many",
        hint="The remaining keys are in the error's `rest`: read them again later.",
    )
    port.tell(error)
    raise error


async def read_batches(
    port: Port,
    table: str,
    keys: Sequence[Key],
    reader: ItemReader[T],
    consistent: bool,
    pattern_at: Callable[[Item], Captured | None] | None = None,
) -> tuple[list[T], Sequence[Key]]:
    """The items of different keys, in no order, and the keys that were left unprocessed after several tries.
    `pattern_at` is the pattern of a key, for events."""
    rest, read = keys, list[T]()
    for tried in range(_TRIES):
        await _wait(port, table, tried, "get")
        operations = [BatchGetItem(table, part, reader, consistent, pattern_at) for part in _parts(rest, MAX_BATCH_GET)]
        answers = await port.send_all(operations)
        for answer in answers:
            read += answer.items
        rest = [key for answer in answers for key in answer.rest]
        if not rest:
            break
    return read, rest


async def write_many(port: Port, puts: Source, deletes: Source) -> None:
    """Put entities and delete keys, 25 in a request, independently and in no order: overwrites, without conditions.

    `Incomplete` has the entities and keys that the service left unprocessed after several tries. Refused for tables
    that guard against overlapping keys: that needs a condition, and a batch has none. An iterator is read as its
    writes are sent, up to 400 of a table at a time; all else is checked whole before.
    """

    async def send(table: Table, writes: BulkWrites) -> None:
        await ready(port, table)
        await _write_all(port, table, writes)

    await write_in_rounds(port, _writes, puts, deletes, send, _repeated)


async def delete_rows(port: Port, rows: Sequence[Any]) -> None:
    """Delete a layer's own items, which were read, without conditions: also where keys may overlap. 25 in a request.

    Raises `Incomplete` with the keys that the service left unprocessed after several tries.
    """
    writes: dict[Table, BulkWrites] = {}
    for row in rows:
        model = model_for(row)
        key = model.key_of(row)
        request = delete_request(model.key_item(key))
        writes.setdefault(model.table, {})[key.partition, key.low] = key, request
    for table, requests in writes.items():
        await _write_all(port, table, requests)


async def put_items(port: Port, table: Table, items: Iterable[Item]) -> None:
    """Put raw items, each of another key, without conditions, to copy a table. 25 in a request.

    Raises `Incomplete` if the service left some unprocessed after several tries.
    """
    writes: BulkWrites = {place_in(table, item): (item, put_request(item)) for item in items}
    if writes:
        await _write_all(port, table, writes)


def _of_parts(key: KeyOf[Any]) -> InvalidRequest:
    """The error for a key that names a part of an entity."""
    return InvalidRequest(
        f"get_many loads whole entities, and {key.captured.shown} has only(...)", hint="Omit only(...), or use get()."
    )


async def _write_all(port: Port, table: Table, writes: BulkWrites) -> None:
    await write_batches(
        port,
        table.name,
        [request for _, request in writes.values()],
        lambda request: writes[place_in(table, place_of(request))][0],
        lambda item: _pattern_of(writes[place_in(table, item)][0]),
    )


def _pattern_of(given: Any) -> Captured | None:
    """The pattern of an entity or a key; None for an item."""
    if isinstance(given, KeyOf):
        return given.captured
    return model_for(given).key if isinstance(given, Entity) else None


async def write_batches(
    port: Port,
    table: str,
    requests: Sequence[Raw],
    given: Callable[[Raw], Any],
    pattern_at: Callable[[Item], Captured | None] | None = None,
) -> None:
    """Puts and deletes of different items, as requests have them, without conditions. `Incomplete` has what a caller
    gave for those that were left unprocessed after several tries. `pattern_at` is the pattern of an item or a key, for
    events."""
    rest = requests
    for tried in range(_TRIES):
        await _wait(port, table, tried, "write")
        operations = [BatchWriteItem(table, part, pattern_at) for part in _parts(rest, MAX_BATCH_WRITE)]
        try:
            answers = await port.send_all(operations)
        except Unavailable as error:  # concerns one request; the others of this round may be done, and are repeated
            why = _THROTTLED if isinstance(error, Throttled) else error.what
            raise _left_undone(port, table, len(requests), [*map(given, rest)], why) from error
        rest = [request for answer in answers for request in answer]
        if not rest:
            return
    raise _left_undone(port, table, len(requests), [*map(given, rest)], _THROTTLED)


def _left_undone(port: Port, table: str, count: int, rest: Sequence[Any], why: str) -> Incomplete:
    error = Incomplete(
        f"{len(rest)} of {count} writes were left unprocessed: {why}",
        rest=tuple(rest),
        table=table,
        operation="write_many",
        hint="What is left is in the error's `rest`: write it again later.",
    )
    port.tell(error)
    return error


def _writes(puts: Iterable[Any], deletes: Iterable[KeyOf[Any] | Entity]) -> Iterator[BulkWrite[Table]]:
    allowed: Model[Any] | None = None
    for entity in puts:
        model = model_for(entity)
        if model is not allowed:
            _refuse_guarded(model)
            allowed = model
        item = model.item(entity)
        yield model.table, place_in(model.table, item), entity, put_request(item)
    for target in deletes:
        key, _ = target_of(target, None)
        model = key.model
        if model is not allowed:
            _refuse_guarded(model)
            allowed = model
        yield model.table, (key.partition, key.low), target, delete_request(model.key_item(key))


def _repeated(table: Table, given: Any) -> InvalidRequest:
    key, _ = target_of(given, None)
    return InvalidRequest(
        f"two writes of the same {key.model.kind.__name__} in one batch, which has no order",
        key=key,
        operation="write_many",
        hint="Remove one, or send them one after the other.",
    )


def _refuse_guarded(model: Model[Any]) -> None:
    check_verb(model, "write_many")
    why = 'overlap="guard"' if model.table.guards_overlap else next(iter({*model.roles.values()} - {"expires"}), "")
    why = (
        why
        or ("a search" if model.searches else "")
        or placement_of(model).elsewhere
        or ("ambiguous=True" if model.is_ambiguous else "")
    )
    if not why and model.table.definition.foreign and is_own_or_absent(model) is not None:
        why = "a type, a version or a stamp in a foreign table, where another program's item may have its key"
    if why:
        raise InvalidRequest(
            f"a batch has no conditions, and {model.kind.__name__} needs them: it is declared with {why}",
            table=model.table.name,
            operation="write_many",
            hint="Use put() and delete(), at the same units and a request each; or a transaction, at twice the units.",
        )


def _parts(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (values[i : i + size] for i in range(0, len(values), size))


async def _wait(port: Port, table: str, tried: int, verb: str) -> None:
    """Before a repeat: full jitter under a bound that doubles."""
    if tried:
        seconds = port.random() * min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2**tried)
        why = f"the service left a part of a batch {verb} undone, as it does where a partition or an index is throttled"
        await pause(port, seconds, why, table, is_refused=True)
