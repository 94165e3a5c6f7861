"""The web application: the HTTP API under /api, and the pages. OpenAPI at /api/openapi.json.

Everybody who reaches it may read; who signs in may make goals and subscribe; the leads of a goal change it. Ids are the
rest of their path, so that an id may hold a slash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from examples.goals import pages
from examples.goals.errors import AlreadyThere, ApplicationError, Invalid, Missing, NotALead, Refused
from examples.goals.model import Goal, GoalKind, Organisation, Role, Team, User
from examples.goals.queries import Order
from examples.goals.rendering import HEADERS
from examples.goals.schemas import (
    GoalChangeIn,
    GoalIn,
    GoalOut,
    GoalPageOut,
    GoalsOut,
    KeyResultIn,
    PartIn,
    PartsOut,
    ProfileOut,
    Who,
)
from examples.goals.service import Service
from examples.shared.cost import metered
from examples.shared.principal import Principal
from singletable import InvalidCursor, InvalidValue, Unavailable, attr
from singletable.errors import TooLarge, TransactionConflict

LOCAL_HOSTS = ("127.0.0.1", "localhost")
FOLDER = Path(__file__).parent

STATUS: dict[type[Exception], int] = {
    Missing: 404,
    NotALead: 403,
    Refused: 409,
    Invalid: 422,
    InvalidValue: 422,
    InvalidCursor: 422,
    TooLarge: 413,
    TransactionConflict: 503,
    Unavailable: 503,
}


def create_app(service: Service, principal: Principal, hosts: Sequence[str] = LOCAL_HOSTS) -> FastAPI:
    """The application over a service. `hosts` are the names it answers to: a page of another site can't reach it by a
    name of its own that leads here."""
    app = FastAPI(title="Goals", openapi_url="/api/openapi.json", docs_url=None, redoc_url=None)
    app.state.service, app.state.principal = service, principal
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.middleware("http")(_with_headers)
    app.include_router(routes)
    app.include_router(pages.routes)
    app.mount("/static", StaticFiles(directory=FOLDER / "static"), name="static")
    for kind, status in STATUS.items():
        app.add_exception_handler(kind, _handler(status))
    app.add_exception_handler(404, _handler(404))
    return app


async def _with_headers(request: Request, go_on: Callable[[Request], Any]) -> Response:
    response = cast(Response, await go_on(request))
    response.headers.update(HEADERS)
    return response


def _handler(status: int) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, error: Exception) -> Response:
        """The library's own errors are not passed on."""
        said = str(error) if isinstance(error, ApplicationError) else _SAID.get(status, "refused")
        if request.url.path.startswith("/api/"):
            return JSONResponse({"detail": said}, status)
        return pages.error_page(status, said)

    return answer


_SAID = {404: "there is no such page", 422: "begin again with the first page", 503: "busy: try again in a moment"}


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


def _caller(request: Request) -> str:
    user_id = cast(Principal, request.app.state.principal)(request.headers)
    if user_id is None:
        raise HTTPException(401, "sign in first", {"WWW-Authenticate": "Bearer"})
    return user_id


def _lead(request: Request, goal_id: str) -> str:
    """The caller, who leads the goal in the path."""
    user_id = _caller(request)
    _service(request).check_leads(goal_id, user_id)
    return user_id


App = Annotated[Service, Depends(_service)]
Caller = Annotated[str, Depends(_caller)]
Lead = Annotated[str, Depends(_lead)]
Limit = Annotated[int, Query(ge=1, le=100)]
routes = APIRouter(prefix="/api")


# --- lists ------------------------------------------------------------------------------------------------------------
@routes.get("/teams/{team_id:path}")
def team_goals(app: App, team_id: str, limit: Limit = 25, after: str | None = None, by: Order = Order.RANK) -> GoalsOut:
    """A page of a team's objectives with their key results."""
    found, took = metered(app.db, lambda: app.holder_page(Team.by_id(team_id), limit=limit, after=after, order=by))
    return GoalsOut.of(found.goals, took.cost)


@routes.get("/organisations/{organisation_id:path}")
def organisation_goals(
    app: App, organisation_id: str, limit: Limit = 25, after: str | None = None, by: Order = Order.RANK
) -> GoalsOut:
    """A page of an organisation's own objectives with their key results."""
    key = Organisation.by_id(organisation_id)
    found, took = metered(app.db, lambda: app.holder_page(key, limit=limit, after=after, order=by))
    return GoalsOut.of(found.goals, took.cost)


@routes.get("/users/{user_id:path}")
def profile(
    app: App, user_id: str, limit: Limit = 25, after: str | None = None, role: Role | None = None
) -> ProfileOut:
    """A user with a page of their objectives, in any role or in one."""
    found, took = metered(app.db, lambda: app.profile(user_id, role=role, limit=limit, after=after))
    return ProfileOut.profile(found, took.cost)


# --- goals ------------------------------------------------------------------------------------------------------------
@routes.get("/goals/{goal_id:path}")
def goal_page(app: App, goal_id: str, limit: Limit = 25, after: str | None = None) -> GoalPageOut:
    """A goal with what is around it, and a page of its subscribers."""
    found, took = metered(app.db, lambda: app.goal_page(goal_id, limit=limit, after=after))
    return GoalPageOut.of(found, took.cost)


@routes.post("/goals", status_code=201)
def create_goal(app: App, caller: Caller, given: GoalIn) -> GoalOut:
    """The caller leads it."""
    made = app.create_goal(given.title, lead=User.by_id(caller), holder=Team.by_id(given.team_id), due=given.due)
    return GoalOut.of(made)


@routes.post("/key-results/{goal_id:path}", status_code=201)
def add_key_result(app: App, lead: Lead, goal_id: str, given: KeyResultIn) -> GoalOut:
    made = app.add_part(
        goal_id, GoalKind.KEY_RESULT, given.title, lead=User.by_id(given.lead_id), position=given.position
    )
    return GoalOut.of(made)


@routes.patch("/goals/{goal_id:path}")
def change_goal(app: App, lead: Lead, goal_id: str, given: GoalChangeIn) -> GoalOut:
    said = given.model_dump(exclude_none=True)
    if not said:
        raise Invalid("say what is to change")
    return GoalOut.of(app.change_goal(goal_id, *(attr(getattr(Goal, name)).set(value) for name, value in said.items())))


@routes.delete("/goals/{goal_id:path}", status_code=204)
def delete_goal(app: App, lead: Lead, goal_id: str) -> None:
    app.delete_goal(goal_id)


# --- people -----------------------------------------------------------------------------------------------------------
@routes.get("/goal-people/{goal_id:path}")
def goal_people(app: App, goal_id: str, limit: Limit = 100, after: str | None = None) -> PartsOut:
    """All who have a part in a goal, by pages."""
    found, took = metered(app.db, lambda: app.parts_of(goal_id, limit=limit, after=after))
    return PartsOut.of_goal(found, took.cost)


@routes.put("/goal-people/{goal_id:path}", status_code=204)
def put_part(app: App, lead: Lead, goal_id: str, given: PartIn) -> None:
    """Give a part, or change it."""
    try:
        app.join(goal_id, given.who.key, given.role)
    except AlreadyThere:
        app.change_role(goal_id, given.who.key, given.role)


@routes.delete("/goal-people/{goal_id:path}", status_code=204)
def delete_part(app: App, lead: Lead, goal_id: str, who: Annotated[Who, Query()]) -> None:
    if not app.leave(goal_id, who.key):
        raise Missing(f"part in goal {goal_id!r} of", who.id)


@routes.put("/subscriptions/{goal_id:path}", status_code=204)
def subscribe(app: App, caller: Caller, goal_id: str) -> None:
    """The caller, to a goal."""
    app.subscribe(goal_id, caller)


@routes.delete("/subscriptions/{goal_id:path}", status_code=204)
def unsubscribe(app: App, caller: Caller, goal_id: str) -> None:
    app.unsubscribe(goal_id, caller)


@routes.get("/team-people/{team_id:path}")
def team_people(app: App, team_id: str, limit: Limit = 100, after: str | None = None) -> PartsOut:
    """A team's people, managers first, by pages."""
    found, took = metered(app.db, lambda: app.people_of(team_id, limit=limit, after=after))
    return PartsOut.of_team(found, took.cost)
