"""A shop: what belongs to a customer, what mentions one, and what a copy repeats."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from singletable import ANY, Collection, Entity, Key, Table, collect, copy_of, field

shop = Table("shop", indexes=["gsi1"])
elsewhere = Table("elsewhere")
NOW = datetime(2026, 11, 1, 9, 30, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Visit:
    """Who came last."""

    email: str
    at: datetime


class Customer(Entity, table=shop, type="customer"):
    email: str
    id: str
    name: str = field(default="", personal=True)
    phone: str | None = field(default=None, unique=True, personal=True)
    revision: int = field(version=True, default=0)

    @shop.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One customer."""
        return f"customer#{email}", "customer"


class Address(Entity, table=shop, type="address"):
    """In the partition of a customer."""

    email: str
    label: str
    street: str

    @shop.key
    @staticmethod
    def of_customer(email: str, label: str = ANY) -> Key:
        """The addresses of a customer."""
        return f"customer#{email}", f"address#{label}"


class Order(Entity, table=shop, type="order"):
    """Found by an index."""

    number: int
    customer: str = field(belongs_to=Customer.id)
    placed_at: datetime = NOW

    @shop.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One order."""
        return f"order#{number}", "order"

    @shop.index("gsi1")
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        """The orders of a customer."""
        return f"orders#{customer}", f"{number}"


class Line(Entity, table=shop, type="line"):
    """Of an order: it belongs to what belongs to a customer."""

    number: int = field(belongs_to=Order.number)
    line: int
    text: str = ""

    @shop.key
    @staticmethod
    def of_order(number: int, line: int = ANY) -> Key:
        """The lines of an order."""
        return f"lines#{number}", f"{line:03}"


class Review(Entity, table=shop, type="review"):
    """Found by nothing but a scan. It stays without its helper, and goes with its author."""

    product: str
    id: str
    author: str = field(belongs_to=Customer.email)
    helped: set[str] = field(default_factory=set[str], mentions=Customer.email)
    checked_by: str | None = field(default=None, mentions=Customer.email)

    @shop.key
    @staticmethod
    def of_product(product: str, id: str = ANY) -> Key:
        """The reviews of a product."""
        return f"product#{product}", f"review#{id}"


class Product(Entity, table=shop, type="product"):
    product: str
    seen: Visit | None = field(default=None, mentions=Customer.email)
    buyers: list[str] = field(default_factory=list[str], mentions=Customer.id)
    first: str = field(default="", mentions=Customer.email)

    @shop.key
    @staticmethod
    def by_name(product: str) -> Key:
        """One product."""
        return f"product#{product}", "product"


class Parcel(Entity, table=shop, type="parcel"):
    """It repeats the name, and is nobody's."""

    id: int
    email: str
    name: str = copy_of(Customer.name, default="")

    @shop.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One parcel."""
        return f"parcel#{id}", "parcel"


class CustomerDetails(Collection):
    """A customer's partition."""

    customer: Customer | None
    addresses: list[Address]

    by_email = collect(Customer.by_email)


class Stranger(Entity, table=elsewhere, type="stranger"):
    id: str

    @elsewhere.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"stranger#{id}", "stranger"


def whole(id: str, other: str, first: int = 1) -> list[Entity]:
    """All that belongs to a customer."""
    email = f"{id}@example.org"
    return [
        *(Address(email=email, label=label, street=f"Street of {id}") for label in ("home", "work")),
        *(Order(number=n, customer=id) for n in range(first, first + 5)),
        *(Line(number=n, line=line, text=id) for n in range(first, first + 5) for line in range(3)),
        Review(product="tea", id=f"r-{id}", author=email, helped={f"{other}@example.org", email}),
        Review(product="jam", id=f"r-{id}", author=email, checked_by=f"{other}@example.org"),
    ]


def customer(id: str) -> Customer:
    return Customer(email=f"{id}@example.org", id=id, name=f"Name of {id}", phone=f"+47 {id}")


def common(one: str, other: str) -> list[Entity]:
    """What is nobody's."""
    return [
        Product(product="tea", seen=Visit(f"{one}@example.org", NOW), buyers=[one, other, one]),
        Product(product="jam", seen=Visit(f"{other}@example.org", NOW), first=f"{one}@example.org"),
        Parcel(id=1, email=f"{one}@example.org", name=f"Name of {one}"),
        Parcel(id=2, email=f"{other}@example.org", name=f"Name of {other}"),
    ]
