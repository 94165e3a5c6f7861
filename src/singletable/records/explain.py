"""Explain: the requests of an access pattern, without sending them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec

from singletable.expressions import Update
from singletable.flow import Request
from singletable.operations import MAX_BATCH_GET, BatchGetItem
from singletable.records.item_writes import UpdateWrite
from singletable.records.placement import placement_of
from singletable.records.query_request import MOST_HYDRATED, check_whole, prepare_query
from singletable.records.read import get_operation
from singletable.records.write import UNREAD, Moment
from singletable.schema import KeyOf, Query, Whole

if TYPE_CHECKING:
    from singletable.schema import SearchQuery

_PLACEHOLDER = re.compile(r"#\w+")
_WRITE_COST = "1 write unit for each KB of the item, and of its entry in each index that changes"
_MOST_OF_PARTITION = "its partition, with the entries in local indexes, has 10 GB at most"
Explainable = Query[Any] | Whole[Any] | Iterable[KeyOf[Any]]


@dataclass(frozen=True)
class Explained:
    """One request as it would be sent. `cost` is its capacity, in units, by the size of the answer."""

    operation: str
    table: str
    index: str | None
    body: dict[str, Any]
    cost: str

    def __repr__(self) -> str:
        """Without the body, which has the values of keys."""
        return f"<Explained {self}>"

    def __str__(self) -> str:
        return f"{self.operation} {self.place}: {self.cost}"

    @property
    def place(self) -> str:
        """The table, or the table and its index."""
        return f"{self.table}/{self.index}" if self.index else self.table

    @property
    def conditions(self) -> str:
        """The conditions of a query, with the names of attributes and without values."""
        names: dict[str, str] = self.body.get("ExpressionAttributeNames", {})
        given = [self.body[name] for name in ("KeyConditionExpression", "FilterExpression") if name in self.body]
        return _PLACEHOLDER.sub(lambda found: names.get(found[0], found[0]), "; filter: ".join(given))

    def _repr_html_(self) -> str:
        return _table([self])


class Explanation(list[Explained]):
    """The requests of a read, in their order; a notebook shows them as a table, without the values of keys."""

    def _repr_html_(self) -> str:
        return _table(self)


def _table(requests: Sequence[Explained]) -> str:
    from singletable.html_table import html_table  # noqa: PLC0415 for notebooks only

    columns = ("operation", "reads", "where", "cost")
    return html_table("Explained", columns, [(e.operation, e.place, e.conditions, e.cost) for e in requests])


def explain(read: Explainable, *updates: Update, now: float) -> Explanation:
    """The requests of `get`, `get_many`, `page`, `iter` or `all`; a query's further pages look like its first. With
    updates, those of an update by this key. `now` is in conditions of items that expire."""
    return Explanation(_update(read, updates, now) if updates else _requests(read, now))


def _update(key: Any, updates: tuple[Update, ...], now: float) -> list[Explained]:
    check_whole(key)
    write = UpdateWrite(key, updates)
    if (check := placement_of(key.model).check_in_transaction) is not None:
        check(write)
    needed = write.needed_names
    has_local = bool(key.model.table.definition.local_indexes)
    cost = f"{_WRITE_COST}; {_MOST_OF_PARTITION}" if has_local else _WRITE_COST
    part = write.main(UNREAD, Moment(now, True))
    if part is not None:
        action: Any = part.action
        return [_explained(action.request(), None, cost)]
    first = f"sent first, for {', '.join(sorted(needed))}: {_read_cost(True, 'the item')}"
    then = f"{cost}; on condition that they are unchanged since"
    operation = "TransactWriteItems" if write.touches_claims else "UpdateItem"
    return [
        _explained(get_operation(key, consistent=True).request(), None, first),
        Explained(operation, key.model.table.name, None, {}, then if operation == "UpdateItem" else f"twice: {then}"),
    ]


def _requests(read: Explainable, now: float) -> list[Explained]:
    read = read.query if isinstance(read, Whole) else read
    if isinstance(read, Query):
        if isinstance(read, KeyOf) and read.is_one_key and len(read.kinds) == 1 and read.filter is None:
            item = "the whole item, whatever only() names" if read.attributes else "the item"
            first = _explained(get_operation(read).request(), None, _read_cost(read.strong, item))
            find = placement_of(read.model).explain_find
            if find is None:
                return [first]
            request, cost = find(read)
            return [first, _explained(request, None, cost)]
        side_by_side = f"; 1 of {len(read.parts)} shards, side by side" if read.shards else ""
        requests = [_query(part, now, side_by_side) for part in _parts(read)]
        return [*requests, _hydration(read)] if read.answers in ("items by key", "items by word") else requests
    return _gets(list(read))


def _parts(query: Query[Any]) -> tuple[Query[Any], ...]:
    if query.answers != "items by word":
        return query.parts
    from singletable.schema import entries  # noqa: PLC0415 few classes have a search

    return (entries(cast("SearchQuery[Any]", query)),)


def _query(query: Query[Any], now: float, more: str = "") -> Explained:
    request = prepare_query(query, now).operation(None, None).request()
    whole = ", each whole, whatever only() names" if query.attributes else ""
    read = "entries" if query.index is not None and query.answers == "keys" else "items"
    cost = _read_cost(query.strong, f"the {read} of each page of 1 MB, together{whole}")
    return _explained(request, query.index, cost + more)


def _hydration(query: Query[Any]) -> Explained:
    """The requests for the items of a hydrated query, whose keys are not known before."""
    of = f"each item; {MAX_BATCH_GET} items a request, and {MOST_HYDRATED:,} a page and a round trip"
    return Explained("BatchGetItem", query.model.table.name, None, {}, _read_cost(query.strong, of))


def _gets(keys: list[KeyOf[Any]]) -> list[Explained]:
    for key in keys:
        check_whole(key)
    unique = list({(k.partition, k.low): k for k in keys}.values())
    requests: list[Explained] = []
    for start in range(0, len(unique), MAX_BATCH_GET):
        part = unique[start : start + MAX_BATCH_GET]
        model = part[0].model
        items = [k.model.key_item(k) for k in part]
        request = BatchGetItem(model.table.name, items, model).request()
        requests.append(_explained(request, None, _read_cost(False, "each item")))
    return requests


def _explained(request: Request, index: str | None, cost: str) -> Explained:
    body = msgspec.json.decode(request.body, type=dict[str, Any])
    return Explained(request.operation, request.table, index, body, cost)


def _read_cost(consistent: bool, of: str) -> str:
    return f"{'1' if consistent else '0.5'} read unit for each 4 KB of {of}"
