"""What the service gives: goals with their people, as values that a page, the API and the command line show alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from goals.model import (
    CONTRIBUTORS,
    KEY_CONTRIBUTORS,
    KEY_LEADS,
    KEY_ORGANISATIONS,
    KEY_RESULTS_IN_FULL,
    KEY_TEAMS,
    LEADS,
    ORGANISATIONS,
    SUB_GOALS_IN_FULL,
    TEAMS,
    Entry,
    Goal,
    GoalKind,
    GoalMembership,
    Holder,
    KeyResult,
    KeyResultMembership,
    Organisation,
    Role,
    SubGoal,
    Subscriber,
    Team,
    TeamRole,
    User,
)
from goals.rights import Rights
from singletable.graph import Linked, Row


@dataclass(frozen=True)
class GoalView:
    """A goal with the neighbours that were read with it."""

    goal: Goal
    role: Role | None = None
    """The part that the list's owner has in it."""
    leads: tuple[User, ...] = ()
    contributors: tuple[User, ...] = ()
    teams: tuple[Team, ...] = ()
    organisations: tuple[Organisation, ...] = ()
    key_results: tuple[GoalView, ...] = ()
    sub_goals: tuple[GoalView, ...] = ()
    is_cut: bool = False
    """It has more people or parts than its edge set holds: they are read by pages."""

    @property
    def id(self) -> str:
        return self.goal.id

    @property
    def holders(self) -> tuple[Holder, ...]:
        return *self.organisations, *self.teams


@dataclass(frozen=True)
class GoalList:
    """A page of the goals of a team, an organisation or a user, by rank, then id."""

    goals: tuple[GoalView, ...]
    after: str | None


@dataclass(frozen=True)
class HolderPage:
    """A team's or organisation's goals, with key results and sub-goals."""

    holder: Holder
    goals: GoalList


@dataclass(frozen=True)
class Profile:
    """A user, their teams, and a page of their goals."""

    user: User
    teams: tuple[Team, ...]
    goals: GoalList


@dataclass(frozen=True)
class Subscription:
    user: User
    edge: Subscriber


@dataclass(frozen=True)
class Subscribers:
    """A page of a goal's subscribers."""

    goal: Goal
    subscribers: tuple[Subscription, ...]
    after: str | None


@dataclass(frozen=True)
class Said:
    """A check-in or a comment, and who wrote it."""

    entry: Entry
    by: User


@dataclass(frozen=True)
class ActivityPage:
    """A page of what was said of a goal, newest first; the goal says how much there is."""

    goal: Goal
    said: tuple[Said, ...]
    after: str | None


@dataclass(frozen=True)
class GoalPage:
    """A goal, what is around it, a page of what was said of it, and what the viewer may do."""

    view: GoalView
    parents: tuple[Goal, ...]
    see_also: tuple[Goal, ...]
    replaced: tuple[Goal, ...]
    said: tuple[Said, ...]
    after: str | None
    rights: Rights
    is_subscribed: bool

    @property
    def links(self) -> list[str]:
        """The ids of the goals that it sees also or replaces, sorted, each once."""
        return sorted({goal.id for goal in (*self.see_also, *self.replaced)})


@dataclass(frozen=True)
class Tree:
    """A goal with its key results and sub-goals, all the way down."""

    goal: Goal
    below: tuple[Tree, ...]
    is_cut: bool
    """It has more parts than its edge set holds, or than a tree shows."""


@dataclass(frozen=True)
class Part:
    """One person or team with a part in a goal."""

    who: User | Team | Organisation
    role: Role


@dataclass(frozen=True)
class Parts:
    """A page of all who have a part in a goal: of those too that its edge set leaves out."""

    goal: Goal
    parts: tuple[Part, ...]
    after: str | None
    rights: Rights


@dataclass(frozen=True)
class Teams:
    """A page of an organisation's teams."""

    teams: tuple[Team, ...]
    after: str | None


@dataclass(frozen=True)
class Member:
    user: User
    role: TeamRole


@dataclass(frozen=True)
class TeamPeople:
    """A page of a team's people, managers first."""

    team: Team
    members: tuple[Member, ...]
    after: str | None
    rights: Rights


def by_rank(views: Iterable[GoalView]) -> tuple[GoalView, ...]:
    """By rank, then id: rows of one rank come from an index in no order of their own."""
    return tuple(sorted(views, key=lambda view: (-view.role.rank if view.role else 0, view.id)))


def view_of(row: Row[Goal], role: Role | None = None) -> GoalView:
    """A goal of a page with those of its neighbours that the page asked for."""
    is_key = row.node.kind is GoalKind.KEY_RESULT
    membership = KeyResultMembership if is_key else GoalMembership
    return GoalView(
        row.node,
        role,
        leads=_named(row, KEY_LEADS if is_key else LEADS),
        contributors=_named(row, KEY_CONTRIBUTORS if is_key else CONTRIBUTORS),
        teams=_named(row, KEY_TEAMS if is_key else TEAMS),
        organisations=_named(row, KEY_ORGANISATIONS if is_key else ORGANISATIONS),
        key_results=placed(row, KEY_RESULTS_IN_FULL),
        sub_goals=placed(row, SUB_GOALS_IN_FULL),
        is_cut=row.more(membership, KeyResult, SubGoal),
    )


def placed(row: Row[Goal], linked: Linked[Goal]) -> tuple[GoalView, ...]:
    """The parts of an objective, in their order; none where the page did not ask for them."""
    if linked not in row.neighbours:
        return ()
    found = sorted(row.rows(linked), key=lambda part: (part.edge.values["position"], part.node.id))
    return tuple(view_of(part) for part in found)


_BY_NAME = attrgetter("name", "id")


def _named(row: Row[Goal], linked: Linked[Any]) -> tuple[Any, ...]:
    return tuple(sorted(row.linked(linked), key=_BY_NAME)) if linked in row.neighbours else ()
