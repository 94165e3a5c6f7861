"""Two tables out of one, as two versions of a program declare them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from singletable import ANY, Entity, Key, Table, field

together = Table("together", indexes=["gsi1"], ttl_attribute="ends")
shop = Table("together", indexes=["gsi1"], ttl_attribute="ends")
orders = Table("orders", indexes=["gsi1"], ttl_attribute="ends")


class OldCustomer(Entity, table=together, type="customer"):
    id: str
    name: str = ""

    @together.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"customer#{id}", "customer"


class OldOrder(Entity, table=together, type="order"):
    """Under its customer, with an index that the new program doesn't declare there."""

    customer: str
    number: int
    state: str = "open"
    total: int = 0

    @together.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer}", f"order#{number}"

    @together.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        return f"old-state#{state}", f"{number}"


class OldCard(Entity, table=together, type="card"):
    """With all that the library keeps besides: a count, a unique value, an expiry."""

    id: str
    tenant: str
    code: str | None = field(unique=True, default=None)
    revision: int = field(version=True, default=0)
    ends: datetime | None = field(expires=True, default=None)
    note: str = ""

    @together.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"card#{id}", "card"


class Customer(Entity, table=shop, type="customer"):
    """Stays, in the partition that orders leave."""

    id: str
    name: str = ""

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"customer#{id}", "customer"


def order_of_customer(customer: str, number: int) -> Key:
    """Where orders lay, in the table of all."""
    return f"customer#{customer}", f"order#{number}"


class Order(Entity, table=orders, type="order"):
    """In a table of its own, under the same key."""

    customer: str
    number: int
    state: str = "open"
    total: int = 0

    @orders.key(was=shop.key(order_of_customer))
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        """A customer's orders, by number."""
        return f"customer#{customer}", f"order#{number}"

    @orders.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        """Of a state."""
        return f"state#{state}", f"{number}"


def card_by_id(id: str) -> Key:
    """Where cards lay."""
    return f"card#{id}", "card"


class Card(Entity, table=orders, type="card"):
    """In the new table, under another key."""

    id: str
    tenant: str
    code: str | None = field(unique=True, default=None)
    revision: int = field(version=True, default=0)
    ends: datetime | None = field(expires=True, default=None)
    note: str = ""

    @orders.key(was=shop.key(card_by_id))
    @staticmethod
    def of_tenant(tenant: str, id: str) -> Key:
        """One."""
        return f"tenant#{tenant}", f"card#{id}"


def as_new(entity: Any) -> Any:
    """The entity as the newer program reads it."""
    kinds: dict[Any, Any] = {OldOrder: Order, OldCard: Card, OldCustomer: Customer}
    return kinds[type(entity)](**vars(entity))
