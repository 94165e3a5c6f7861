"""The command line: the operator's front door, who may do everything.

python -m organisations --db local:organisations.db import kubernetes.yaml
python -m organisations --db local:organisations.db show kubernetes --json
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from examples_shared.cost import metered
from examples_shared.opening import Opening, pass_opened
from examples_shared.principal import InsecureUser
from examples_shared.reports import report_command
from examples_shared.terminal import Commands, print_cost, print_json, progress_bar, stopwatch
from examples_shared.textfile import name_of, read_text
from examples_shared.unknown import Choice, Unknown, unknown_option
from organisations.actions import actions
from organisations.addresses import address
from organisations.github_file import MAX_BYTES, read_all
from organisations.import_github import import_file
from organisations.model import organisations
from organisations.output import print_profile, print_roster, print_steps, profile_json, roster_json
from organisations.principal import SessionTokens
from organisations.service import Service
from organisations.settings import mail_options, post_of
from organisations.walkthrough import walkthrough
from organisations.worker import drain, work, working


@click.group(cls=Commands)
@click.option("--db", "target", required=True, envvar="ORGANISATIONS_DB", help="local, local:FILE, aws, or an address.")
@click.pass_context
def main(context: click.Context, target: str) -> None:
    """Users, organisations, groups and services in one DynamoDB table."""
    context.obj = Opening(context, target, organisations, Service)


main.add_command(report_command(organisations, Path(__file__).with_name("reports"), lambda app: app.db))


@main.command()
@pass_opened
def init(app: Service) -> None:
    """Create the table, on AWS or at an address. Locally that happens by itself."""
    click.echo(f"table {app.db.create_table(organisations).name} is ready")


@main.command("work")
@click.option("--once", is_flag=True, help="End when there is nothing left to do.")
@mail_options
@pass_opened
def do_work(app: Service, /, once: bool, **mail: Any) -> None:
    """Send mails, bring names and details to their copies, delete organisations, write the trail; until Ctrl-C."""
    post = post_of(mail)
    if once:
        drain(app.db, post)
    else:
        work(app.db, post)


@main.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@unknown_option
@pass_opened
def import_(app: Service, file: Path, unknown: Choice) -> None:
    """Make an organisation what a GitHub organisation file says; its id is the file's name. A file with `orgs` on top
    holds several, by their ids."""
    met = Unknown(unknown)
    all_of_it = read_all(read_text(file, MAX_BYTES), file.stem, name_of(file), met)
    for found in all_of_it:
        with stopwatch() as seconds:
            with progress_bar(f"importing {found.name}") as progress:
                import_file(app.db, found, app.now(), progress)
            counts = f"{len(found.spellings)} people, {found.group_count} groups, {len(found.services)} services"
            which = f"{found.organisation_id}: " if len(all_of_it) > 1 else ""
            click.echo(f"imported {which}{counts} in {seconds():.2f} s")
    met.tell()


@main.command()
@click.argument("organisation_id")
@click.option("--json", "as_json", is_flag=True)
@click.option("--refresh", is_flag=True, help="Bring the copies of the users' details up to date.")
@pass_opened
def show(app: Service, organisation_id: str, as_json: bool, refresh: bool) -> None:
    """Groups and services of an organisation, with their people."""
    ask = app.refresh_organisation if refresh else app.organisation_details
    roster, took = metered(app.db, lambda: ask(organisation_id))
    if as_json:
        return print_json(roster_json(roster, took.cost))
    print_roster(roster)
    return print_cost(took.cost)


@main.command()
@click.argument("login")
@click.option("--json", "as_json", is_flag=True)
@click.option("--refresh", is_flag=True, help="Bring the copies of the organisations' names up to date.")
@pass_opened
def user(app: Service, login: str, as_json: bool, refresh: bool) -> None:
    """Organisations and invitations of a user."""
    ask = app.refresh_user if refresh else app.user_details
    profile, took = metered(app.db, lambda: ask(login))
    if as_json:
        return print_json(profile_json(profile, took.cost))
    print_profile(profile)
    return print_cost(took.cost)


@main.command("walkthrough")
@pass_opened
def walk(app: Service) -> None:
    """Every action once, with what each takes. It writes a sample."""
    print_steps(walkthrough(app.db))


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--secret", "secrets", multiple=True, envvar="ORGANISATIONS_SECRETS", help="Signs session tokens.")
@click.option("--insecure-user", help="Every request is this user's: for a demo on this machine.")
@click.option("--no-work", is_flag=True, help="Leave what is put off to `work` in processes of its own.")
@mail_options
@pass_opened
def serve(
    app: Service,
    /,
    port: int,
    host: str,
    secrets: tuple[str, ...],
    insecure_user: str | None,
    no_work: bool,
    **mail: Any,
) -> None:
    """The pages at / and the HTTP API, which /docs shows; and `work` beside them."""
    import uvicorn  # noqa: PLC0415 the other commands start without a web framework

    from organisations.api import LOCAL_HOSTS, create_app  # noqa: PLC0415

    if insecure_user is not None and host not in LOCAL_HOSTS:
        raise click.UsageError("--insecure-user is for this machine alone: leave --host out")
    if insecure_user is None and not secrets:
        raise click.UsageError("say --secret (or set ORGANISATIONS_SECRETS), or --insecure-user for a demo")
    principal = SessionTokens(secrets) if insecure_user is None else InsecureUser(address(insecure_user))
    web = create_app(app, principal, [*LOCAL_HOSTS, host])
    if no_work:
        return uvicorn.run(web, host=host, port=port)
    with working(app.db, post_of({**mail, "base_url": mail["base_url"] or f"http://{host}:{port}"})):
        return uvicorn.run(web, host=host, port=port)


@main.command()
@click.argument("email")
@click.option("--secret", "secrets", multiple=True, required=True, envvar="ORGANISATIONS_SECRETS")
def token(email: str, secrets: tuple[str, ...]) -> None:
    """A session token for a user, signed with the secret that `serve` has."""
    click.echo(SessionTokens(secrets).issue(email))


for command in actions:
    main.add_command(command)
