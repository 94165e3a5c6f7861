"""The JSON API. Each path ends with an id, which may hold slashes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from examples_shared.bodies import ApiRoute
from examples_shared.cost import metered
from goals.bodies import (
    CheckInIn,
    CommentIn,
    GoalChangeIn,
    GoalData,
    GoalIn,
    GoalPartIn,
    NameIn,
    PartIn,
    RoleWord,
    TeamIn,
    TeamPartIn,
    UserIn,
    Who,
)
from goals.capabilities import Capability
from goals.errors import Missing
from goals.model import EVERYBODY, Organisation, Role, Team, User
from goals.queries import Order
from goals.requests import App, Caller, Commenter, Limit, Manager, Reporter, TeamManager
from goals.schemas import (
    ActivityOut,
    EntryOut,
    GoalOut,
    GoalPageOut,
    GoalsOut,
    Named,
    PartsOut,
    ProfileOut,
    RightsOut,
    SubscribersOut,
    TeamsOut,
    TreeOut,
)
from goals.views import Said

routes = APIRouter(prefix="/api", route_class=ApiRoute)


# --- users ------------------------------------------------------------------------------------------------------------
@routes.post("/users", status_code=201)
def create_user(app: App, caller: Caller, given: UserIn) -> Named:
    """Callers make themselves; who is a user makes others."""
    if given.id != caller:
        app.check_known(caller)
    return Named.of(app.create_user(given.id, given.name))


@routes.get("/users/{user_id:path}")
def profile(
    app: App,
    user_id: str,
    limit: Limit = 25,
    after: str | None = None,
    role: RoleWord | None = None,
    at_least: RoleWord = Role.CONTRIBUTOR,
) -> ProfileOut:
    """A user with a page of their objectives, in one role or in at least one."""
    found, took = metered(app.db, lambda: app.profile(user_id, role=role, minimum=at_least, limit=limit, after=after))
    return ProfileOut.profile(found, took.cost)


@routes.patch("/users/{user_id:path}")
def rename_user(app: App, caller: Caller, user_id: str, given: NameIn) -> Named:
    app.check_self(caller, user_id)
    return Named.of(app.rename_user(user_id, given.name, given.was))


@routes.delete("/users/{user_id:path}", status_code=204)
def delete_user(app: App, caller: Caller, user_id: str) -> None:
    """Everybody deletes themselves; what they said stays."""
    app.check_self(caller, user_id)
    if not app.delete_user(user_id):
        raise Missing("user", user_id)


# --- teams ------------------------------------------------------------------------------------------------------------
@routes.post("/teams", status_code=201)
def create_team(app: App, caller: Caller, given: TeamIn) -> Named:
    """The caller manages it."""
    app.check_known(caller)
    return Named.of(app.create_team(given.id or app.new_id(), given.name, manager_id=caller))


@routes.get("/teams")
def teams(app: App, limit: Limit = 60, after: str | None = None, organisation: str = EVERYBODY) -> TeamsOut:
    """A page of an organisation's teams, by name."""
    found, took = metered(app.db, lambda: app.teams_of(organisation, limit=limit, after=after))
    return TeamsOut.of(found, took.cost)


@routes.get("/teams/{team_id:path}")
def team_goals(app: App, team_id: str, limit: Limit = 25, after: str | None = None, by: Order = Order.RANK) -> GoalsOut:
    """A page of a team's objectives with their key results."""
    found, took = metered(app.db, lambda: app.holder_page(Team.by_id(team_id), limit=limit, after=after, order=by))
    return GoalsOut.of(found.goals, took.cost)


@routes.patch("/teams/{team_id:path}")
def rename_team(app: App, manager: TeamManager, team_id: str, given: NameIn) -> Named:
    return Named.of(app.rename_team(team_id, given.name, given.was))


@routes.delete("/teams/{team_id:path}", status_code=204)
def delete_team(app: App, manager: TeamManager, team_id: str) -> None:
    """Its goals stay."""
    app.delete_team(team_id)


@routes.get("/team-people/{team_id:path}")
def team_people(app: App, team_id: str, limit: Limit = 100, after: str | None = None) -> PartsOut:
    """A team's people, managers first, by pages."""
    found, took = metered(app.db, lambda: app.people_of(team_id, limit=limit, after=after))
    return PartsOut.of_team(found, took.cost)


@routes.put("/team-people/{team_id:path}", status_code=204)
def set_team_role(app: App, manager: TeamManager, team_id: str, given: TeamPartIn) -> None:
    app.set_team_role(team_id, given.user, given.role, given.was)


@routes.delete("/team-people/{team_id:path}", status_code=204)
def leave_team(app: App, caller: Caller, team_id: str, user: str) -> None:
    """Everybody leaves; managers take away others."""
    app.check_team_or_self(team_id, caller, user)
    if not app.leave_team(team_id, user):
        raise Missing(f"part in team {team_id!r} of", user)


@routes.get("/team-rights/{team_id:path}")
def team_rights(app: App, caller: Caller, team_id: str) -> RightsOut:
    return RightsOut.of(app.rights_on_team(team_id, caller))


@routes.get("/organisations/{organisation_id:path}")
def organisation_goals(
    app: App, organisation_id: str, limit: Limit = 25, after: str | None = None, by: Order = Order.RANK
) -> GoalsOut:
    """A page of an organisation's own objectives with their key results."""
    key = Organisation.by_id(organisation_id)
    found, took = metered(app.db, lambda: app.holder_page(key, limit=limit, after=after, order=by))
    return GoalsOut.of(found.goals, took.cost)


# --- goals ------------------------------------------------------------------------------------------------------------
@routes.post("/goals", status_code=201)
def create_goal(app: App, caller: Caller, given: GoalIn) -> GoalOut:
    app.check_team(given.team, caller, Capability.CREATE_GOALS)
    lead, team = User.by_id(given.lead or caller), Team.by_id(given.team)
    return GoalOut.of(app.create_goal(given.title, lead=lead, holder=team, due=given.due, goal_id=given.id))


@routes.post("/key-results/{goal_id:path}", status_code=201)
def create_key_result(app: App, manager: Manager, goal_id: str, given: GoalPartIn) -> GoalOut:
    return GoalOut.of(app.create_key_result(manager.goal, given.title, **_part(given, manager.user.id)))


@routes.post("/sub-goals/{goal_id:path}", status_code=201)
def create_sub_goal(app: App, manager: Manager, goal_id: str, given: GoalPartIn) -> GoalOut:
    return GoalOut.of(app.create_sub_goal(manager.goal, given.title, **_part(given, manager.user.id)))


@routes.get("/goals/{goal_id:path}")
def goal_page(app: App, goal_id: str, limit: Limit = 25, after: str | None = None) -> GoalPageOut:
    """A goal with what is around it, and a page of what was said of it."""
    found, took = metered(app.db, lambda: app.goal_page(goal_id, limit=limit, after=after))
    return GoalPageOut.of(found, took.cost)


@routes.patch("/goals/{goal_id:path}")
def change_goal(app: App, manager: Manager, goal_id: str, given: GoalChangeIn) -> GoalOut:
    changes = given.model_dump(exclude_none=True, exclude={"was"})
    return GoalOut.of(app.change_goal(goal_id, changes, _said(given.was)))


@routes.delete("/goals/{goal_id:path}", status_code=204)
def delete_goal(app: App, manager: Manager, goal_id: str) -> None:
    """With its key results, and all that was said of them."""
    app.delete_goal(goal_id)


@routes.get("/tree/{goal_id:path}")
def tree(app: App, goal_id: str) -> TreeOut:
    """The whole tree that a goal is in, from its topmost objective."""
    return TreeOut.of(app.tree_of(goal_id))


@routes.get("/goal-rights/{goal_id:path}")
def goal_rights(app: App, caller: Caller, goal_id: str) -> RightsOut:
    return RightsOut.of(app.rights_on_goal(goal_id, caller))


# --- who has a part ---------------------------------------------------------------------------------------------------
@routes.get("/goal-people/{goal_id:path}")
def goal_people(app: App, goal_id: str, limit: Limit = 100, after: str | None = None) -> PartsOut:
    """All who have a part in a goal, by pages."""
    found, took = metered(app.db, lambda: app.parts_of(goal_id, limit=limit, after=after))
    return PartsOut.of_goal(found, took.cost)


@routes.put("/goal-people/{goal_id:path}", status_code=204)
def set_role(app: App, manager: Manager, goal_id: str, given: PartIn) -> None:
    """Give a part, or change it."""
    app.set_role(goal_id, given.who.key, given.role, given.was)


@routes.delete("/goal-people/{goal_id:path}", status_code=204)
def leave(app: App, caller: Caller, goal_id: str, who: Annotated[Who, Query()]) -> None:
    """Everybody leaves; who manages the goal takes away others."""
    app.check_goal_or_self(goal_id, caller, who.key)
    if not app.leave(goal_id, who.key):
        raise Missing(f"part in goal {goal_id!r} of", who.id)


# --- subscribers ------------------------------------------------------------------------------------------------------
@routes.get("/subscriptions/{goal_id:path}")
def subscribers(app: App, goal_id: str, limit: Limit = 25, after: str | None = None) -> SubscribersOut:
    found, took = metered(app.db, lambda: app.subscribers_of(goal_id, limit=limit, after=after))
    return SubscribersOut.of(found, took.cost)


@routes.put("/subscriptions/{goal_id:path}", status_code=204)
def subscribe(app: App, caller: Caller, goal_id: str) -> None:
    """The caller, to a goal."""
    app.subscribe(goal_id, caller)


@routes.delete("/subscriptions/{goal_id:path}", status_code=204)
def unsubscribe(app: App, caller: Caller, goal_id: str) -> None:
    app.unsubscribe(goal_id, caller)


# --- what is said of a goal -------------------------------------------------------------------------------------------
@routes.get("/activity/{goal_id:path}")
def activity(app: App, goal_id: str, limit: Limit = 25, after: str | None = None) -> ActivityOut:
    """Check-ins and comments, newest first, by pages; the goal says how many there are."""
    found, took = metered(app.db, lambda: app.activity_of(goal_id, limit=limit, after=after))
    return ActivityOut.of(found, took.cost)


@routes.post("/comments/{goal_id:path}", status_code=201)
def comment(app: App, commenter: Commenter, goal_id: str, given: CommentIn) -> EntryOut:
    entry = app.comment(goal_id, commenter.user.id, given.text)
    return EntryOut.of(Said(entry, commenter.user))


@routes.post("/check-ins/{goal_id:path}", status_code=201)
def check_in(app: App, reporter: Reporter, goal_id: str, given: CheckInIn) -> EntryOut:
    """Sets the goal's progress and status."""
    entry = app.check_in(
        reporter.goal,
        reporter.user.id,
        progress=given.progress,
        status=given.status,
        text=given.text,
        base=_said(given.was),
    )
    return EntryOut.of(Said(entry, reporter.user))


@routes.delete("/activity/{goal_id:path}", status_code=204)
def delete_entry(app: App, caller: Caller, goal_id: str, entry: str) -> None:
    """By who wrote it, or who manages the goal."""
    found = app.read_entry(goal_id, entry)
    app.check_goal_or_self(goal_id, caller, User.by_id(found.by))
    app.delete_entry(found)


def _part(given: GoalPartIn, caller: str) -> dict[str, Any]:
    return {
        "lead": User.by_id(given.lead or caller),
        "teams": [Team.by_id(id) for id in given.teams],
        "due": given.due,
        "position": given.position,
    }


def _said(was: GoalData) -> dict[str, Any]:
    return was.model_dump(exclude_none=True)
