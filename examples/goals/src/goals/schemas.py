"""The JSON that the HTTP API answers with; `bodies` is what it takes."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel

from examples_shared.cost import Cost
from goals.model import Goal, Organisation, Team, User
from goals.rights import Rights
from goals.views import (
    ActivityPage,
    GoalList,
    GoalPage,
    GoalView,
    Parts,
    Profile,
    Said,
    Subscribers,
    TeamPeople,
    Teams,
    Tree,
)

Kind = Literal["user", "team", "organisation"]


class Named(BaseModel):
    """A user, team or organisation."""

    kind: Kind
    id: str
    name: str

    @classmethod
    def of(cls, node: User | Team | Organisation) -> Named:
        kind: Kind = "user" if isinstance(node, User) else "team" if isinstance(node, Team) else "organisation"
        return cls(kind=kind, id=node.id, name=node.name)


class GoalOut(BaseModel):
    """A goal's own data."""

    id: str
    title: str
    kind: Literal["objective", "key result"]
    status: str
    progress: int
    created: date | None
    due: str
    check_ins: int
    comments: int

    @classmethod
    def of(cls, goal: Goal) -> GoalOut:
        return cls(
            id=goal.id,
            title=goal.title,
            kind=goal.kind.value,
            status=goal.status,
            progress=goal.progress,
            created=goal.created,
            due=goal.due,
            check_ins=goal.check_ins,
            comments=goal.comments,
        )


class GoalViewOut(GoalOut):
    """With its people and parts; `more` where there are more than are shown."""

    role: str | None
    leads: list[Named]
    contributors: list[Named]
    teams: list[Named]
    organisations: list[Named]
    key_results: list[GoalViewOut]
    sub_goals: list[GoalViewOut]
    more: bool

    @classmethod
    def view(cls, view: GoalView) -> GoalViewOut:
        return cls(
            **GoalOut.of(view.goal).model_dump(),
            role=view.role.word if view.role else None,
            leads=[Named.of(user) for user in view.leads],
            contributors=[Named.of(user) for user in view.contributors],
            teams=[Named.of(team) for team in view.teams],
            organisations=[Named.of(organisation) for organisation in view.organisations],
            key_results=[GoalViewOut.view(part) for part in view.key_results],
            sub_goals=[GoalViewOut.view(part) for part in view.sub_goals],
            more=view.is_cut,
        )


class CostOut(BaseModel):
    requests: int
    round_trips: int
    read_units: float
    write_units: float

    @classmethod
    def of(cls, cost: Cost) -> CostOut:
        return cls(**vars(cost))


class PageOut(BaseModel):
    """What every page has: the cursor of the next, and what this one took."""

    after: str | None
    cost: CostOut


class GoalsOut(PageOut):
    goals: list[GoalViewOut]

    @classmethod
    def of(cls, goals: GoalList, cost: Cost) -> GoalsOut:
        views = [GoalViewOut.view(view) for view in goals.goals]
        return cls(goals=views, after=goals.after, cost=CostOut.of(cost))


class TeamsOut(PageOut):
    """A page of an organisation's teams, by name."""

    teams: list[Named]

    @classmethod
    def of(cls, found: Teams, cost: Cost) -> TeamsOut:
        teams = [Named.of(team) for team in found.teams]
        return cls(teams=teams, after=found.after, cost=CostOut.of(cost))


class ProfileOut(GoalsOut):
    user: Named
    teams: list[Named]

    @classmethod
    def profile(cls, found: Profile, cost: Cost) -> ProfileOut:
        goals = GoalsOut.of(found.goals, cost)
        return cls(**goals.model_dump(), user=Named.of(found.user), teams=[Named.of(team) for team in found.teams])


class EntryOut(BaseModel):
    """A check-in or a comment."""

    id: str
    kind: Literal["check-in", "comment"]
    by: Named
    at: datetime
    text: str
    progress: int | None
    before: int | None
    status: str | None

    @classmethod
    def of(cls, said: Said) -> EntryOut:
        e = said.entry
        return cls(
            id=e.id,
            kind=e.kind.value,
            by=Named.of(said.by),
            at=e.at,
            text=e.text,
            progress=e.progress,
            before=e.before,
            status=e.status,
        )


class ActivityOut(PageOut):
    """A page of what was said of a goal, newest first, and how much there is in all."""

    check_ins: int
    comments: int
    entries: list[EntryOut]

    @classmethod
    def of(cls, found: ActivityPage, cost: Cost) -> ActivityOut:
        return cls(
            check_ins=found.goal.check_ins,
            comments=found.goal.comments,
            entries=[EntryOut.of(said) for said in found.said],
            after=found.after,
            cost=CostOut.of(cost),
        )


class GoalPageOut(PageOut):
    """A goal, what is around it, and a page of what was said of it."""

    goal: GoalViewOut
    part_of: list[GoalOut]
    see_also: list[GoalOut]
    replaces: list[GoalOut]
    entries: list[EntryOut]

    @classmethod
    def of(cls, page: GoalPage, cost: Cost) -> GoalPageOut:
        return cls(
            goal=GoalViewOut.view(page.view),
            part_of=[GoalOut.of(goal) for goal in page.parents],
            see_also=[GoalOut.of(goal) for goal in page.see_also],
            replaces=[GoalOut.of(goal) for goal in page.replaced],
            entries=[EntryOut.of(said) for said in page.said],
            after=page.after,
            cost=CostOut.of(cost),
        )


class SubscriberOut(BaseModel):
    user: Named
    since: datetime


class SubscribersOut(PageOut):
    subscribers: list[SubscriberOut]

    @classmethod
    def of(cls, found: Subscribers, cost: Cost) -> SubscribersOut:
        users = [SubscriberOut(user=Named.of(s.user), since=s.edge.since) for s in found.subscribers]
        return cls(subscribers=users, after=found.after, cost=CostOut.of(cost))


class TreeOut(BaseModel):
    """A goal with all below it; `more` where there is more than is shown."""

    id: str
    title: str
    kind: Literal["objective", "key result"]
    status: str
    progress: int
    below: list[TreeOut]
    more: bool

    @classmethod
    def of(cls, tree: Tree) -> TreeOut:
        goal = tree.goal
        return cls(
            id=goal.id,
            title=goal.title,
            kind=goal.kind.value,
            status=goal.status,
            progress=goal.progress,
            below=[cls.of(each) for each in tree.below],
            more=tree.is_cut,
        )


class RightsOut(BaseModel):
    """What the caller may do."""

    capabilities: list[str]

    @classmethod
    def of(cls, rights: Rights) -> RightsOut:
        return cls(capabilities=rights.words)


class PartOut(BaseModel):
    who: Named
    role: str


class PartsOut(PageOut):
    """A page of those who have a part in a goal, or in a team."""

    parts: list[PartOut]

    @classmethod
    def of_goal(cls, found: Parts, cost: Cost) -> PartsOut:
        parts = [PartOut(who=Named.of(part.who), role=part.role.word) for part in found.parts]
        return cls(parts=parts, after=found.after, cost=CostOut.of(cost))

    @classmethod
    def of_team(cls, found: TeamPeople, cost: Cost) -> PartsOut:
        parts = [PartOut(who=Named.of(member.user), role=member.role.word) for member in found.members]
        return cls(parts=parts, after=found.after, cost=CostOut.of(cost))
