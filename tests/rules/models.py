"""The classes of the write rules: one for each thing that a rule is about."""

from __future__ import annotations

from datetime import datetime

from singletable import ANY, Entity, Key, Table, field

shop = Table("shop", indexes=["gsi1"])
guarded = Table("guarded", overlap="guard")


class Plain(Entity, table=shop, type="plain"):
    """Nothing but attributes, one of them in an index that an item may be absent from."""

    id: str
    text: str = ""
    count: int = 0
    tags: list[str] = field(default_factory=list[str])
    groups: set[str] = field(default_factory=set[str])
    phone: str | None = None

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"plain#{id}", "plain"

    @shop.index("gsi1")
    @staticmethod
    def by_phone(phone: str, text: str = ANY) -> Key:
        """Those of a phone."""
        return f"phone#{phone}", f"{text}"


class Ranked(Entity, table=shop, type="ranked"):
    """Always in its index, by parts that may change."""

    id: str
    group: str = "a"
    rank: int = 0
    text: str = ""

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"ranked#{id}", "ranked"

    @shop.index("gsi1")
    @staticmethod
    def by_group(group: str, rank: int = ANY, id: str = ANY) -> Key:
        """Those of a group, by rank."""
        return f"group#{group}", f"{rank:06}#{id}"


class Counted(Entity, table=shop, type="counted"):
    """Counts its writes."""

    id: str
    text: str = ""
    count: int = 0
    revision: int = field(version=True, default=0)

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"counted#{id}", "counted"


class Named(Entity, table=shop, type="named"):
    """Has two unique values, one of which may be missing."""

    id: str
    email: str = field(unique=True)
    nick: str | None = field(unique=True, default=None)
    text: str = ""
    count: int = 0

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"named#{id}", "named"


class Sought(Entity, table=shop, type="sought"):
    """Is found by the words of its text."""

    id: str
    group: str = "a"
    text: str = ""
    count: int = 0

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"sought#{id}", "sought"

    @shop.search
    @staticmethod
    def by_word(group: str, text: str = ANY) -> Key:
        """Those of a group with a word."""
        return f"{group}", f"{text:words(3)}"


class Passing(Entity, table=shop, type="passing"):
    """Expires."""

    id: str
    ends: datetime | None = field(expires=True, default=None)
    text: str = ""

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"passing#{id}", "passing"


class Session(Entity, table=shop, type="session"):
    """Unique, counted and expiring."""

    id: str
    token: str = field(unique=True)
    ends: datetime | None = field(expires=True, default=None)
    text: str = ""
    revision: int = field(version=True, default=0)

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"session#{id}", "session"


class One(Entity, table=guarded, type="one"):
    """Shares its key texts with Other."""

    id: str
    text: str = ""

    @guarded.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"thing#{id}", "thing"


class Other(Entity, table=guarded, type="other"):
    """Shares its key texts with One."""

    id: str

    @guarded.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"thing#{id}", "thing"
