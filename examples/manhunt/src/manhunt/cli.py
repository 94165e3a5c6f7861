"""The command line: the operator's front door, who speaks for every domain.

python -m manhunt --db local:manhunt.db demo
python -m manhunt --db local simulate --searches 100 --json
"""

from __future__ import annotations

import os
import secrets as random_secrets
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from examples_shared.cost import metered
from examples_shared.opening import Opening, pass_opened
from examples_shared.reports import report_command
from examples_shared.terminal import Commands, print_cost, print_json
from manhunt import actions, actions_incidents
from manhunt.actions import Operator
from manhunt.check import check
from manhunt.escalation import Escalation
from manhunt.links import Links
from manhunt.model import manhunt, tasks
from manhunt.output import print_picture
from manhunt.picture import picture
from manhunt.providers import echoing
from manhunt.sample import load_sample
from manhunt.service import Service
from manhunt.settings import (
    base_url_option,
    provider_options,
    providers_of,
    secret_option,
    telephone_of,
    telephone_options,
)
from manhunt.simulate import Outcome, simulate
from manhunt.storm import STAGE_SECONDS, storm
from manhunt.worker import WorkerSettings, work
from singletable.tasks import TaskWorker

LOCAL_HOSTS = ("127.0.0.1", "localhost")


@click.group(cls=Commands)
@click.option(
    "--db",
    "target",
    default="local:manhunt.db",
    show_default=True,
    envvar="MANHUNT_DB",
    help="local, local:FILE, aws, or an address.",
)
@click.option("--domain", default="harbour", show_default=True, envvar="MANHUNT_DOMAIN", help="The tenant.")
@click.pass_context
def main(context: click.Context, target: str, domain: str) -> None:
    """Incidents, and the contacts that are hunted for until one answers, in one DynamoDB table."""
    is_said = context.get_parameter_source("target") is not ParameterSource.DEFAULT
    if context.invoked_subcommand == "demo" and not is_said:
        target = "local"  # in memory: a demonstration leaves no file behind
    context.obj = Opening(context, target, manhunt, lambda db: Operator(Service(db), domain))


main.add_command(report_command(manhunt, Path(__file__).with_name("reports"), lambda op: op.service.db))


@main.command()
@pass_opened
def init(op: Operator) -> None:
    """Create the table, on AWS or at an address. Locally that happens by itself."""
    click.echo(f"table {op.service.db.create_table(manhunt).name} is ready")


@main.command()
@pass_opened
def sample(op: Operator) -> None:
    """Write three contacts with their methods."""
    for contact in load_sample(op.service, op.domain):
        click.echo(f"{contact.contact_id} {contact.name}")


@main.command("check")
@pass_opened
def check_all(op: Operator) -> None:
    """Whether everything is as it must be. Reads the whole table several times."""
    db = op.service.db
    found = [*check(db), *map(str, db.check(manhunt)), *map(str, TaskWorker(db, tasks).check())]
    for wrong in found:
        click.echo(wrong)
    if found:
        raise click.ClickException(f"{len(found)} findings")
    click.echo("nothing is wrong")


@main.command("table")
@pass_opened
def table_(op: Operator) -> None:
    """Some of the domain's items as the table has them: in each row the field over its value."""
    rows, took = metered(op.service.db, lambda: picture(op.service, op.domain))
    print_picture(rows)
    print_cost(took.cost)


@main.command()
@click.argument("domain")
@secret_option
def token(domain: str, secrets: tuple[str, ...]) -> None:
    """A domain's token for the HTTP API and the pages, signed with the secret that `serve` has."""
    from manhunt.principal import YEAR_SECONDS, DomainTokens  # noqa: PLC0415 others need no signatures

    click.echo(DomainTokens(secrets, YEAR_SECONDS).issue(domain))


@main.command("work")
@secret_option
@base_url_option
@provider_options
@click.option("--lease", "lease_seconds", type=click.FloatRange(1), default=30.0, show_default=True)
@click.option("--poll", "poll_seconds", type=click.FloatRange(0.05), default=0.5, show_default=True)
@click.option("--at-once", type=click.IntRange(1, 15), default=8, show_default=True)
@pass_opened
def work_(
    op: Operator,
    /,
    secrets: tuple[str, ...],
    base_url: str,
    lease_seconds: float,
    poll_seconds: float,
    at_once: int,
    **given: Any,
) -> None:
    """Begin searches, take their steps and send their messages, until SIGTERM. Any number of these may run."""
    notifiers = providers_of(given).notifiers()
    escalation = Escalation(op.service, Links(base_url, secrets), notifiers, _worker_name())
    click.echo("working", err=True)
    counts = work(op.service.db, escalation, WorkerSettings(lease_seconds, poll_seconds, at_once))
    click.echo(f"{counts.done} tasks done, {counts.failed} failed, {counts.dead} dead", err=True)


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@secret_option
@base_url_option
@telephone_options
@click.option("--insecure-domain", help="Every request is this domain's: for a demo on this machine.")
@pass_opened
def serve(
    op: Operator,
    /,
    port: int,
    host: str,
    secrets: tuple[str, ...],
    base_url: str,
    insecure_domain: str | None,
    **given: Any,
) -> None:
    """The web pages, the HTTP API under /api, and what the telephone provider calls."""
    if insecure_domain is not None and host not in LOCAL_HOSTS:
        raise click.UsageError("--insecure-domain is for this machine alone: leave --host out")
    _serve(op, host, port, Links(base_url, secrets), secrets, insecure_domain, given)


@main.command()
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True)
@pass_opened
def demo(op: Operator, port: int) -> None:
    """Pages and a worker in one process, on this machine: messages are shown here instead of being sent."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 as uvicorn below

    secret = random_secrets.token_urlsafe(32)
    links = Links(f"http://127.0.0.1:{port}", [secret])
    escalation = Escalation(op.service, links, echoing(lambda text: click.echo(text, err=True)), _worker_name())
    if not op.service.contacts_of_domain(op.domain, limit=1).items:
        load_sample(op.service, op.domain)
    ended: list[bool] = []
    with ThreadPoolExecutor(1, "worker") as beside:
        settings = WorkerSettings(lease_seconds=10.0)
        worker = beside.submit(work, op.service.db, escalation, settings, stop=lambda: bool(ended), signals=False)
        try:
            _serve(op, "127.0.0.1", port, links, [secret], op.domain, {})
        finally:
            ended.append(True)
    worker.result()


@main.command("simulate")
@click.option("--searches", "count", type=click.IntRange(1), default=100, show_default=True)
@click.option("--json", "as_json", is_flag=True)
@click.option("--seed", type=int, help="Of the answers' moments and the kills.")
@click.pass_context
def simulate_(context: click.Context, count: int, as_json: bool, seed: int | None) -> None:
    """Open searches, answer some, kill the worker again and again meanwhile; then count what became of them."""
    target: str = context.find_root().params["target"]  # whose databases are its own
    _show(simulate(target, count, seed, lambda line: click.echo(line, err=True)), as_json)


@main.command("storm")
@click.option("--incidents", "count", type=click.IntRange(1), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True)
@click.option("--seed", type=int, help="Of what people do, the rotas' changes and the kills.")
@click.option("--stage-seconds", type=click.IntRange(1), default=STAGE_SECONDS, show_default=True)
@click.pass_context
def storm_(context: click.Context, count: int, as_json: bool, seed: int | None, stage_seconds: int) -> None:
    """Open incidents while rotas change and workers are killed; then count what became of them."""
    target: str = context.find_root().params["target"]  # whose databases are its own
    _show(storm(target, count, seed, lambda line: click.echo(line, err=True), stage_seconds), as_json)


def _show(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print_json(outcome.counts)
    else:
        for name, value in outcome.counts.items():
            click.echo(f"{name}: {value}")
    if outcome.findings:
        raise click.ClickException("; ".join(outcome.findings[:5]))


def _serve(
    op: Operator,
    host: str,
    port: int,
    links: Links,
    secrets: Any,
    insecure_domain: str | None,
    given: dict[str, Any],
) -> None:
    import uvicorn  # noqa: PLC0415 the other commands start without a web framework

    from manhunt.api import create_app  # noqa: PLC0415
    from manhunt.principal import principal_of  # noqa: PLC0415
    from manhunt.web import Web  # noqa: PLC0415

    web = Web(op.service, principal_of(secrets, insecure_domain), links, telephone_of(given))
    hosts = {*LOCAL_HOSTS, host, urlsplit(links.base_url).hostname or host}
    uvicorn.run(create_app(web, sorted(hosts)), host=host, port=port)


def _worker_name() -> str:
    """Unique enough to tell workers apart in what they leave behind."""
    return f"{socket.gethostname()[:60]}-{os.getpid()}"


for group in (*actions.groups, *actions_incidents.groups):
    main.add_command(group)
