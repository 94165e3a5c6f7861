"""The JSON of the HTTP API."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, Field

from examples.goals.model import Goal, Organisation, Role, Team, User
from examples.goals.queries import PersonKey
from examples.goals.views import GoalList, GoalPage, GoalView, Parts, Profile, TeamPeople
from examples.shared.cost import Cost

Kind = Literal["user", "team", "organisation"]
Text = Field(min_length=1, max_length=500)


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
            role=view.role.value if view.role else None,
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


class ProfileOut(GoalsOut):
    user: Named
    teams: list[Named]

    @classmethod
    def profile(cls, found: Profile, cost: Cost) -> ProfileOut:
        goals = GoalsOut.of(found.goals, cost)
        return cls(**goals.model_dump(), user=Named.of(found.user), teams=[Named.of(team) for team in found.teams])


class SubscriberOut(BaseModel):
    user: Named
    since: datetime


class GoalPageOut(PageOut):
    """A goal, what is around it, and a page of its subscribers."""

    goal: GoalViewOut
    part_of: list[GoalOut]
    see_also: list[GoalOut]
    replaces: list[GoalOut]
    subscribers: list[SubscriberOut]

    @classmethod
    def of(cls, page: GoalPage, cost: Cost) -> GoalPageOut:
        return cls(
            goal=GoalViewOut.view(page.view),
            part_of=[GoalOut.of(goal) for goal in page.parents],
            see_also=[GoalOut.of(goal) for goal in page.see_also],
            replaces=[GoalOut.of(goal) for goal in page.replaced],
            subscribers=[SubscriberOut(user=Named.of(s.user), since=s.edge.since) for s in page.subscribers],
            after=page.after,
            cost=CostOut.of(cost),
        )


class PartOut(BaseModel):
    who: Named
    role: str


class PartsOut(PageOut):
    """A page of those who have a part in a goal, or in a team."""

    parts: list[PartOut]

    @classmethod
    def of_goal(cls, found: Parts, cost: Cost) -> PartsOut:
        parts = [PartOut(who=Named.of(part.who), role=part.role.value) for part in found.parts]
        return cls(parts=parts, after=found.after, cost=CostOut.of(cost))

    @classmethod
    def of_team(cls, found: TeamPeople, cost: Cost) -> PartsOut:
        parts = [PartOut(who=Named.of(member.user), role=member.role.value) for member in found.members]
        return cls(parts=parts, after=found.after, cost=CostOut.of(cost))


class Who(BaseModel):
    """A user, team or organisation by its id."""

    kind: Kind = "user"
    id: str = Text

    @property
    def key(self) -> PersonKey:
        if self.kind == "user":
            return User.by_id(self.id)
        return Team.by_id(self.id) if self.kind == "team" else Organisation.by_id(self.id)


class PartIn(BaseModel):
    who: Who
    role: Role


class GoalIn(BaseModel):
    title: str = Text
    team_id: str = Text
    due: str = Field(default="", max_length=100)


class KeyResultIn(BaseModel):
    title: str = Text
    lead_id: str = Text
    position: str = Field(min_length=1, max_length=100)


class GoalChangeIn(BaseModel):
    """What is left out stays as it is."""

    title: str | None = Field(default=None, min_length=1, max_length=500)
    status: str | None = Field(default=None, max_length=100)
    progress: int | None = Field(default=None, ge=0, le=100)
    due: str | None = Field(default=None, max_length=100)
