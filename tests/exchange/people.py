"""People, with personal values of every type in attributes, keys, index keys, unique values, references and copies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

from singletable import ANY, Entity, Key, Table, copy_of, field

people = Table("people", indexes=["gsi1"])
NOW = datetime(2026, 11, 1, 9, 30, tzinfo=timezone.utc)


class Diet(Enum):
    ALL = "all"
    VEGAN = "vegan"


@dataclass(frozen=True)
class Home:
    street: str
    flat: int | None = None


class Person(Entity, table=people, type="person"):
    email: str = field(personal=True)
    name: str = field(personal=True)
    phone: str | None = field(default=None, unique=True, personal=True)
    number: int = field(default=0, personal=True)
    salary: Decimal = field(default=Decimal(0), personal=True)
    weight: float = field(default=0.0, personal=True)
    born: date | None = field(default=None, personal=True)
    seen: datetime | None = field(default=None, personal=True)
    id: UUID | None = field(default=None, personal=True)
    picture: bytes = field(default=b"", personal=True)
    diet: Diet = field(default=Diet.ALL, personal=True)
    title: Literal["Dr", "Prof", ""] = field(default="", personal=True)
    names: set[str] = field(default_factory=set[str], personal=True)
    homes: list[Home] = field(default_factory=list[Home], personal=True)
    marks: dict[str, int] = field(default_factory=dict[str, int], personal=True)
    free: Any = field(default=None, personal=True)
    town: str = ""
    revision: int = field(version=True, default=0)

    @people.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One person."""
        return f"person#{email}", "person"

    @people.index("gsi1")
    @staticmethod
    def of_town(town: str, name: str = ANY) -> Key:
        """The people of a town, by name."""
        return f"town#{town}", f"{name}"


class Order(Entity, table=people, type="order"):
    """In a partition of its own: only the reference leads to its person."""

    number: int
    buyer: str = field(belongs_to=Person.email)
    seen_by: list[str] = field(default_factory=list[str], mentions=Person.email)

    @people.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One order."""
        return f"order#{number}", "order"

    @people.index("gsi1")
    @staticmethod
    def of_buyer(buyer: str, number: int = ANY) -> Key:
        """The orders of a person."""
        return f"orders#{buyer}", f"{number}"


class Letter(Entity, table=people, type="letter"):
    """It repeats the name."""

    number: int
    email: str = field(belongs_to=Person.email)
    name: str = copy_of(Person.name, default="")
    ends: datetime | None = field(default=None, expires=True)

    @people.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One letter."""
        return f"letter#{number}", "letter"


def person(number: int) -> Person:
    return Person(
        email=f"somebody{number}@example.org",
        name=f"Surname{number} Zoë",
        phone=f"+44 20 7946 {number:04}",
        number=number * 7,
        salary=Decimal(number) / 4 + 1000,
        weight=number + 0.5,
        born=date(1980, 1, 1) + timedelta(days=number),
        seen=NOW + timedelta(seconds=number),
        id=UUID(int=(4 << 76) | (2 << 62) | number),
        picture=bytes([number % 256]) * 20,
        diet=list(Diet)[number % 2],
        title="Dr",
        names={f"Nickname{number}", "Surname"},
        homes=[Home(f"Longstreet {number}", number)],
        marks={f"Schoolmate{number}": number},
        free={"note": f"Confidential{number}"},
        town=f"town{number % 3}",
    )


def order(number: int, buyers: int) -> Order:
    buyer, other = (f"somebody{(number * step) % buyers}@example.org" for step in (1, 3))
    return Order(number=number, buyer=buyer, seen_by=[other])


def letter(number: int, buyers: int) -> Letter:
    who = person(number % buyers)
    return Letter(number=number, email=who.email, name=who.name, ends=NOW + timedelta(days=36500))


def fill(db: Any, count: int = 20, orders: int = 60) -> None:
    """People, and what they bought."""
    db.create_table(people)
    for number in range(count):
        db.create(person(number))
    db.write_many(puts=[order(n, count) for n in range(orders)])
    db.write_many(puts=[letter(n, count) for n in range(count // 2)])
