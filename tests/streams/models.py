"""What the tests of streams are about: notes with a text and a count, tickets that expire, a counted account."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from singletable import ANY, Entity, Key, Table, field

noted = Table("noted", indexes=["gsi1"], stream="new_and_old")
shared = Table("shared", stream="new_and_old", overlap="guard")


class Note(Entity, table=noted, type="note"):
    id: str
    text: str = ""
    count: int = 0
    tags: set[str] = field(default_factory=set[str])

    @noted.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One note."""
        return f"note#{id}", "note"

    @noted.index("gsi1")
    @staticmethod
    def by_text(text: str, id: str = ANY) -> Key:
        """The notes of a text."""
        return f"text#{text}", f"{id}"


class Ticket(Entity, table=noted, type="ticket"):
    id: str
    owner: str = ""
    ends: datetime = field(expires=True)

    @noted.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One ticket."""
        return f"ticket#{id}", "ticket"


class Draft(Entity, table=shared, type="draft"):
    """Has the key of the paper that it may become."""

    id: str

    @shared.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One draft."""
        return f"paper#{id}", "paper"


class Paper(Entity, table=shared, type="paper"):
    id: str

    @shared.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One paper."""
        return f"paper#{id}", "paper"


class Account(Entity, table=noted, type="account"):
    id: str
    email: str = field(unique=True)
    revision: int = field(version=True, default=0)

    @noted.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One account."""
        return f"account#{id}", "account"


class Parcel(Entity, table=noted, type="parcel", version=2):
    id: str
    grams: int

    @noted.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One parcel."""
        return f"parcel#{id}", "parcel"


@Parcel.upcast(1)
def in_grams(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "grams": int(item["kilograms"]) * 1000}


class Seen:
    """Handlers that write down what they are called with."""

    def __init__(self) -> None:
        self.changes: list[Any] = []

    def __call__(self, change: Any) -> None:
        self.changes.append(change)

    def at_once(self, change: Any) -> None:
        self.changes.append(change)

    async def later(self, change: Any) -> None:
        self.changes.append(change)

    @property
    def told(self) -> list[str]:
        """`Inserted note n1`, one for each."""
        return [f"{type(c).__name__} {self._named(c)}" for c in self.changes]

    @staticmethod
    def _named(change: Any) -> str:
        entity = getattr(change, "new", None) or change.old
        return f"{type(entity).__name__.lower()} {entity.id}"
