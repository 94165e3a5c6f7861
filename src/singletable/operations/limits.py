"""DynamoDB's limits of size, checked before sending. The largest attributes are named.

The JSON of an item is never shorter than what DynamoDB counts, so a short body needs no counting.
"""

from __future__ import annotations

from collections.abc import Iterable

from singletable.errors import TooLarge
from singletable.operations.answers import Item, encode
from singletable.values import MAX_ITEM_BYTES, MAX_TRANSACTION_BYTES, item_size, largest_attributes


def check_items(body: bytes, items: Iterable[Item], operation: str, table: str) -> None:
    """Each item of a request is at most 400 KB."""
    if len(body) <= MAX_ITEM_BYTES:
        return
    for item in items:
        size = item_size(item)
        if size > MAX_ITEM_BYTES:
            named = ", ".join(f"{name} ({bytes_} bytes)" for name, bytes_ in largest_attributes(item))
            raise TooLarge(
                f"an item of {size} bytes; DynamoDB takes {MAX_ITEM_BYTES}. Its largest attributes: {named}",
                operation=operation,
                table=table,
                hint="Keep large content outside the item, or split it over several.",
            )


def check_item(item: Item, operation: str, table: str) -> None:
    """One item, for a request that does not hold it as a whole."""
    check_items(encode(item), (item,), operation, table)


def check_transaction(body: bytes, items: Iterable[Item], table: str) -> None:
    """All items of a transaction together are at most 4 MB."""
    if len(body) <= MAX_TRANSACTION_BYTES:
        return
    size = sum(map(item_size, items))
    if size > MAX_TRANSACTION_BYTES:
        raise TooLarge(
            f"a transaction of {size} bytes; DynamoDB takes {MAX_TRANSACTION_BYTES}",
            operation="TransactWriteItems",
            table=table,
            hint="Split it into transactions that can stand alone.",
        )
