"""The stored item behind a refused condition, if the refusal came without it.

DynamoDB sends the item with the refusal, if there is one. Some engines and proxies never send it, so a refusal without
an item does not prove that the item is missing: a consistent read does. The read is sent only if the error depends on
it. It comes after the refusal, so it may find what was written in between.
"""

from __future__ import annotations

from typing import Any

from singletable.errors import ConditionFailed, Corrupt, NotFound, SingletableError
from singletable.operations import RAW, GetItem, Item
from singletable.records.conditions import is_there
from singletable.records.write import Write


def stored_read(write: Write) -> GetItem[Item]:
    """A consistent read of a write's stored item."""
    return GetItem(
        write.model.table.name, write.model.key_item(write.key), RAW, consistent=True, pattern=write.key.captured
    )


def is_outdated(write: Write, error: SingletableError, stored: Item | None, now: float) -> bool:
    """Whether the item changed between the refusal and the read, so that it doesn't explain the refusal. The write is
    then sent again.

    AlreadyExists needs no explanation: only an existing item refuses a create.
    """
    if isinstance(error, NotFound):
        return is_there(write.model, stored, now)
    if isinstance(error, Corrupt):  # the item is of a newer schema version than this program's
        return stored is None or write.model.version_of(stored) <= write.model.version
    return type(error) is ConditionFailed and write.where is None


def found(stored: Any) -> Item | None:
    """The item that came with a refusal; None if it is missing or empty."""
    return stored or None
