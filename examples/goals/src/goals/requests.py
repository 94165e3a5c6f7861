"""What the routes of the API and of the pages share: the service, who asks, and what they may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, HTTPException, Query, Request

from examples_shared.principal import Principal
from examples_shared.signing_in import viewer_by
from goals.capabilities import Capability
from goals.model import Goal, User
from goals.service import Service

COOKIE = "goals"


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


def principal_of(request: Request) -> Principal:
    return cast(Principal, request.app.state.principal)


def viewer_of(request: Request) -> str | None:
    """Who asks: by the token in a header or, for pages, in the cookie of the sign-in page."""
    principal = principal_of(request)
    return principal(request.headers) if is_api(request) else viewer_by(principal, request, COOKIE)


def is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def caller_of(request: Request) -> str:
    user_id = viewer_of(request)
    if user_id is None:
        raise HTTPException(401, "sign in first", {"WWW-Authenticate": "Bearer"} if is_api(request) else None)
    return user_id


App = Annotated[Service, Depends(_service)]
Viewer = Annotated[str | None, Depends(viewer_of)]
Caller = Annotated[str, Depends(caller_of)]
Limit = Annotated[int, Query(ge=1, le=100)]


# --- what the caller may do -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class OnGoal:
    """A caller who may do what a route is for, and the goal in its path."""

    user: User
    goal: Goal


def _on_goal(capability: Capability) -> Callable[[Service, str, str], OnGoal]:
    def allowed(app: App, caller: Caller, goal_id: str) -> OnGoal:
        rights = app.rights_on_goal(goal_id, caller)
        rights.check(capability)
        assert rights.user is not None, "who is not a user here has no capability"
        assert isinstance(rights.node, Goal)
        return OnGoal(rights.user, rights.node)

    return allowed


def _team_manager(app: App, caller: Caller, team_id: str) -> str:
    app.check_team(team_id, caller, Capability.MANAGE_TEAM)
    return caller


Manager = Annotated[OnGoal, Depends(_on_goal(Capability.MANAGE_GOAL))]
Reporter = Annotated[OnGoal, Depends(_on_goal(Capability.CHECK_IN))]
Commenter = Annotated[OnGoal, Depends(_on_goal(Capability.COMMENT))]
TeamManager = Annotated[str, Depends(_team_manager)]
