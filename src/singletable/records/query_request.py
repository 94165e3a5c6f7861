"""Turns a query into the parts of a request: key condition, filter, projection."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any, Final

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.expressions import Condition, Expressions, first_name, handles_in, resolve
from singletable.flow import FAN_OUT
from singletable.operations import MAX_BATCH_GET, RAW, AnswerPage, Item, ItemReader, Key, Query, Selection, keys_in
from singletable.records.conditions import both, is_alive, is_among
from singletable.records.placement import ReadParts, placement_of
from singletable.records.readers import InPartReader, KeysReader, reader_of
from singletable.records.unreadable import OnUnreadable
from singletable.schema import (
    KeyOf,
    Model,
    Query as PatternQuery,
    Table,
    check_query,
    missing_in,
    model_of,
    needs_type_filter,
    not_one_item,
    within,
)
from singletable.values import TOP

Models = tuple[Model[Any], ...]
MOST_HYDRATED: Final = FAN_OUT * MAX_BATCH_GET
"""The items that a hydrated query reads at once: one round trip."""


_FILTERED_MARGIN = 4
_LARGEST_LOOK = 1000
_LARGEST_LIMIT = 2**31 - 1
"""The service takes 32 bits. Its own pages are far smaller."""


class PreparedQuery(Struct, frozen=True):
    """A query that is ready to be sent, except for its start position and limit."""

    table: Table
    key_condition: str
    filter: str | None
    projection: str | None
    expressions: Expressions
    reader: ItemReader[Any]
    query: PatternQuery[Any]
    unreadable: OnUnreadable = None
    read_parts: ReadParts | None = None
    """The flow that reads the next items, where more than one request does."""

    @property
    def shown(self) -> str:
        """The name in errors."""
        return f"Query of {self.query.captured.shown}"

    def operation(self, after: Key | None, limit: int | None = None) -> Query[Any]:
        selection = Selection(
            self.query.index,
            self.filter,
            self.projection,
            self.expressions.names,
            self.expressions.values,
            limit,
            after,
            self.query.strong,
        )
        query = self.query
        return Query(self.table.name, self.key_condition, selection, self.reader, not query.descending, query.captured)

    def key_names(self) -> tuple[str, ...]:
        """The attributes of an item's position: those of the table's key and of the index's."""
        definition = self.table.definition
        names = dict.fromkeys((*definition.key, *definition.index_keys(self.query.index)))
        return tuple(filter(None, names))


def partition_query(
    table: Table,
    text: str,
    after: Key | None = None,
    *,
    index: str | None = None,
    limit: int | None = None,
    consistent: bool = True,
) -> Query[Item]:
    """A page of the raw items of a partition. A global index is never read consistently."""
    attribute = table.definition.index_keys(index)[0]
    names: dict[str, str] = {"#0": attribute}
    values: dict[str, Any] = {":0": {table.definition.kinds.get(attribute, "S"): text}}
    selection = Selection(
        index, None, None, names, values, limit, after, consistent and table.definition.may_be_consistent(index)
    )
    return Query(table.name, "#0 = :0", selection, RAW)


def prepare_query(query: PatternQuery[Any], now: float, unreadable: OnUnreadable = None) -> PreparedQuery:
    """Prepare a query as of a time, by which items expire. InvalidRequest for a condition on an unread attribute."""
    check_query(query)
    own, models = query.model, _models(query)
    table = own.table
    for model in models:
        if model.table is not table:
            raise InvalidRequest("a query reads the entities of one table", operation=query.captured.shown)
    if len(models) > 1 or own.key.moved_attributes:
        _check_moving(query, models)
    by_key = query.answers != "items"
    if by_key:
        _check_keys(query, models, table)
    is_in_part = _check_projection(query, models, table)
    _check_filter(query, table)
    expressions = Expressions(query.kinds)
    condition = _key_condition(query, expressions, table)
    filter = _filter(query, models, table, now)
    reader = KeysReader(models) if by_key else reader_of(query.kinds, query.attributes, tells=unreadable is not None)
    if is_in_part:
        reader = InPartReader(reader)
    return PreparedQuery(
        table,
        condition,
        expressions.condition(filter) if filter is not None else None,
        _projection(query, models, expressions, table),
        expressions,
        reader,
        query,
        unreadable,
    )


def _models(query: PatternQuery[Any]) -> Models:
    """The models of what is read. Under the key that a class had in another table, it is that of what lies there."""
    return tuple(query.model if kind is query.captured.owner else model_of(kind) for kind in query.kinds)


def _check_moving(query: PatternQuery[Any], models: Models) -> None:
    """Raise InvalidRequest where items may still lie under another key, and the query would miss them: a partition of
    several classes, and an index keyed by an attribute of the table's key, as a local one is."""
    moving = [model for model in models if placement_of(model).elsewhere]
    if moving and len(models) > 1 and query.index is None:
        raise InvalidRequest(
            f"{moving[0].kind.__name__} can't be read with the rest of a partition while items of it lie elsewhere: "
            f"{placement_of(moving[0]).elsewhere}",
            operation=query.captured.shown,
            hint="Read it by itself until all items have moved.",
        )
    for model in moving if query.index is not None else ():
        moved = model.key.moved_attributes.intersection(model.table.definition.index_keys(query.index))
        if moved:
            raise InvalidRequest(
                f"index {query.index} is keyed by {min(moved)}, which items of {model.kind.__name__} that have not "
                f"moved have otherwise: {placement_of(model).elsewhere}",
                operation=query.captured.shown,
                hint="List by an index of other attributes, or get() the items, until all have moved.",
            )


def _check_keys(query: PatternQuery[Any], models: Models, table: Table) -> None:
    """Raise InvalidRequest where the keys of items don't tell what lies under them."""
    where, shown = table.definition, query.captured.shown
    for model in models:
        if elsewhere := placement_of(model).elsewhere:
            raise InvalidRequest(
                f"the key of {model.kind.__name__} is not what an index says while items lie elsewhere: {elsewhere}",
                operation=shown,
                hint="Read by an index that holds all attributes until all items have moved.",
            )
        if model.is_ambiguous and query.answers == "keys":
            raise InvalidRequest(
                f"{model.kind.__name__} has ambiguous=True: a key has values, and an item's key texts don't tell them",
                operation=shown,
                hint="Read the items, by hydrated() where the index holds less: key_of(item) is the key of each.",
            )
    held = None if query.index is None else where.held_by(query.index)
    if table.guards_overlap and held is not None and where.type_attribute not in held:
        raise InvalidRequest(
            f"index {query.index} does not hold {where.type_attribute}, which alone tells the classes of {table.name}",
            operation=shown,
            hint='Let the index hold it, or give the classes keys that no other has, without overlap="guard".',
        )


def _check_projection(query: PatternQuery[Any], models: Models, table: Table) -> bool:
    """Whether the index holds a part of each item. Raises InvalidRequest if an attribute to read or filter is not in
    it: it would seem to be absent."""
    if query.index is None or table.definition.indexes[query.index].projection == "all":
        return False
    filtered = () if query.filter is None else tuple(map(first_name, handles_in(query.filter)))
    for model in models:
        names = filtered
        if query.answers == "items":
            expires = () if model.expires is None else (model.expires.name,)
            names = (*(query.attributes or model.by_name), *filtered, *expires)
        if names and (missing := missing_in(model, query.index, names)):
            raise InvalidRequest(
                f"index {query.index} projects only some attributes, without {model.kind.__name__}.{missing[0]}",
                operation=query.captured.shown,
                hint="Read what it holds, by only(...) or keys(); or the items, by hydrated(). Or let the index "
                'project "all".',
            )
    return query.answers == "items"


def _check_filter(query: PatternQuery[Any], table: Table) -> None:
    """Raises InvalidRequest for a filter on an attribute of the query's own key, which DynamoDB refuses."""
    keys = table.definition.index_keys(query.index)
    for handle in () if query.filter is None else handles_in(query.filter):
        stored = resolve(handle).stored[0]
        if stored in keys or stored in query.model.stored_key.values_in_key:
            raise InvalidRequest(
                f"{handle} is part of the key of {query.captured.shown}, and can't be filtered",
                attribute=str(handle),
                operation=query.captured.shown,
                hint="Pass it as an argument of the pattern, or filter the result in your program.",
            )


def _key_condition(query: PatternQuery[Any], expressions: Expressions, table: Table) -> str:
    partition, sort_name = table.definition.index_keys(query.index)
    kinds = table.definition.kinds
    tag = kinds.get(sort_name, "S")
    given = expressions.value({kinds.get(partition, "S"): query.partition})
    text = f"{expressions.name(partition)} = {given}"
    low, high = within(query.low, query.high)
    if not sort_name or (not low and high == TOP):
        return text
    sort = expressions.name(sort_name)
    if low == high:
        return f"{text} AND {sort} = {expressions.value({tag: low})}"
    if not low:
        return f"{text} AND {sort} <= {expressions.value({tag: high})}"
    if high == TOP:
        return f"{text} AND {sort} >= {expressions.value({tag: low})}"
    # Never begins_with: an inclusive BETWEEN has the same result, and engines agree on it.
    return f"{text} AND {sort} BETWEEN {expressions.value({tag: low})} AND {expressions.value({tag: high})}"


def _filter(query: PatternQuery[Any], models: Models, table: Table, now: float) -> Condition | None:
    filter = query.filter
    expiring = next((m for m in models if m.expires is not None), None)
    if expiring is not None and (query.answers == "items" or _holds_expiry(query, expiring)):
        filter = both(is_alive(expiring, now), filter)
    if not needs_type_filter(query):
        return filter
    return both(is_among(models), filter)


def _holds_expiry(query: PatternQuery[Any], model: Model[Any]) -> bool:
    """Whether what is read tells if an item has expired. Else its key is answered, as that of one deleted since."""
    assert model.expires is not None
    return query.index is None or not missing_in(model, query.index, (model.expires.name,))


def _projection(query: PatternQuery[Any], models: Models, expressions: Expressions, table: Table) -> str | None:
    if query.answers == "items" and not query.attributes:
        return None
    definition = table.definition
    keys = tuple(filter(None, (*definition.key, *definition.index_keys(query.index))))
    names = projected(models, query.attributes, keys)
    held = None if query.index is None or query.attributes else definition.held_by(query.index)
    return expressions.projection(names if held is None else [name for name in names if name in held])


def projected(models: Iterable[Model[Any]], attributes: tuple[str, ...], keys: tuple[str, ...]) -> list[str]:
    """The stored names to load for some attributes, and always the keys, type, schema version and expiry."""
    names = dict.fromkeys(keys)
    for model in models:
        expires = () if model.expires is None else (model.expires.name,)
        names |= dict.fromkeys(c.stored for c in model.constants)
        names |= dict.fromkeys(model.by_name[name].stored for name in (*attributes, *expires))
    return list(names)


def shard_limit(limit: int, shards: int) -> int:
    """The items to ask each shard for, so that one round trip suffices in 99 of 100 pages: three standard deviations
    more than a shard has of the first `limit` items. 25 for a page of 100 over 8 shards, 6 for one of 10."""
    mean = limit / shards
    return min(limit, int(mean + 3 * sqrt(mean)) + 2)


def look(prepared: PreparedQuery, wanted: int) -> int:
    """The number of items to read for `wanted` results: more with a filter, to save round trips."""
    wanted = min(wanted, _LARGEST_LIMIT)
    return wanted if prepared.filter is None else max(wanted, min(wanted * _FILTERED_MARGIN, _LARGEST_LOOK))


def key_of_item(prepared: PreparedQuery, answer: AnswerPage[Any], number: int) -> Key:
    """The key of the page's last item, after which the next page continues."""
    types = {model_of(kind).type for kind in prepared.query.kinds}
    own: list[Item] = [raw for raw in keys_in(answer.body) if prepared.table.type_of(raw) in types]
    return {name: dict(own[number][name]) for name in prepared.key_names()}


def side_of_range(query: PatternQuery[Any], sort: str) -> int:
    """Where the text of a sort key lies: below a query's range (-1), in it, or above (1)."""
    compared = query.captured.templates[1].comparable
    at = compared(sort)
    if query.low and at < compared(query.low):
        return -1
    return int(query.high != TOP and at > compared(query.high))


def check_whole(key: PatternQuery[Any]) -> None:
    """Raises InvalidRequest for a query that is not the whole primary key of one item."""
    # `is_one_key` in line, as each get comes by here
    if not isinstance(key, KeyOf) or key.low != key.high or key.shards or len(key.kinds) != 1:
        check_query(key)
        why = "a value of its key is missing" if key.index is None else f"index {key.index} may hold several"
        raise not_one_item(key, why)
    if key.filter is not None or key.descending:
        raise InvalidRequest(
            f"{key.captured.shown} names one item, which has no filter and no order",
            hint="Compare after reading, or use where= of a write.",
        )
