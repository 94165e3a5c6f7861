"""A shop: two entities in one partition, an index that both use, and a collection."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import Enum

from singletable import ANY, Collection, Entity, Key, Table, collect, field

app = Table("shop", indexes=["gsi1"])


class State(Enum):
    OPEN = "open"
    PAID = "paid"


class Customer(Entity, table=app, type="customer"):
    email: str
    name: str
    city: str | None = None
    tags: set[str] = field(default_factory=set[str])

    @app.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One customer."""
        return f"customer#{email}", "customer"

    @app.index("gsi1")
    @staticmethod
    def by_city(city: str, name: str = ANY) -> Key:
        """The customers of a city, by name."""
        return f"city#{city}", f"{name}"


class Order(Entity, table=app, type="order"):
    email: str
    number: int
    placed_at: datetime
    state: State
    total: Decimal

    @app.key
    @staticmethod
    def of_customer(email: str, number: int = ANY) -> Key:
        """A customer's orders, by number."""
        return f"customer#{email}", f"order#{number}"

    @app.index("gsi1")
    @staticmethod
    def by_state(state: State, placed_at: datetime = ANY) -> Key:
        """The orders of a state, oldest first."""
        return f"state#{state}", f"{placed_at}"


class Account(Collection):
    customer: Customer
    orders: list[Order]

    by_email = collect(Customer.by_email)
