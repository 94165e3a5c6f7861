"""The orders and notes as singletable declares them, for both of its shells."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from benchmarks import workload
from singletable import ANY, Entity, Key, Table, attr

table = Table(workload.TABLE, type_attribute=workload.TYPE_ATTRIBUTE)


@dataclass
class Address:
    street: str
    city: str
    floor: int


class Order(Entity, table=table, type="Order"):
    customer: str
    number: int
    placed_at: datetime
    status: str
    total: Decimal
    quantity: int
    paid: bool
    email: str
    note: str
    tags: set[str]
    skus: list[str]
    address: Address

    @table.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        """The orders of a customer, by number."""
        return f"customer#{customer}", f"order#{number:06}"


class Note(Entity, table=table, type="Note"):
    customer: str
    number: int
    written_at: datetime
    author: str
    text: str
    pinned: bool

    @table.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        """The notes on a customer, by number."""
        return f"customer#{customer}", f"note#{number:06}"


UPDATES = (
    attr(Order.status).set(workload.UPDATED["status"]),
    attr(Order.quantity).set(workload.UPDATED["quantity"]),
)


def make(customer: str, number: int) -> Order:
    values = workload.order(customer, number)
    return Order(**{**values, "address": Address(**values["address"])})


def values(found: Any) -> Mapping[str, Any]:
    return dataclasses.asdict(found)
