"""The stored item behind a refused condition, where the refusal came without it.

DynamoDB sends the item with the refusal, and nothing where there is none. Some engines and proxies send nothing in
either case, so an item that is missing from a refusal is no proof that there is none: a consistent read is. It is sent
only where the verdict hangs on it. As it comes later than the refusal, it may find what was written in between.
"""

from __future__ import annotations

from typing import Any

from singletable.errors import ConditionFailed, Corrupt, NotFound, SingletableError
from singletable.operations import GetItem, Item
from singletable.operations.answers import RAW
from singletable.records.conditions import is_there
from singletable.records.write import Write


def stored_read(write: Write) -> GetItem[Item]:
    """The read of a write's item, as it is stored, consistently."""
    return GetItem(write.model.table.name, write.model.key_item(write.key), RAW, consistent=True)


def is_outdated(write: Write, error: SingletableError, stored: Item | None, now: float) -> bool:
    """Whether the item that was read does not explain the refusal, as it came or went since: then it is sent again.

    AlreadyExists needs no explanation: only an item that was there refuses a create.
    """
    if isinstance(error, NotFound):
        return is_there(write.model, stored, now)
    if isinstance(error, Corrupt):  # said to be newer than this program's schema
        return stored is None or write.model.version_of(stored) <= write.model.version
    return type(error) is ConditionFailed and write.where is None


def found(stored: Any) -> Item | None:
    """The item of a refusal; None where it holds none, whether left out or empty."""
    return stored or None
