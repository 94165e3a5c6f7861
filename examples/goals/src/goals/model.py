"""The graph: four kinds of nodes, and the edges between them, in one table with two indexes.

An index's partition is the target of an edge: `gsi0` orders the edges that come to a node by rank, `gsi1` by date.
Several kinds of edges share both.
"""

from __future__ import annotations

from datetime import date, datetime
from enum import Enum

from singletable import ANY, Entity, Key, KeyOf, attr, field
from singletable.graph import Edge, GraphTable, Linked, Node

records = GraphTable("records", indexes=["gsi0", "gsi1"])


# --- nodes ------------------------------------------------------------------------------------------------------------
class GoalKind(Enum):
    OBJECTIVE = "objective"
    KEY_RESULT = "key result"


class Goal(Node, table=records, type="GOAL"):
    """An objective, or a key result that says how far one is."""

    title: str
    kind: GoalKind = GoalKind.OBJECTIVE
    status: str = ""
    progress: int = 0
    """Percent."""
    created: date | None = None
    due: str = ""
    """When it is to be reached: a date, a quarter, a release."""
    check_ins: int = 0
    """How many it has: the transaction that writes one counts it."""
    comments: int = 0


class User(Node, table=records, type="USER"):
    name: str = field(personal=True)


class Team(Node, table=records, type="TEAM"):
    name: str


class Organisation(Node, table=records, type="ORGANISATION"):
    name: str


Holder = Team | Organisation
"""What has a list of goals of its own."""


def id_of(key: KeyOf[Node]) -> str:
    """The id of the node that a key names: what follows the first "-" of its text."""
    return key.partition.partition("-")[2]


# --- who has a part in a goal -----------------------------------------------------------------------------------------
class Role(Enum):
    """A part in a goal. A role between two others takes a number between theirs, and no edge is rewritten; 200 and 100
    are free."""

    LEAD = "LEAD"
    CONTRIBUTOR = "CONTRIBUTOR"
    TEAM = "TEAM"

    @property
    def rank(self) -> int:
        return _RANKS[self.value]

    @property
    def word(self) -> str:
        """As people type it and JSON has it: lead."""
        return self.value.lower()

    def key_text(self) -> str:
        return f"{self.rank}-{self.value}"


_RANKS = {"LEAD": 500, "CONTRIBUTOR": 400, "TEAM": 300}


class GoalMembership(Edge[Goal, User | Team | Organisation], table=records, type="GOALMEMBERSHIP", mirrors=("role",)):
    """A part in an objective."""

    role: Role
    since: date

    @records.index("gsi0")
    @staticmethod
    def by_rank(role: Role = ANY) -> str:
        """The objectives of a person, team or organisation, by rank: 500-LEAD, 400-CONTRIBUTOR, 300-TEAM."""
        return f"{role}"

    @records.index("gsi1")
    @staticmethod
    def by_date(since: date = ANY) -> str:
        """The same by date."""
        return f"{since}"


class KeyResultMembership(
    Edge[Goal, User | Team | Organisation], table=records, type="KEYRESULTMEMBERSHIP", mirrors=("role",)
):
    """A part in a key result. An edge type of its own, so that a team's list is its objectives and a page of it is full
    without a filter."""

    role: Role
    since: date

    @records.index("gsi0")
    @staticmethod
    def by_rank(role: Role = ANY) -> str:
        """The key results of a person, team or organisation, by rank."""
        return f"{role}"


def membership_of(goal: Goal) -> type[GoalMembership] | type[KeyResultMembership]:
    """The type of the edges to those who have a part in a goal."""
    return KeyResultMembership if goal.kind is GoalKind.KEY_RESULT else GoalMembership


class Subscriber(Edge[Goal, User], table=records, type="SUBSCRIBER", mirrors=None):
    """Who wants to hear of a goal: thousands may, so the edges are not in the goal's edge set."""

    since: datetime

    @records.index("gsi1")
    @staticmethod
    def by_date(since: datetime = ANY) -> str:
        """The goals that a user subscribed to, by date."""
        return f"{since}"


# --- goals among each other -------------------------------------------------------------------------------------------
class KeyResult(Edge[Goal, Goal], table=records, type="KEYRESULT", mirrors=("position",)):
    """From an objective to a key result of it."""

    position: str
    """A text that orders the parts: one put between two others takes a text between theirs, and none is rewritten."""

    @records.index("gsi0")
    @staticmethod
    def by_position(position: str = ANY) -> str:
        """The objective of a key result."""
        return f"{position}"


class SubGoal(Edge[Goal, Goal], table=records, type="SUBGOAL", mirrors=("position",)):
    """From an objective to a smaller one that is part of it."""

    position: str

    @records.index("gsi0")
    @staticmethod
    def by_position(position: str = ANY) -> str:
        """The objective that a goal is part of."""
        return f"{position}"


class PartOf(Edge[Goal, Goal], table=records, type="PARTOF"):
    """The way back from a key result or sub-goal, so that its page shows its objective without a query."""

    since: date

    @records.index("gsi1")
    @staticmethod
    def by_date(since: date = ANY) -> str:
        """The parts of a goal, by date."""
        return f"{since}"


class SeeAlso(Edge[Goal, Goal], table=records, type="SEEALSO"):
    """A link to another goal."""

    since: date

    @records.index("gsi1")
    @staticmethod
    def by_date(since: date = ANY) -> str:
        """The goals that link to one, by date."""
        return f"{since}"


class Replaces(Edge[Goal, Goal], table=records, type="REPLACES"):
    """A link to a goal that this one takes the place of."""

    since: date

    @records.index("gsi1")
    @staticmethod
    def by_date(since: date = ANY) -> str:
        """The goals that replace one, by date."""
        return f"{since}"


# --- teams ------------------------------------------------------------------------------------------------------------
class TeamRole(Enum):
    MANAGER = "MANAGER"
    MEMBER = "MEMBER"
    OBSERVER = "OBSERVER"

    @property
    def rank(self) -> int:
        return {TeamRole.MANAGER: 300, TeamRole.MEMBER: 200, TeamRole.OBSERVER: 100}[self]

    @property
    def word(self) -> str:
        """As people type it and JSON has it: manager."""
        return self.value.lower()

    def key_text(self) -> str:
        return f"{self.rank}-{self.value}"


class TeamMembership(Edge[User, Team], table=records, type="TEAMMEMBERSHIP", mirrors=("role",)):
    """A user's part in a team."""

    role: TeamRole
    since: date = field(default=date(1970, 1, 1))

    @records.index("gsi0")
    @staticmethod
    def by_rank(role: TeamRole = ANY) -> str:
        """The people of a team, by rank: 300-MANAGER, 200-MEMBER, 100-OBSERVER."""
        return f"{role}"


class TeamOrganisation(Edge[Team, Organisation], table=records, type="TEAMORGANISATION"):
    """A team is one of an organisation's."""

    name: str
    """The team's, as it was when the edge was made: it orders the list."""

    @records.index("gsi0")
    @staticmethod
    def by_name(name: str = ANY) -> str:
        """The teams of an organisation, by name."""
        return f"{name}"


EVERYBODY = "everybody"
"""The id of the organisation whose teams the start page lists."""


# --- what people say of a goal ----------------------------------------------------------------------------------------
class EntryKind(Enum):
    CHECK_IN = "check-in"
    COMMENT = "comment"


class Entry(Entity, table=records, type="ENTRY"):
    """A check-in or a comment. A goal may have thousands: they are in a partition of their own, and the goal counts
    them."""

    goal_id: str
    id: str
    """Begins with the time, so that they sort by it."""
    kind: EntryKind
    by: str = field(mentions=User.id)
    """The id of the user who wrote it."""
    at: datetime
    text: str = field(personal=True)
    progress: int | None = None
    """What a check-in set."""
    before: int | None = None
    status: str | None = None

    @records.key
    @staticmethod
    def of_goal(goal_id: str, id: str = ANY) -> Key:
        """What was said of a goal, oldest first."""
        return f"ACTIVITY-{goal_id:rest}", f"ENTRY-{id}"


# --- neighbours that pages read with goals ----------------------------------------------------------------------------
LEADS: Linked[User] = GoalMembership.to(User, attr(GoalMembership.role) == Role.LEAD)
CONTRIBUTORS: Linked[User] = GoalMembership.to(User, attr(GoalMembership.role) == Role.CONTRIBUTOR)
TEAMS: Linked[Team] = GoalMembership.to(Team)
ORGANISATIONS: Linked[Organisation] = GoalMembership.to(Organisation)
PEOPLE = (LEADS, CONTRIBUTORS, TEAMS, ORGANISATIONS)

KEY_LEADS: Linked[User] = KeyResultMembership.to(User, attr(KeyResultMembership.role) == Role.LEAD)
KEY_CONTRIBUTORS: Linked[User] = KeyResultMembership.to(User, attr(KeyResultMembership.role) == Role.CONTRIBUTOR)
KEY_TEAMS: Linked[Team] = KeyResultMembership.to(Team)
KEY_ORGANISATIONS: Linked[Organisation] = KeyResultMembership.to(Organisation)
KEY_PEOPLE = (KEY_LEADS, KEY_CONTRIBUTORS, KEY_TEAMS, KEY_ORGANISATIONS)

KEY_RESULTS: Linked[Goal] = KeyResult.to(Goal)
SUB_GOALS: Linked[Goal] = SubGoal.to(Goal)
PARENTS: Linked[Goal] = PartOf.to(Goal)
SEE_ALSO: Linked[Goal] = SeeAlso.to(Goal)
REPLACED: Linked[Goal] = Replaces.to(Goal)
AROUND = (KEY_RESULTS, SUB_GOALS, PARENTS, SEE_ALSO, REPLACED)

USER_TEAMS: Linked[Team] = TeamMembership.to(Team)

KEY_RESULTS_IN_FULL = KEY_RESULTS.including(KEY_LEADS, KEY_TEAMS)
SUB_GOALS_IN_FULL = SUB_GOALS.including(LEADS, TEAMS)
