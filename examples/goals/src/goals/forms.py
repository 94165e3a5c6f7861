"""What the pages' forms change. Each path is named as the action is and ends with an id; each answers with the page
that shows what was done."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from examples_shared.errors import in_field
from examples_shared.forms import Fields, Form
from examples_shared.principal import DAY_SECONDS
from examples_shared.refused_forms import form_on
from examples_shared.signing_in import bearer, keep_signed_in
from goals.capabilities import Capability
from goals.errors import AlreadyThere, Changed, Invalid, Missing
from goals.model import Role, Team, TeamRole, User
from goals.pages import Shown
from goals.queries import PersonKey, person_key
from goals.rendering import quoted
from goals.requests import (
    COOKIE,
    App,
    Caller,
    Commenter,
    Manager,
    Reporter,
    TeamManager,
    principal_of,
)
from goals.role_names import role_of
from singletable import KeyOf

routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


def _to(folder: str, id: str, more: str = "") -> RedirectResponse:
    return RedirectResponse(f"/{folder}/{quoted(id)}{more}", 303)


# --- who asks ---------------------------------------------------------------------------------------------------------
@routes.post("/sign-in")
def sign_in(request: Request, page: Shown, form: Form) -> Response:
    token = form.text("token")
    if principal_of(request)(bearer(token)) is None:
        return page.show("sign_in.html", 403, took=None, wrong=True)
    return keep_signed_in(COOKIE, token, is_secure=request.url.scheme == "https", max_age_seconds=DAY_SECONDS)


@routes.post("/sign-out")
def sign_out() -> Response:
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE)
    return answer


# --- users and teams --------------------------------------------------------------------------------------------------
@routes.post("/create-user", dependencies=form_on("/"))
def create_user(app: App, form: Form, caller: Caller) -> Response:
    """The caller, who is none here yet."""
    app.create_user(caller, form.text("name"))
    return RedirectResponse("/", 303)


@routes.post("/rename-user/{user_id:path}", dependencies=form_on("/users/{user_id}"))
def rename_user(app: App, form: Form, caller: Caller, user_id: str) -> Response:
    app.check_self(caller, user_id)
    app.rename_user(user_id, form.text("name"), form.given("was_name"))
    return _to("users", user_id)


@routes.post("/delete-user/{user_id:path}", dependencies=form_on("/users/{user_id}"))
def delete_user(app: App, form: Form, caller: Caller, user_id: str) -> Response:
    app.check_self(caller, user_id)
    _check_sure(form)
    app.delete_user(user_id)
    return RedirectResponse("/", 303)


@routes.post("/create-team", dependencies=form_on("/"))
def create_team(app: App, form: Form, caller: Caller) -> Response:
    """Its id, where none is given, is made of its name."""
    app.check_known(caller)
    name = form.text("name")
    id = form.text("id") or re.sub(r"[^\w]+", "-", name.lower()).strip("-") or app.new_id()
    with in_field("id" if form.text("id") else "name"):
        app.create_team(id, name, manager_id=caller)
    return _to("teams", id)


@routes.post("/rename-team/{team_id:path}", dependencies=form_on("/teams/{team_id}?show=people"))
def rename_team(app: App, form: Form, manager: TeamManager, team_id: str) -> Response:
    app.rename_team(team_id, form.text("name"), form.given("was_name"))
    return _to("teams", team_id, "?show=people")


@routes.post("/delete-team/{team_id:path}", dependencies=form_on("/teams/{team_id}?show=people"))
def delete_team(app: App, form: Form, manager: TeamManager, team_id: str) -> Response:
    _check_sure(form)
    app.delete_team(team_id)
    return RedirectResponse("/", 303)


@routes.post("/set-team-role/{team_id:path}", dependencies=form_on("/teams/{team_id}?show=people"))
def set_team_role(app: App, form: Form, manager: TeamManager, team_id: str) -> Response:
    """With a name, of somebody who may be no user here yet."""
    user_id, role = form.text("id"), role_of(TeamRole, form.text("role"))
    if form.text("name"):
        with suppress(AlreadyThere):
            app.create_user(user_id, form.text("name"))
    was = form.given("was_role")
    with in_field("id"):
        app.set_team_role(team_id, user_id, role, role_of(TeamRole, was) if was else None, is_new=was == "")
    return _to("teams", team_id, "?show=people")


@routes.post("/leave-team/{team_id:path}", dependencies=form_on("/teams/{team_id}?show=people"))
def leave_team(app: App, form: Form, caller: Caller, team_id: str) -> Response:
    app.check_team_or_self(team_id, caller, form.text("id"))
    app.leave_team(team_id, form.text("id"))
    return _to("teams", team_id, "?show=people")


# --- goals ------------------------------------------------------------------------------------------------------------
@routes.post("/create-goal/{team_id:path}", dependencies=form_on("/teams/{team_id}?show=new-goal"))
def create_goal(app: App, form: Form, caller: Caller, team_id: str) -> Response:
    app.check_team(team_id, caller, Capability.CREATE_GOALS)
    lead = _lead(form, caller)
    with _missing_in(user="lead"):
        made = app.create_goal(_title(form), lead=lead, holder=Team.by_id(team_id), due=_short(form, "due"))
    return _to("goals", made.id)


@routes.post("/create-key-result/{goal_id:path}", dependencies=form_on("/goals/{goal_id}?show=new-part"))
def create_key_result(app: App, form: Form, manager: Manager, goal_id: str) -> Response:
    with _missing_in(user="lead", team="teams"):
        app.create_key_result(manager.goal, _title(form), **_part(form, manager.user.id))
    return _to("goals", goal_id)


@routes.post("/create-sub-goal/{goal_id:path}", dependencies=form_on("/goals/{goal_id}?show=new-part"))
def create_sub_goal(app: App, form: Form, manager: Manager, goal_id: str) -> Response:
    with _missing_in(user="lead", team="teams"):
        app.create_sub_goal(manager.goal, _title(form), **_part(form, manager.user.id))
    return _to("goals", goal_id)


@routes.post("/change-goal/{goal_id:path}", dependencies=form_on("/goals/{goal_id}?show=edit"))
def change_goal(app: App, page: Shown, form: Form, manager: Manager, goal_id: str) -> Response:
    """What the form leaves as the page showed it is not a change. Where somebody else changed the same, both are shown,
    and the form holds the caller's: sent again, it overwrites."""
    wanted = {"title": _title(form), "progress": _progress(form)}
    wanted |= {name: _short(form, name) for name in ("status", "due")}
    base = _base(form)
    try:
        app.change_goal(goal_id, wanted, base)
    except Changed as changed:
        stored = app.check_goal(goal_id, manager.user.id, Capability.MANAGE_GOAL)
        own = {name: value for name, value in wanted.items() if base.get(name) != value}
        shown = {name: own.get(name, getattr(stored, name)) for name in wanted}
        differences = changed.differences
        return page.show("goal_edit.html", 409, goal=stored, wanted=shown, differences=differences, took=None)
    return _to("goals", goal_id)


@routes.post("/delete-goal/{goal_id:path}", dependencies=form_on("/goals/{goal_id}?show=edit"))
def delete_goal(app: App, form: Form, manager: Manager, goal_id: str) -> Response:
    _check_sure(form)
    app.delete_goal(goal_id)
    return RedirectResponse("/", 303)


@routes.post("/set-role/{goal_id:path}", dependencies=form_on("/goals/{goal_id}?show=people"))
def set_role(app: App, form: Form, manager: Manager, goal_id: str) -> Response:
    role = role_of(Role, form.text("role"))
    was = form.given("was_role")
    with in_field("id"):
        app.set_role(goal_id, _who(form), role, role_of(Role, was) if was else None, is_new=was == "")
    return _to("goals", goal_id, "?show=people")


@routes.post("/leave/{goal_id:path}", dependencies=form_on("/goals/{goal_id}?show=people"))
def leave(app: App, form: Form, caller: Caller, goal_id: str) -> Response:
    key = _who(form)
    app.check_goal_or_self(goal_id, caller, key)
    app.leave(goal_id, key)
    return _to("goals", goal_id, "?show=people")


@routes.post("/subscribe/{goal_id:path}", dependencies=form_on("/goals/{goal_id}"))
def subscribe(app: App, caller: Caller, goal_id: str) -> Response:
    app.subscribe(goal_id, caller)
    return _to("goals", goal_id)


@routes.post("/unsubscribe/{goal_id:path}", dependencies=form_on("/goals/{goal_id}"))
def unsubscribe(app: App, caller: Caller, goal_id: str) -> Response:
    app.unsubscribe(goal_id, caller)
    return _to("goals", goal_id)


# --- what is said of a goal -------------------------------------------------------------------------------------------
@routes.post("/comment/{goal_id:path}", dependencies=form_on("/goals/{goal_id}"))
def comment(app: App, form: Form, commenter: Commenter, goal_id: str) -> Response:
    app.comment(goal_id, commenter.user.id, form.text("text"))
    return _to("goals", goal_id, "#activity")


@routes.post("/check-in/{goal_id:path}", dependencies=form_on("/goals/{goal_id}"))
def check_in(app: App, page: Shown, form: Form, reporter: Reporter, goal_id: str) -> Response:
    progress, status, text = _progress(form), _short(form, "status"), form.text("text")
    try:
        app.check_in(reporter.goal, reporter.user.id, progress=progress, status=status, text=text, base=_base(form))
    except Changed as changed:
        stored = app.check_goal(goal_id, reporter.user.id, Capability.CHECK_IN)
        wanted = {"progress": progress, "status": status, "text": text}
        differences = changed.differences
        return page.show("check_in.html", 409, goal=stored, wanted=wanted, differences=differences, took=None)
    return _to("goals", goal_id, "#activity")


@routes.post("/delete-entry/{goal_id:path}", dependencies=form_on("/goals/{goal_id}"))
def delete_entry(app: App, form: Form, caller: Caller, goal_id: str) -> Response:
    entry = app.read_entry(goal_id, form.text("entry"))
    app.check_goal_or_self(goal_id, caller, User.by_id(entry.by))
    app.delete_entry(entry)
    return _to("goals", goal_id, "#activity")


# --- fields -----------------------------------------------------------------------------------------------------------
def _check_sure(form: Fields) -> None:
    if form.text("sure") != "yes":
        raise Invalid("tick the box first: what is deleted does not come back", "sure")


def _title(form: Fields) -> str:
    title = form.text("title")
    if not 1 <= len(title) <= 500:
        raise Invalid("a goal has a title, of at most 500 characters", "title")
    return title


def _short(form: Fields, name: str) -> str:
    value = form.text(name)
    if len(value) > 100:
        raise Invalid(f"{name} has at most 100 characters", name)
    return value


def _progress(form: Fields) -> int:
    said = form.text("progress")
    if not said.isdecimal() or int(said) > 100:
        raise Invalid(f"progress is 0 to 100 percent, not {said!r}", "progress")
    return int(said)


def _base(form: Fields) -> dict[str, Any]:
    """What the page showed, of the goal's attributes."""
    base: dict[str, Any] = {
        name: form.text(f"was_{name}") for name in ("title", "status", "due") if f"was_{name}" in form
    }
    was = form.text("was_progress")
    return base | ({"progress": int(was)} if was.isdecimal() else {})


def _lead(form: Fields, caller: str) -> KeyOf[User]:
    with in_field("lead"):
        return User.by_id(form.text("lead") or caller)


def _teams(form: Fields) -> list[KeyOf[Team]]:
    """By their ids, one a line or separated by commas."""
    with in_field("teams"):
        return [Team.by_id(id.strip()) for id in form.text("teams").replace("\n", ",").split(",") if id.strip()]


@contextmanager
def _missing_in(**fields: str) -> Generator[None, None, None]:
    """A node of some kind that is not there was named in the field of that kind."""
    try:
        yield
    except Missing as error:
        error.field = fields.get(error.what)
        raise


def _part(form: Fields, caller: str) -> dict[str, Any]:
    return {
        "lead": _lead(form, caller),
        "teams": _teams(form),
        "due": _short(form, "due"),
    }


def _who(form: Fields) -> PersonKey:
    return person_key(form.text("kind") or "user", form.text("id"))
