"""What every library is asked to do, and with which items. A library's module says how it says so.

An item has 16 attributes: the two keys, a type, a schema version, and the twelve values below. Every value is made
from the item's number alone, so that a worker can tell whether what it read is what was stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Final

TABLE: Final = "orders"
TYPE_ATTRIBUTE: Final = "__entity__"
"""Where an item's type stands: pydynantic knows no other name, and the rest take any."""
OPERATIONS: Final = (
    "get",
    "put",
    "update",
    "query100",
    "query1000",
    "batch_get100",
    "transact4",
    "mixed100",
    "gets32",
)
OVER_TLS: Final = ("get", "query100", "gets32")
"""Those that are measured over TLS too."""
OVER_NETWORK: Final = ("get", "put", "query100")
NETWORK_MILLISECONDS: Final = 3
"""From a request to its answer, as within one region of AWS."""
WITH_ENGINE: Final = ("get", "put", "update", "query100", "batch_get100", "transact4")
"""Those that are measured against the engine too."""

READ_CUSTOMER: Final = "customer-0001"
"""Has 1,000 orders; `get` and `batch_get100` read of these."""
FEW_CUSTOMER: Final = "customer-0002"
"""Has 100."""
WRITE_CUSTOMER: Final = "customer-0003"
"""Whose orders `put`, `update` and `transact4` write."""
MIXED_CUSTOMER: Final = "customer-0004"
"""Has 60 orders and 40 notes in one partition."""
STREAM_CUSTOMER: Final = "customer-0005"
"""Has 3,000: more than a page holds."""
CUSTOMERS: Final = (READ_CUSTOMER, FEW_CUSTOMER, WRITE_CUSTOMER, MIXED_CUSTOMER, STREAM_CUSTOMER)

GET_NUMBER: Final = 7
BATCH_NUMBERS: Final = range(0, 1000, 10)
AT_ONCE: Final = 32
PUT_NUMBER: Final = 1
UPDATE_NUMBER: Final = 2
TRANSACT_NUMBERS: Final = range(3, 7)
UPDATED: Final[dict[str, Any]] = {"status": "returned", "quantity": 3}

_BEGAN: Final = datetime(2026, 1, 5, 8, 30, 15, 123456, tzinfo=timezone.utc)


def order(customer: str, number: int) -> dict[str, Any]:
    """The twelve values of an order. `address` is a map of three."""
    return {
        "customer": customer,
        "number": number,
        "placed_at": _BEGAN + timedelta(minutes=number),
        "status": "shipped",
        "total": Decimal(1999 + number) / 100,
        "quantity": 1 + number % 9,
        "paid": number % 2 == 0,
        "email": f"{customer}@example.org",
        "note": "Leave it with the neighbours if nobody is at home; the bell is the second from above.",
        "tags": {"gift", "express", f"week-{number % 52:02}"},
        "skus": [f"sku-{number:05}", "sku-shipping"],
        "address": {"street": "12 Analytical Row", "city": "London", "floor": number % 5},
    }


def note(customer: str, number: int) -> dict[str, Any]:
    """The six values of a note."""
    return {
        "customer": customer,
        "number": number,
        "written_at": _BEGAN + timedelta(hours=number),
        "author": "ada@example.org",
        "text": "Called about the second parcel; it is at the depot.",
        "pinned": number % 7 == 0,
    }


ORDER_NAMES: Final = tuple(order("", 0))
NOTE_NAMES: Final = tuple(note("", 0))


def names_in(stored: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a stored item's values: an order's or a note's."""
    return NOTE_NAMES if "author" in stored else ORDER_NAMES


def partition(customer: str) -> str:
    return f"customer#{customer}"


def sort(number: int) -> str:
    return f"order#{number:06}"


def note_sort(number: int) -> str:
    return f"note#{number:06}"


def stored_at(customer: str) -> list[dict[str, Any]]:
    """The orders that are in the table before anything is measured."""
    counts = {READ_CUSTOMER: 1000, FEW_CUSTOMER: 100, WRITE_CUSTOMER: 10, MIXED_CUSTOMER: 60, STREAM_CUSTOMER: 3000}
    return [order(customer, number) for number in range(counts[customer])]


def notes() -> list[dict[str, Any]]:
    """Those of `MIXED_CUSTOMER`."""
    return [note(MIXED_CUSTOMER, number) for number in range(40)]


def many(count: int) -> list[tuple[str, int]]:
    """Customers and numbers of orders that are not in the table, a thousand of each customer."""
    return [(f"customer-1{place // 1000:03}", place % 1000) for place in range(count)]


def expected(operation: str) -> list[dict[str, Any]] | None:
    """What an operation must give, in any order; None where it gives nothing."""
    if operation == "gets32":
        return [order(READ_CUSTOMER, GET_NUMBER)] * AT_ONCE
    if operation == "mixed100":
        return stored_at(MIXED_CUSTOMER) + notes()
    if operation == "get":
        return [order(READ_CUSTOMER, GET_NUMBER)]
    if operation == "update":
        return [order(WRITE_CUSTOMER, UPDATE_NUMBER) | UPDATED]
    if operation in ("query100", "query1000"):
        return stored_at(FEW_CUSTOMER if operation == "query100" else READ_CUSTOMER)
    if operation == "batch_get100":
        return [order(READ_CUSTOMER, number) for number in BATCH_NUMBERS]
    return None
