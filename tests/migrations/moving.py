"""Classes whose key changes, as two versions of a program declare them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from singletable import ANY, Entity, Key, Table, field

old = Table("moving", indexes=["gsi1"], ttl_attribute="ends")
new = Table("moving", indexes=["gsi1"], ttl_attribute="ends")


class OldOrder(Entity, table=old, type="order"):
    """By number, whoever's it is."""

    number: int
    customer: str
    state: str = "open"
    total: int = 0

    @old.key
    @staticmethod
    def by_number(number: int) -> Key:
        return f"order#{number}", "order"

    @old.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        return f"state#{state}", f"{number}"


class OldLine(Entity, table=old, type="line"):
    """Listed, in the order of its numbers."""

    cart: str
    number: int
    text: str = ""

    @old.key
    @staticmethod
    def of_cart(cart: str, number: int = ANY) -> Key:
        return f"cart#{cart}", f"line#{number}"


class OldUser(Entity, table=old, type="user"):
    """With all that the library keeps besides: a count, a unique value, an expiry."""

    id: str
    tenant: str
    email: str | None = field(unique=True, default=None)
    revision: int = field(version=True, default=0)
    ends: datetime | None = field(expires=True, default=None)
    note: str = ""

    @old.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"user#{id}", "user"


def order_by_number(number: int) -> Key:
    """Where orders lay."""
    return f"order#{number}", "order"


class Order(Entity, table=new, type="order"):
    """By its customer."""

    number: int
    customer: str
    state: str = "open"
    total: int = 0

    @new.key(was=order_by_number)
    @staticmethod
    def of_customer(customer: str, number: int) -> Key:
        """One."""
        return f"customer#{customer}", f"order#{number}"

    @new.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        """Of a state."""
        return f"state#{state}", f"{number}"


class Line(Entity, table=new, type="line"):
    """In the same partition, with numbers of six digits."""

    cart: str
    number: int
    text: str = ""

    @staticmethod
    def short_line(cart: str, number: int) -> Key:
        """Where lines lay."""
        return f"cart#{cart}", f"line#{number}"

    @new.key(was=short_line)
    @staticmethod
    def of_cart(cart: str, number: int = ANY) -> Key:
        """A cart's lines, by number."""
        return f"cart#{cart}", f"line#{number:06}"


def user_by_id(id: str) -> Key:
    """Where users lay."""
    return f"user#{id}", "user"


class User(Entity, table=new, type="user"):
    """By tenant."""

    id: str
    tenant: str
    email: str | None = field(unique=True, default=None)
    revision: int = field(version=True, default=0)
    ends: datetime | None = field(expires=True, default=None)
    note: str = ""

    @new.key(was=user_by_id)
    @staticmethod
    def of_tenant(tenant: str, id: str) -> Key:
        """One."""
        return f"tenant#{tenant}", f"user#{id}"


def as_new(entity: Any) -> Any:
    """The entity as the newer program reads it."""
    kinds: dict[Any, Any] = {OldOrder: Order, OldLine: Line, OldUser: User}
    kind = kinds[type(entity)]
    return kind(**vars(entity))
