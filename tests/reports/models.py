"""A shop with a stream, an index that holds keys only, and a name that is personal."""

from __future__ import annotations

from singletable import ANY, Entity, Key, Table, field
from singletable.tables import Index

shop = Table("reported", indexes={"by_city": Index("gsi1pk", "gsi1sk", "keys")}, stream="new_and_old")


class Customer(Entity, table=shop, type="customer"):
    email: str = field(personal=True)
    city: str | None = None
    note: str = ""
    phone: str | None = field(default=None, unique=True, personal=True)

    @shop.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One customer."""
        return f"customer#{email}", "customer"

    @shop.index("by_city")
    @staticmethod
    def of_city(city: str, email: str = ANY) -> Key:
        """The customers of a city."""
        return f"city#{city}", f"{email}"


class Order(Entity, table=shop, type="order"):
    email: str
    number: int
    note: str = ""

    @shop.key
    @staticmethod
    def of_customer(email: str, number: int = ANY) -> Key:
        """A customer's orders."""
        return f"customer#{email}", f"order#{number}"
