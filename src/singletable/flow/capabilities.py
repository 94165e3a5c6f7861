"""Capabilities that not every engine has, and the refusal of calls that need a missing one.

DynamoDB and the embedded engine have every capability. An engine at an address may lack some: `db.require(...)` finds
out, and `Traits.lacks` keeps the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from singletable.errors import NotSupported

Capability = Literal[
    "transactions", "streams", "expiry", "statements", "refused items", "isolated writes", "whole indexes"
]
"""
* `transactions`: TransactWriteItems. Documents, edges, tasks, unique values and `exactly_once` need them.
* `streams`: DynamoDB Streams. Workers of changes and tails need them.
* `expiry`: a table's TTL attribute. Reads leave expired items out anyway.
* `statements`: PartiQL. `Raw.execute` and its like need it, nothing else.
* `refused items`: the stored item comes with a condition's refusal. Without it a refusal takes one read more.
* `isolated writes`: two conditional writes of one item never both see the item as it was before. Each write needs it.
* `whole indexes`: each index of a table holds what is declared. A read of an incomplete index misses items.
"""
CAPABILITIES: Final[tuple[Capability, ...]] = get_args(Capability)

OPERATIONS: Final[Mapping[str, Capability]] = {
    "TransactWriteItems": "transactions",
    "TransactGetItems": "transactions",
    "ListStreams": "streams",
    "DescribeStream": "streams",
    "GetShardIterator": "streams",
    "GetRecords": "streams",
    "UpdateTimeToLive": "expiry",
    "DescribeTimeToLive": "expiry",
    "ExecuteStatement": "statements",
    "BatchExecuteStatement": "statements",
    "ExecuteTransaction": "statements",
}
"""The operations that exist only with a capability."""

_HINTS: Final[Mapping[Capability, str]] = {
    "transactions": "Use DynamoDB or the embedded engine. Records without unique values work without transactions.",
    "streams": "Use DynamoDB or the embedded engine, or read the table instead of its changes.",
    "expiry": "Declare the table without an expiry, or delete expired items with db.sweep_table(table).",
    "statements": "Use the verbs of Raw, which every engine has.",
    "refused items": "Everything works without them, with one read more for each refusal.",
    "whole indexes": "Rebuild the index: `singletable apply MODULE`.",
    "isolated writes": "Give the table the tag system:write_isolation=always_use_lwt, or start ScyllaDB with "
    "--alternator-write-isolation=always_use_lwt.",
}


def lacking(
    capability: Capability,
    needed_by: str = "",
    *,
    why: str = "",
    operation: str | None = None,
    table: str | None = None,
) -> NotSupported:
    """The error of a capability that is missing."""
    for_whom = f", which {needed_by} needs" if needed_by else ""
    because = f": {why}" if why else ""
    return NotSupported(
        f"the engine has no {capability}{for_whom}{because}",
        hint=_HINTS[capability],
        capability=capability,
        operation=operation,
        table=table,
    )
