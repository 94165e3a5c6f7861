"""Orders as plain dicts, for the libraries that have no classes. It imports none of them: each one's start is timed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from benchmarks import workload

Item = dict[str, Any]


def key_of(customer: str, number: int) -> Item:
    return {"pk": workload.partition(customer), "sk": workload.sort(number)}


def item_of(customer: str, number: int) -> Item:
    """An item as it is given to them: they have no form for a datetime."""
    order = workload.order(customer, number)
    own = {workload.TYPE_ATTRIBUTE: "Order", "_v": 1, "placed_at": order["placed_at"].isoformat()}
    return key_of(customer, number) | order | own


def values(item: Any) -> Mapping[str, Any]:
    found = {name: item[name] for name in workload.names_in(item)}
    at = "written_at" if "written_at" in found else "placed_at"
    return found | {at: datetime.fromisoformat(found[at])}
