"""The commands that change something: named as the actions are, with the API's words for arguments.

Without `--as` they are the operator's, who may do everything; with it, that user's, by the same rights as in the API.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from examples_shared.opening import pass_opened
from goals.capabilities import Capability
from goals.errors import Invalid, Missing
from goals.model import Goal, Role, Team, TeamRole, User
from goals.queries import person_key
from goals.role_names import ROLES, TEAM_ROLES, role_of
from goals.service import Service

F = TypeVar("F", bound=Callable[..., Any])

COMMANDS: list[click.Command] = []
KINDS = ("user", "team", "organisation")


def actor() -> str | None:
    """Who acts: the user of `--as`; None for the operator."""
    said: str | None = click.get_current_context().find_root().params["as_user"]
    return said


def author() -> str:
    found = actor()
    if found is None:
        raise click.UsageError("say whose it is: --as USER before the command")
    return found


def check_goal(app: Service, goal_id: str, capability: Capability) -> Goal | str:
    """The goal, where rights were read with it; else its id."""
    user_id = actor()
    return goal_id if user_id is None else app.check_goal(goal_id, user_id, capability)


def check_team(app: Service, team_id: str, capability: Capability) -> None:
    user_id = actor()
    if user_id is not None:
        app.check_team(team_id, user_id, capability)


def command(*arguments: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], click.Command]:
    """A command named as its function, with arguments and options in the order in which they are given."""

    def make(function: Callable[..., Any]) -> click.Command:
        body: Any = pass_opened(function)
        for each in reversed(arguments):
            body = each(body)
        made = click.command(function.__name__.rstrip("_").replace("_", "-"), help=function.__doc__)(body)
        COMMANDS.append(made)
        return made

    return make


def _argument(name: str) -> Callable[[Any], Any]:
    return click.argument(name)


TEAM_ROLE, ROLE = (
    click.argument("role", type=click.Choice(TEAM_ROLES)),
    click.argument("role", type=click.Choice(ROLES)),
)
KIND = click.option("--kind", type=click.Choice(KINDS), default="user", show_default=True)
WAS = click.option("--was", help="As you saw it; refused where it is another by now.")
LEAD = click.option("--lead", help="A user; the user of --as, where it is left out.")
TEAMS = click.option("--team", "teams", multiple=True, help="May be given several times.")
DUE = click.option("--due", default="", help="A date, a quarter, a release.")
PROGRESS = click.IntRange(0, 100)


# --- users and teams --------------------------------------------------------------------------------------------------
@command(_argument("user"), _argument("name"))
def create_user(app: Service, user: str, name: str) -> None:
    """A new user."""
    by = actor()
    if by is not None and by != user:
        app.check_known(by)
    click.echo(app.create_user(user, name).id)


@command(_argument("user"), _argument("name"), WAS)
def rename_user(app: Service, user: str, name: str, was: str | None) -> None:
    """Change a user's name."""
    by = actor()
    if by is not None:
        app.check_self(by, user)
    app.rename_user(user, name, was)


@command(_argument("user"))
def delete_user(app: Service, user: str) -> None:
    """Delete a user with all their parts. What they said stays."""
    by = actor()
    if by is not None:
        app.check_self(by, user)
    if not app.delete_user(user):
        raise Missing("user", user)


@command(_argument("team"), _argument("name"), click.option("--manager", help="A user."))
def create_team(app: Service, team: str, name: str, manager: str | None) -> None:
    """A new team. The user of --as manages it."""
    by = actor()
    if by is not None:
        app.check_known(by)
    click.echo(app.create_team(team, name, manager_id=manager or by).id)


@command(_argument("team"), _argument("name"), WAS)
def rename_team(app: Service, team: str, name: str, was: str | None) -> None:
    """Change a team's name."""
    check_team(app, team, Capability.MANAGE_TEAM)
    app.rename_team(team, name, was)


@command(_argument("team"))
def delete_team(app: Service, team: str) -> None:
    """Delete a team. Its goals stay."""
    check_team(app, team, Capability.MANAGE_TEAM)
    if not app.delete_team(team):
        raise Missing("team", team)


@command(_argument("team"), _argument("user"), TEAM_ROLE, WAS)
def set_team_role(app: Service, team: str, user: str, role: str, was: str | None) -> None:
    """A user's part in a team, or another one."""
    check_team(app, team, Capability.MANAGE_TEAM)
    app.set_team_role(team, user, role_of(TeamRole, role), role_of(TeamRole, was) if was else None)


@command(_argument("team"), _argument("user"))
def leave_team(app: Service, team: str, user: str) -> None:
    """Take a user's part in a team away."""
    by = actor()
    if by is not None:
        app.check_team_or_self(team, by, user)
    if not app.leave_team(team, user):
        raise Missing(f"part in team {team!r} of", user)


# --- goals ------------------------------------------------------------------------------------------------------------
@command(_argument("title"), click.option("--team", required=True), LEAD, DUE, click.option("--id", "goal"))
def create_goal(app: Service, title: str, team: str, lead: str | None, due: str, goal: str | None) -> None:
    """A new objective of a team. Prints its id."""
    check_team(app, team, Capability.CREATE_GOALS)
    holder = Team.by_id(team)
    click.echo(app.create_goal(title, lead=_lead(lead), holder=holder, goal_id=goal, due=due).id)


@command(_argument("goal"), _argument("title"), LEAD, TEAMS, DUE, click.option("--position", default=""))
def create_key_result(app: Service, goal: str, title: str, lead: str | None, **more: Any) -> None:
    """A new key result of an objective. Prints its id."""
    of = check_goal(app, goal, Capability.MANAGE_GOAL)
    click.echo(app.create_key_result(of, title, lead=_lead(lead), **_part(**more)).id)


@command(_argument("goal"), _argument("title"), LEAD, TEAMS, DUE, click.option("--position", default=""))
def create_sub_goal(app: Service, goal: str, title: str, lead: str | None, **more: Any) -> None:
    """A new objective that is part of another. Prints its id."""
    of = check_goal(app, goal, Capability.MANAGE_GOAL)
    click.echo(app.create_sub_goal(of, title, lead=_lead(lead), **_part(**more)).id)


@command(
    _argument("goal"),
    click.option("--title"),
    click.option("--status"),
    click.option("--progress", type=PROGRESS),
    click.option("--due"),
    click.option("--was", multiple=True, metavar="NAME=VALUE", help="As you saw it; may be given several times."),
)
def change_goal(app: Service, goal: str, was: tuple[str, ...], **changes: Any) -> None:
    """Change a goal's own data. What is left out stays."""
    check_goal(app, goal, Capability.MANAGE_GOAL)
    app.change_goal(goal, {name: value for name, value in changes.items() if value is not None}, _base(was))


@command(_argument("goal"))
def delete_goal(app: Service, goal: str) -> None:
    """Delete a goal with its key results and what was said of them."""
    check_goal(app, goal, Capability.MANAGE_GOAL)
    if not app.delete_goal(goal):
        raise Missing("goal", goal)


@command(_argument("goal"), _argument("id"), ROLE, KIND, WAS)
def set_role(app: Service, goal: str, id: str, role: str, kind: Any, was: str | None) -> None:
    """Somebody's part in a goal, or another one."""
    check_goal(app, goal, Capability.MANAGE_GOAL)
    app.set_role(goal, person_key(kind, id), role_of(Role, role), role_of(Role, was) if was else None)


@command(_argument("goal"), _argument("id"), KIND)
def leave(app: Service, goal: str, id: str, kind: Any) -> None:
    """Take somebody's part in a goal away."""
    by, who = actor(), person_key(kind, id)
    if by is not None:
        app.check_goal_or_self(goal, by, who)
    if not app.leave(goal, who):
        raise Missing(f"part in goal {goal!r} of", id)


@command(_argument("goal"))
def subscribe(app: Service, goal: str) -> None:
    """Subscribe the user of --as to a goal."""
    app.subscribe(goal, author())


@command(_argument("goal"))
def unsubscribe(app: Service, goal: str) -> None:
    """Take back the subscription of the user of --as."""
    app.unsubscribe(goal, author())


# --- what is said of a goal -------------------------------------------------------------------------------------------
@command(_argument("goal"), _argument("text"))
def comment(app: Service, goal: str, text: str) -> None:
    """The user of --as comments on a goal. Prints the comment's id."""
    by = author()
    app.check_goal(goal, by, Capability.COMMENT)
    click.echo(app.comment(goal, by, text).id)


@command(
    _argument("goal"),
    click.argument("text", default=""),
    click.option("--progress", type=PROGRESS, required=True),
    click.option("--status"),
    click.option("--was", multiple=True, metavar="NAME=VALUE", help="As you saw it; may be given several times."),
)
def check_in(app: Service, goal: str, text: str, progress: int, status: str | None, was: tuple[str, ...]) -> None:
    """The user of --as says how far a goal is: its progress and status change. Prints the check-in's id."""
    by = author()
    found = app.check_goal(goal, by, Capability.CHECK_IN)
    click.echo(app.check_in(found, by, progress=progress, status=status, text=text, base=_base(was)).id)


@command(_argument("goal"), _argument("entry"))
def delete_entry(app: Service, goal: str, entry: str) -> None:
    """Delete a check-in or a comment."""
    found, by = app.read_entry(goal, entry), actor()
    if by is not None:
        app.check_goal_or_self(goal, by, User.by_id(found.by))
    app.delete_entry(found)


# --- arguments --------------------------------------------------------------------------------------------------------
def _lead(lead: str | None) -> Any:
    if lead is None and actor() is None:
        raise click.UsageError("say who leads it: --lead USER")
    return User.by_id(lead or author())


def _part(teams: tuple[str, ...], due: str, position: str) -> dict[str, Any]:
    return {"teams": [Team.by_id(id) for id in teams], "due": due, "position": position}


def _base(said: tuple[str, ...]) -> dict[str, Any]:
    base: dict[str, Any] = {}
    for each in said:
        name, _, value = each.partition("=")
        if name not in ("title", "status", "progress", "due"):
            raise Invalid(f"--was {each!r}: it is title=, status=, progress= or due=")
        base[name] = int(value) if name == "progress" and value.isdecimal() else value
    return base
