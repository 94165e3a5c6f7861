"""The command line: what reads, imports and serves. The commands that change something are in `cli_actions`.

python -m goals --db local:goals.db import enhancements.jsonl
python -m goals --db local:goals.db team sig-auth --json
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from examples_shared.cost import metered
from examples_shared.opening import Opening, pass_opened
from examples_shared.reports import report_command
from examples_shared.terminal import Commands, print_cost, print_json, print_table, progress_bar, stopwatch
from examples_shared.textfile import name_of, read_text
from examples_shared.unknown import Choice, Unknown, unknown_option
from goals.cli_actions import COMMANDS
from goals.enhancements import MAX_BYTES, read
from goals.import_enhancements import import_enhancements
from goals.model import Role, Team, records
from goals.output import goal_json, list_json, print_activity, print_goal, print_list, print_tree
from goals.queries import Order
from goals.role_names import ROLES, role_of
from goals.sample import load_sample
from goals.service import Service
from goals.views import GoalList

MOST = 1000
"""Goals a page; up to 100 are 3 requests, more are side by side in as many round trips."""


@click.group(cls=Commands)
@click.option("--db", "target", required=True, envvar="GOALS_DB", help="local, local:FILE, aws, or an address.")
@click.option("--as", "as_user", metavar="USER", envvar="GOALS_AS", help="Act as this user, by their roles.")
@click.pass_context
def main(context: click.Context, target: str, as_user: str | None) -> None:
    """Goals, users and teams as a graph in one DynamoDB table."""
    context.obj = Opening(context, target, records, Service)


main.add_command(report_command(records, Path(__file__).with_name("reports"), lambda app: app.db))


for each in COMMANDS:
    main.add_command(each)


@main.command()
@pass_opened
def init(app: Service) -> None:
    """Create the table, on AWS or at an address. Locally that happens by itself."""
    click.echo(f"table {app.db.create_table(records).name} is ready")


@main.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@unknown_option
@pass_opened
def import_(app: Service, file: Path, unknown: Choice) -> None:
    """Make the goals of a file of enhancement proposals what it says."""
    met = Unknown(unknown)
    with stopwatch() as seconds:
        found = read(read_text(file, MAX_BYTES), name_of(file), met)
        with progress_bar(f"importing {file.name}") as progress:
            done = import_enhancements(app.db, found, progress)
        click.echo(
            f"imported {len(found)} goals ({done.new} new nodes, {done.changed} changed goals) in {seconds():.2f} s"
        )
    met.tell()


@main.command()
@pass_opened
def sample(app: Service) -> None:
    """Write a small company's goals, to look at with `serve`."""
    load_sample(app)
    click.echo("wrote the sample: team T1, user U1, goal G1")


def list_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a list of goals."""
    function = click.option("--after", help="The cursor that the page before gave.")(function)
    function = click.option("--limit", type=click.IntRange(1, MOST), default=100, show_default=True)(function)
    return click.option("--json", "as_json", is_flag=True)(function)


@main.command()
@click.argument("team_id", metavar="TEAM")
@click.option("--by", type=click.Choice([o.value for o in Order]), default=Order.RANK.value, show_default=True)
@list_options
@pass_opened
def team(app: Service, team_id: str, by: str, as_json: bool, limit: int, after: str | None) -> None:
    """A page of a team's goals, with leads, contributors and teams."""
    key = Team.by_id(team_id)
    _show(app, team_id, as_json, lambda: app.goals_of(key, limit=limit, after=after, order=Order(by)))


@main.command()
@click.argument("user_id", metavar="USER")
@click.option("--role", type=click.Choice(ROLES[:2]), help="Exactly this one.")
@click.option("--at-least", type=click.Choice(ROLES[:2]), default="contributor", show_default=True)
@list_options
@pass_opened
def user(
    app: Service, user_id: str, role: str | None, at_least: str, as_json: bool, limit: int, after: str | None
) -> None:
    """A page of the goals in which a user has one role, or at least one."""
    asked, minimum = role_of(Role, role) if role else None, role_of(Role, at_least)
    _show(app, user_id, as_json, lambda: app.goals_of_user(user_id, asked, minimum=minimum, limit=limit, after=after))


@main.command()
@click.argument("goal_id", metavar="GOAL")
@click.option("--json", "as_json", is_flag=True)
@pass_opened
def goal(app: Service, goal_id: str, as_json: bool) -> None:
    """One goal, with its people, and the goals that it sees also or replaces."""
    (view, links), took = metered(app.db, lambda: app.goal_with_links(goal_id))
    if as_json:
        return print_json(goal_json(view) | {"links": links})
    print_goal(view, links)
    return print_cost(took.cost)


@main.command()
@click.argument("goal_id", metavar="GOAL")
@click.option("--json", "as_json", is_flag=True)
@pass_opened
def tree(app: Service, goal_id: str, as_json: bool) -> None:
    """The whole tree that a goal is in, from its topmost objective."""
    found, took = metered(app.db, lambda: app.tree_of(goal_id))
    if as_json:
        from goals.schemas import TreeOut  # noqa: PLC0415 pydantic is slow to load

        return print_json(TreeOut.of(found).model_dump())
    print_tree(found)
    return print_cost(took.cost)


@main.command()
@click.argument("goal_id", metavar="GOAL")
@list_options
@pass_opened
def activity(app: Service, goal_id: str, as_json: bool, limit: int, after: str | None) -> None:
    """A page of a goal's check-ins and comments, newest first."""
    found, took = metered(app.db, lambda: app.activity_of(goal_id, limit=limit, after=after))
    if as_json:
        from goals.schemas import ActivityOut  # noqa: PLC0415 pydantic is slow to load

        return print_json(ActivityOut.of(found, took.cost).model_dump(mode="json"))
    print_activity(found)
    return print_cost(took.cost)


@main.command()
@list_options
@pass_opened
def teams(app: Service, as_json: bool, limit: int, after: str | None) -> None:
    """A page of the teams, by name."""
    found, took = metered(app.db, lambda: app.teams_of(limit=limit, after=after))
    if as_json:
        from goals.schemas import TeamsOut  # noqa: PLC0415 pydantic is slow to load

        return print_json(TeamsOut.of(found, took.cost).model_dump())
    print_table("", ("id", "name"), [(team.id, team.name) for team in found.teams])
    if found.after is not None:
        click.echo(f"more: --after {found.after}")
    return print_cost(took.cost)


@main.command("team-people")
@click.argument("team_id", metavar="TEAM")
@list_options
@pass_opened
def team_people(app: Service, team_id: str, as_json: bool, limit: int, after: str | None) -> None:
    """A page of a team's people, managers first."""
    found, took = metered(app.db, lambda: app.people_of(team_id, limit=limit, after=after))
    if as_json:
        from goals.schemas import PartsOut  # noqa: PLC0415 as above

        return print_json(PartsOut.of_team(found, took.cost).model_dump())
    print_table(found.team.name, ("id", "name", "role"), [(m.user.id, m.user.name, m.role.word) for m in found.members])
    return print_cost(took.cost)


@main.command("goal-people")
@click.argument("goal_id", metavar="GOAL")
@list_options
@pass_opened
def goal_people(app: Service, goal_id: str, as_json: bool, limit: int, after: str | None) -> None:
    """A page of all who have a part in a goal."""
    found, took = metered(app.db, lambda: app.parts_of(goal_id, limit=limit, after=after))
    if as_json:
        from goals.schemas import PartsOut  # noqa: PLC0415 as above

        return print_json(PartsOut.of_goal(found, took.cost).model_dump())
    print_table(found.goal.title, ("id", "name", "role"), [(p.who.id, p.who.name, p.role.word) for p in found.parts])
    return print_cost(took.cost)


@main.command("goal-rights")
@click.argument("goal_id", metavar="GOAL")
@click.argument("user_id", metavar="USER")
@pass_opened
def goal_rights(app: Service, goal_id: str, user_id: str) -> None:
    """What a user may do on a goal, one a line."""
    for word in app.rights_on_goal(goal_id, user_id).words:
        click.echo(word)


@main.command("team-rights")
@click.argument("team_id", metavar="TEAM")
@click.argument("user_id", metavar="USER")
@pass_opened
def team_rights(app: Service, team_id: str, user_id: str) -> None:
    """What a user may do in a team, one a line."""
    for word in app.rights_on_team(team_id, user_id).words:
        click.echo(word)


def _show(app: Service, title: str, as_json: bool, ask: Callable[[], GoalList]) -> None:
    goals, took = metered(app.db, ask)
    if as_json:
        return print_json(list_json(goals, took.cost))
    print_list(title, goals)
    return print_cost(took.cost)


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--secret", "secrets", multiple=True, envvar="GOALS_SECRETS", help="Signs session tokens.")
@click.option("--insecure-user", help="Every request is this user's: for a demo on this machine.")
@pass_opened
def serve(app: Service, port: int, host: str, secrets: tuple[str, ...], insecure_user: str | None) -> None:
    """The web pages, and the HTTP API under /api. Reading is free to all who reach it; changes take a token."""
    import uvicorn  # noqa: PLC0415 the other commands start without a web framework

    from goals.api import LOCAL_HOSTS, create_app  # noqa: PLC0415
    from goals.principal import principal_of  # noqa: PLC0415

    if insecure_user is not None and host not in LOCAL_HOSTS:
        raise click.UsageError("--insecure-user is for this machine alone: leave --host out")
    web = create_app(app, principal_of(secrets, insecure_user), [*LOCAL_HOSTS, host])
    uvicorn.run(web, host=host, port=port)


@main.command()
@click.argument("user_id")
@click.option("--secret", "secrets", multiple=True, required=True, envvar="GOALS_SECRETS")
def token(user_id: str, secrets: tuple[str, ...]) -> None:
    """A session token for a user, signed with the secret that `serve` has."""
    from goals.principal import SessionTokens  # noqa: PLC0415 the other commands need no signatures

    click.echo(SessionTokens(secrets).issue(user_id))
