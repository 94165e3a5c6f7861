"""The application that most tests of `records` are about: users, what belongs to them, and five classes a partition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

from singletable import ANY, Collection, Entity, Key, Table, collect, field

EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
app = Table("app", indexes=["gsi1", "gsi2"])


@dataclass
class Address:
    city: str
    zip: str | None = None


class User(Entity, table=app, type="user"):
    email: str
    name: str = ""
    age: int = 0
    phone: str | None = None
    score: Decimal = Decimal(0)
    active: bool = True
    groups: set[str] = field(default_factory=set[str])
    tags: list[str] = field(default_factory=list[str])
    address: Address | None = None

    @app.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One user."""
        return f"user#{email}", "user"

    @app.index("gsi1")
    @staticmethod
    def by_phone(phone: str, age: int = ANY) -> Key:
        """The users of a phone, by age; those without a phone are not in the index."""
        return f"phone#{phone}", f"{age:03}"


class Membership(Entity, table=app, type="membership"):
    email: str
    org_id: str
    created_at: datetime = EPOCH
    role: str = "member"

    @app.key
    @staticmethod
    def of_user(email: str, org_id: str = ANY) -> Key:
        """The memberships of a user."""
        return f"user#{email}", f"member#{org_id}"

    @app.index("gsi1")
    @staticmethod
    def of_org(org_id: str, created_at: datetime = ANY, email: str = ANY) -> Key:
        """The members of an organisation, oldest first."""
        return f"org#{org_id}", f"{created_at}#{email}"


class Note(Entity, table=app, type="note"):
    email: str
    written_at: datetime
    text: str = ""

    @app.key
    @staticmethod
    def of_user(email: str, written_at: datetime = ANY) -> Key:
        """The notes of a user, oldest first."""
        return f"user#{email}", f"note#{written_at}"


class Invoice(Entity, table=app, type="invoice"):
    email: str
    number: int
    total: Decimal = Decimal(0)

    @app.key
    @staticmethod
    def of_user(email: str, number: int = ANY) -> Key:
        """The invoices of a user, by number."""
        return f"user#{email}", f"invoice#{number:06}"

    @app.index("gsi2")
    @staticmethod
    def by_total(email: str, total: Decimal = ANY, number: int = ANY) -> Key:
        """The invoices of a user, smallest first."""
        return f"totals#{email}", f"{total}#{number}"


class Device(Entity, table=app, type="device"):
    email: str
    device_id: UUID
    pushes: int = 0

    @app.key
    @staticmethod
    def of_user(email: str, device_id: UUID = ANY) -> Key:
        """The devices of a user."""
        return f"user#{email}", f"device#{device_id}"


class Photo(Entity, table=app, type="photo"):
    email: str
    content: bytes

    @app.key
    @staticmethod
    def of_user(email: str) -> Key:
        """The photo of a user."""
        return f"user#{email}", "photo"


class Everything(Collection):
    """A user and all that belongs to them."""

    user: User
    memberships: list[Membership]
    notes: list[Note]
    invoices: list[Invoice]
    devices: list[Device]
    photo: Photo | None

    by_email = collect(User.by_email)


def membership(number: int, email: str = "ada@example.org") -> Membership:
    """The number-th of many memberships, in key order."""
    return Membership(email=email, org_id=f"o{number:04}", created_at=EPOCH + timedelta(hours=number))
