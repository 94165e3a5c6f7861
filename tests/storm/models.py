"""The application of the storm, in the two versions that run side by side; `STORM_VERSION` says which this is."""

from __future__ import annotations

import importlib
import os
from typing import Any

from singletable import ANY, Entity, Key, Table, field
from singletable.streams import Changes
from singletable.tasks import Tasks

VERSION_VARIABLE = "STORM_VERSION"
VERSION = int(os.environ.get(VERSION_VARIABLE, "2"))

storm = Table("storm", indexes=["gsi1", "gsi2"], stream="new_and_old")
tasks = Tasks(storm, index="gsi2")
changes = Changes(storm, name="storm")


class Purse(Entity, table=storm, type="purse"):
    """What transfers move."""

    id: str
    amount: int = 0

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"purse#{id}", "purse"


class Receipt(Entity, table=storm, type="receipt"):
    """The trace of one operation, under its id."""

    id: str
    giver: str = ""
    taker: str = ""
    amount: int = 0

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"receipt#{id}", "receipt"


class Counter(Entity, table=storm, type="counter"):
    """What everybody adds to."""

    id: str
    count: int = 0

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"counter#{id}", "counter"


class Versioned(Entity, table=storm, type="versioned"):
    """Written as it was read, or not at all."""

    id: str
    count: int = 0
    revision: int = field(version=True, default=0)

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"versioned#{id}", "versioned"


class Named(Entity, table=storm, type="named"):
    """Has an e-mail that nobody else has."""

    id: str
    email: str = field(unique=True)

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"named#{id}", "named"


class Tracked(Entity, table=storm, type="tracked"):
    """Its changes are followed by a handler; it moves about in an index."""

    id: str
    group: str = "a"
    count: int = 0

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"tracked#{id}", "tracked"

    @storm.index("gsi1")
    @staticmethod
    def by_group(group: str, count: int = ANY, id: str = ANY) -> Key:
        return f"group#{group}", f"{count}#{id}"


class Handled(Entity, table=storm, type="handled"):
    """The newest change of a Tracked that was handled."""

    id: str
    count: int = 0

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"handled#{id}", "handled"


class Ended(Entity, table=storm, type="ended"):
    """The effect of one task."""

    id: str

    @storm.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"ended#{id}", "ended"


Profile: Any = importlib.import_module(f"tests.storm.profile_v{VERSION}").Profile
