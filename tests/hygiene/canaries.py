"""Values that may be seen nowhere: one of each type, in keys, attributes, cursors, tokens and credentials."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from singletable import ANY, Entity, Key, Table, field
from singletable.wire import Credentials

MARK = "c4n4ry"
TEXT, ID, OTHER = f"{MARK}-text", f"{MARK}-id", f"{MARK}-other"
NUMBER, AMOUNT = 918_273_645, Decimal("73519.24680")
RATIO = 0.918273
BYTES = MARK.encode() + b"-bytes"
DAY = date(1987, 6, 5)
INSTANT = datetime(1987, 6, 5, 4, 32, 10, tzinfo=timezone.utc)
UNIQUE_ID = UUID("c4c4c4c4-0000-4000-8000-918273645000")
CURSOR_KEY = f"{MARK} is a secret of cursors"
CREDENTIALS = Credentials(f"{MARK.upper()}KEYID", f"{MARK}/secret", f"{MARK}/session")
TOKEN = f"{MARK}-client-token-x"
HIDDEN = (
    MARK,
    MARK.upper(),
    str(NUMBER),
    "918,273,645",
    "73519",
    "918273",
    b64encode(BYTES).decode().rstrip("="),
    urlsafe_b64encode(BYTES).decode().rstrip("="),
    "1987-06-05",
    "datetime.date(1987",
    "datetime.datetime(1987",
    "c4c4c4c4",
)

vault = Table("vault", indexes=["gsi1"])
strict = Table("strict", overlap="guard")


class Colour(Enum):
    RED = f"{MARK}-red"
    BLUE = "blue"


@dataclass
class Inner:
    text: str = TEXT
    number: int = NUMBER


class Secret(Entity, table=vault, type="secret", version=2):
    """Every type of attribute that there is."""

    id: str
    unique: str = field(unique=True, default=TEXT)
    number: int = NUMBER
    amount: Decimal = AMOUNT
    ratio: float = RATIO
    content: bytes = BYTES
    day: date = DAY
    instant: datetime = INSTANT
    uuid: UUID = UNIQUE_ID
    colour: Colour = Colour.RED
    inner: Inner = field(default_factory=Inner)
    tags: list[str] = field(default_factory=lambda: [TEXT])
    names: set[str] = field(default_factory=lambda: {TEXT})
    amounts: dict[str, int] = field(default_factory=lambda: {TEXT: NUMBER})
    phone: str | None = TEXT
    revision: int = field(version=True, default=0)

    @vault.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"secret#{id}", "secret"

    @vault.index("gsi1")
    @staticmethod
    def by_phone(phone: str, number: int = ANY) -> Key:
        """Those of a phone."""
        return f"phone#{phone}", f"{number:012}"


class Entry(Entity, table=vault, type="entry"):
    """Many in a partition."""

    book: str
    name: str
    text: str = TEXT

    @vault.key
    @staticmethod
    def in_book(book: str, name: str = ANY) -> Key:
        """Those of a book."""
        return f"book#{book}", f"entry#{name}"


class First(Entity, table=strict, type="first"):
    id: str

    @strict.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"thing#{id}", "thing"


class Second(Entity, table=strict, type="second"):
    id: str

    @strict.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"thing#{id}", "thing"


def seen_in(text: str) -> Iterator[str]:
    """The hidden values that a text shows."""
    return (hidden for hidden in HIDDEN if hidden in text)


def secret(**values: Any) -> Secret:
    return Secret(**{"id": ID, **values})
