"""The graph of the tests: goals, who works on them, who reads of them."""

from __future__ import annotations

from datetime import date
from enum import Enum

from singletable import ANY, field
from singletable.graph import Edge, GraphTable, Node

records = GraphTable("records", indexes=["gsi0", "gsi1"])
A_DAY = date(2026, 1, 1)


class Role(Enum):
    LEAD = "LEAD"
    CONTRIBUTOR = "CONTRIBUTOR"
    TEAM = "TEAM"

    def key_text(self) -> str:
        return {"LEAD": "500-LEAD", "CONTRIBUTOR": "400-CONTRIBUTOR", "TEAM": "300-TEAM"}[self.value]


class Goal(Node, table=records, type="GOAL"):
    title: str = ""
    text: str = ""


class User(Node, table=records, type="USER"):
    name: str = ""


class Team(Node, table=records, type="TEAM"):
    name: str = ""


class Account(Node, table=records, type="ACCOUNT"):
    email: str = field(unique=True)
    name: str = ""


class Importer(Node, table=records, type="IMPORTER"):
    """No edge comes to it."""


class GoalMembership(Edge[Goal, User | Team], table=records, type="GOALMEMBERSHIP", mirrors=("role",)):
    role: Role = Role.LEAD
    since: date = A_DAY

    @records.index("gsi0")
    @staticmethod
    def by_rank(role: Role = ANY) -> str:
        """Highest role first."""
        return f"{role}"

    @records.index("gsi1")
    @staticmethod
    def by_date(since: date = ANY) -> str:
        """By date."""
        return f"{since}"


class Subgoal(Edge[Goal, Goal], table=records, type="SUBGOAL"):
    n: int = 0

    @records.index("gsi0")
    @staticmethod
    def by_n(n: int = ANY) -> str:
        """In their order."""
        return f"{n:06}"


class Note(Edge[Goal, User | Goal], table=records, type="NOTE", mirrors=("tag", "on")):
    """Mirrored texts of more than one part."""

    tag: str = ""
    on: date = A_DAY

    @records.index("gsi0")
    @staticmethod
    def by_tag(tag: str = ANY) -> str:
        """By tag."""
        return f"{tag}"


class Subscriber(Edge[Goal, User], table=records, type="SUBSCRIBER", mirrors=None):
    """Left out of the edge set."""

    at: date = A_DAY

    @records.index("gsi1")
    @staticmethod
    def by_at(at: date = ANY) -> str:
        """By date."""
        return f"{at}"


class Sponsor(Edge[Goal, Account], table=records, type="SPONSOR"):
    amount: int = 0

    @records.index("gsi0")
    @staticmethod
    def by_amount(amount: int = ANY) -> str:
        """By amount."""
        return f"{amount:06}"


class Imported(Edge[Importer, Goal], table=records, type="IMPORTED", mirrors=None):
    n: int = 0

    @records.index("gsi1")
    @staticmethod
    def by_number(n: int = ANY) -> str:
        """By number."""
        return f"{n:06}"
