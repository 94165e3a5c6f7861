"""The web pages. Each says in its footer what it took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from examples.goals.model import Organisation, Role, Team
from examples.goals.queries import HolderKey, Order
from examples.goals.rendering import quoted, render
from examples.goals.service import Service
from examples.goals.views import GoalView
from examples.shared.cost import metered

Limit = Annotated[int, Query(ge=1, le=100)]


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


App = Annotated[Service, Depends(_service)]
routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@routes.get("/")
def start(app: App, limit: Limit = 60, after: str | None = None) -> HTMLResponse:
    """The teams, by name."""
    found, took = metered(app.db, lambda: app.teams_of(limit=limit, after=after))
    return render("start.html", found=found, took=took, after=after)


@routes.get("/find")
def find(kind: Literal["teams", "users", "goals"], id: str) -> RedirectResponse:
    """To the page of what was typed."""
    return RedirectResponse(f"/{kind}/{quoted(id.strip())}", 303)


@routes.get("/teams/{team_id:path}")
def team(
    app: App,
    team_id: str,
    limit: Limit = 20,
    after: str | None = None,
    by: Order = Order.RANK,
    show: Literal["goals", "people"] = "goals",
) -> HTMLResponse:
    """A team's objectives with their key results, or its people."""
    if show == "people":
        people, took = metered(app.db, lambda: app.people_of(team_id, limit=limit, after=after))
        return render("team_people.html", found=people, took=took, after=after)
    return _holder(app, Team.by_id(team_id), limit, after, by)


@routes.get("/organisations/{organisation_id:path}")
def organisation(
    app: App, organisation_id: str, limit: Limit = 20, after: str | None = None, by: Order = Order.RANK
) -> HTMLResponse:
    """An organisation's own objectives with their key results."""
    return _holder(app, Organisation.by_id(organisation_id), limit, after, by)


def _holder(app: Service, key: HolderKey, limit: int, after: str | None, by: Order) -> HTMLResponse:
    found, took = metered(app.db, lambda: app.holder_page(key, limit=limit, after=after, order=by))
    return render("holder.html", found=found, took=took, after=after, by=by.value)


@routes.get("/users/{user_id:path}")
def user(
    app: App,
    user_id: str,
    limit: Limit = 20,
    after: str | None = None,
    role: Literal["lead", "contributor"] | None = None,
) -> HTMLResponse:
    """A user's teams, and their objectives by role."""
    asked = Role(role.upper()) if role else None
    found, took = metered(app.db, lambda: app.profile(user_id, role=asked, limit=limit, after=after))
    groups = [(r, _with_role(found.goals.goals, r)) for r in (Role.LEAD, Role.CONTRIBUTOR)]
    return render("user.html", found=found, took=took, after=after, role=role, groups=[g for g in groups if g[1]])


@routes.get("/goals/{goal_id:path}")
def goal(
    app: App,
    goal_id: str,
    limit: Limit = 12,
    after: str | None = None,
    show: Literal["goal", "people"] = "goal",
) -> HTMLResponse:
    """A goal with what is around it and its subscribers; or all who have a part in it."""
    if show == "people":
        parts, took = metered(app.db, lambda: app.parts_of(goal_id, limit=100, after=after))
        return render("goal_people.html", found=parts, took=took, after=after)
    found, took = metered(app.db, lambda: app.goal_page(goal_id, limit=limit, after=after))
    return render("goal.html", found=found, view=found.view, took=took, after=after)


def error_page(status: int, said: str) -> HTMLResponse:
    return render("error.html", status, code=status, said=said, took=None)


def _with_role(goals: Sequence[GoalView], role: Role) -> list[GoalView]:
    return [view for view in goals if view.role is role]
