"""The web pages. Each says in its footer what it took. What they change goes through `forms`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from examples_shared.cost import metered
from examples_shared.filling import Sent, filled
from examples_shared.forms import Fields
from examples_shared.refused_forms import typed
from goals.bodies import RoleWord
from goals.capabilities import Capability
from goals.model import GoalKind, Organisation, Role, Team, User
from goals.queries import HolderKey, Order
from goals.rendering import quoted, render
from goals.requests import COOKIE, App, Limit, Viewer, caller_of, viewer_of
from goals.views import GoalView

routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)

TeamShow = Annotated[Literal["goals", "people", "new-goal"], Query(alias="show")]
GoalShow = Annotated[Literal["goal", "people", "subscribers", "tree", "edit", "new-part"], Query(alias="show")]


FOUND = ("teams", "users", "goals")


class Page:
    """What every page shows: who asks."""

    def __init__(self, request: Request, viewer: Viewer) -> None:
        self.viewer, self.has_cookie = viewer, COOKIE in request.cookies

    def show(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        return render(template, status, viewer=self.viewer, has_cookie=self.has_cookie, **values)


Shown = Annotated[Page, Depends(Page)]


@routes.get("/")
def start(app: App, page: Shown, limit: Limit = 60, after: str | None = None) -> HTMLResponse:
    """The teams, by name; for a token's user who is none here yet, the form that makes them one."""
    found, took = metered(
        app.db,
        lambda: (
            app.teams_of(limit=limit, after=after),
            page.viewer and app.db.get(User.by_id(page.viewer)),
        ),
    )
    return page.show("start.html", found=found[0], me=found[1], took=took, after=after)


@routes.get("/find")
def find(kind: Literal["teams", "users", "goals"], id: str) -> RedirectResponse:
    """To the page of what was typed."""
    return RedirectResponse(f"/{kind}/{quoted(id.strip())}", 303)


@routes.get("/sign-in")
def sign_in(page: Shown) -> HTMLResponse:
    return page.show("sign_in.html", took=None, wrong=False)


@routes.get("/teams/{team_id:path}")
def team(
    request: Request,
    app: App,
    page: Shown,
    team_id: str,
    limit: Limit = 20,
    after: str | None = None,
    by: Order = Order.RANK,
    show: TeamShow = "goals",
) -> HTMLResponse:
    """A team's objectives with their key results; its people; the form of a new goal."""
    if show == "people":
        people, took = metered(app.db, lambda: app.people_of(team_id, limit=limit, after=after, viewer=page.viewer))
        return page.show("team_people.html", found=people, took=took, after=after)
    if show == "new-goal":
        caller = caller_of(request)
        rights, took = metered(app.db, lambda: app.rights_on_team(team_id, caller))
        rights.check(Capability.CREATE_GOALS)
        return page.show("new_goal.html", team=rights.node, took=took)
    return _holder(app, page, Team.by_id(team_id), limit, after, by)


@routes.get("/organisations/{organisation_id:path}")
def organisation(
    app: App, page: Shown, organisation_id: str, limit: Limit = 20, after: str | None = None, by: Order = Order.RANK
) -> HTMLResponse:
    """An organisation's own objectives with their key results."""
    return _holder(app, page, Organisation.by_id(organisation_id), limit, after, by)


def _holder(app: App, page: Page, key: HolderKey, limit: int, after: str | None, by: Order) -> HTMLResponse:
    found, took = metered(app.db, lambda: app.holder_page(key, limit=limit, after=after, order=by))
    return page.show("holder.html", found=found, took=took, after=after, by=by.value)


@routes.get("/users/{user_id:path}")
def user(
    app: App,
    page: Shown,
    user_id: str,
    limit: Limit = 20,
    after: str | None = None,
    role: RoleWord | None = None,
    at_least: RoleWord = Role.CONTRIBUTOR,
) -> HTMLResponse:
    """A user's teams, and their objectives by role."""
    found, took = metered(app.db, lambda: app.profile(user_id, role=role, minimum=at_least, limit=limit, after=after))
    groups = [(r, _with_role(found.goals.goals, r)) for r in (Role.LEAD, Role.CONTRIBUTOR)]
    return page.show("user.html", found=found, took=took, after=after, role=role, groups=[g for g in groups if g[1]])


@routes.get("/goals/{goal_id:path}")
def goal(
    request: Request,
    app: App,
    page: Shown,
    goal_id: str,
    limit: Limit = 12,
    after: str | None = None,
    show: GoalShow = "goal",
) -> HTMLResponse:
    """A goal with what is around it and what was said of it; its people, subscribers, tree; what changes it."""
    if show == "people":
        parts, took = metered(app.db, lambda: app.parts_of(goal_id, limit=100, after=after, viewer=page.viewer))
        return page.show("goal_people.html", found=parts, goal=parts.goal, took=took, after=after)
    if show == "subscribers":
        users, took = metered(app.db, lambda: app.subscribers_of(goal_id, limit=limit, after=after))
        return page.show("goal_subscribers.html", found=users, goal=users.goal, took=took, after=after)
    if show == "tree":
        tree, took = metered(app.db, lambda: app.tree_of(goal_id))
        return page.show("goal_tree.html", tree=tree, goal_id=goal_id, took=took)
    if show in ("edit", "new-part"):
        caller = caller_of(request)
        found, took = metered(app.db, lambda: app.check_goal(goal_id, caller, Capability.MANAGE_GOAL))
        if show == "edit":
            return page.show("goal_edit.html", goal=found, wanted=found, differences={}, took=took)
        return page.show("new_part.html", goal=found, took=took)
    whole, took = metered(app.db, lambda: app.goal_page(goal_id, limit=limit, after=after, viewer=page.viewer))
    is_key_result = whole.view.goal.kind is GoalKind.KEY_RESULT
    return page.show("goal.html", found=whole, view=whole.view, is_key_result=is_key_result, took=took, after=after)


def error_page(request: Request, status: int, said: str) -> HTMLResponse:
    """What went wrong, and what was sent: nothing that somebody typed is lost."""
    page = Page(request, viewer_of(request))
    if status == 401:
        return page.show("sign_in.html", status, took=None, wrong=False)
    shown = page.show("error.html", status, code=status, said=said, typed=typed(request), took=None)
    return _sought(request, shown, said) if request.method == "GET" and status in (404, 422) else shown


def _sought(request: Request, shown: HTMLResponse, said: str) -> HTMLResponse:
    """A page that is not there, with its id still in the field for finding."""
    kind, _, id = request.scope["path"].strip("/").partition("/")
    sent = Sent("/find", "get", Fields([("kind", kind), ("id", id)]))
    html = filled(bytes(shown.body).decode(), sent, said, "id") if kind in FOUND else None
    return HTMLResponse(html, shown.status_code) if html else shown


def _with_role(goals: Sequence[GoalView], role: Role) -> list[GoalView]:
    return [view for view in goals if view.role is role]
