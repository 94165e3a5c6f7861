"""Merges two writes of one item in a transaction, or refuses them: DynamoDB accepts one action for each item."""

from __future__ import annotations

from singletable.errors import InvalidRequest
from singletable.records.write import Write


def merged(one: Write, other: Write) -> Write:
    """Two writes of one item as one. Raises InvalidRequest if no single action can express both."""
    joined = one.joined_with(other) or other.joined_with(one) or other.joined_after(one)
    if joined is not None:
        return joined
    raise InvalidRequest(
        f"{one.verb} and {other.verb} of the same item in one transaction",
        key=other.key,
        operation="transaction",
        hint="Use one operation for the item.",
    )
