"""DynamoDB's limits of size, checked before sending. The largest attributes are named.

The JSON of an item is never shorter than what DynamoDB counts, so a short body needs no counting.
"""

from __future__ import annotations

from collections.abc import Iterable

from singletable.errors import TooLarge
from singletable.operations.answers import Item, encode
from singletable.values import MAX_ITEM_BYTES, MAX_TRANSACTION_BYTES, item_size, largest_attributes, value_size

MAX_BATCH_GET = 100


def check_items(body: bytes, items: Iterable[Item], operation: str, table: str) -> None:
    """Each item of a request is at most 400 KB."""
    if len(body) <= MAX_ITEM_BYTES:
        return
    for item in items:
        size = item_size(item)
        if size > MAX_ITEM_BYTES:
            named = ", ".join(f"{name} ({bytes_} bytes)" for name, bytes_ in largest_attributes(item))
            raise TooLarge(
                f"an item of {size} bytes; DynamoDB allows {MAX_ITEM_BYTES}. Its largest attributes: {named}",
                operation=operation,
                table=table,
                hint="Keep large content outside the item, or split it over several.",
            )


def check_item(item: Item, operation: str, table: str) -> None:
    """One item, for a request that does not hold it as a whole."""
    check_items(encode(item), (item,), operation, table)


def check_update(body: bytes, values: Item, operation: str, table: str) -> None:
    """Each value of an update fits into an item; what they make of the one that is there, only the service knows."""
    if len(body) <= MAX_ITEM_BYTES:
        return
    size = max(map(value_size, values.values()), default=0)
    if size > MAX_ITEM_BYTES:
        raise TooLarge(
            f"an update with a value of {size} bytes; DynamoDB allows items of {MAX_ITEM_BYTES}",
            operation=operation,
            table=table,
            hint="Keep large content outside the item, or split it over several.",
        )


def check_transaction(body: bytes, puts: Iterable[Item], values: Iterable[Item], table: str) -> None:
    """All items of a transaction together are at most 4 MB; of an update, its values count."""
    if len(body) <= MAX_TRANSACTION_BYTES:
        return
    size = sum(map(item_size, puts)) + sum(value_size(value) for some in values for value in some.values())
    if size > MAX_TRANSACTION_BYTES:
        raise TooLarge(
            f"a transaction of {size} bytes; DynamoDB allows {MAX_TRANSACTION_BYTES}",
            operation="TransactWriteItems",
            table=table,
            hint="Split it into independent transactions.",
        )
