"""The board's commands, which the application's command line takes in: `serve` and `token`."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

import click

from examples_shared.opening import pass_opened
from projects.service import Service

LOCAL = "127.0.0.1"


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--host", default=LOCAL, show_default=True)
@click.option("--auth", is_flag=True, help="Everybody signs in with a token. Without it, all are one user.")
@click.option("--insecure-user", default="demo", show_default=True, help="Who all are without --auth.")
@click.option("--secret", "secrets", multiple=True, envvar="PROJECTS_SECRETS", help="Signs tokens.")
@click.option(
    "--processor",
    type=click.Choice(["inline", "queue"]),
    default="inline",
    show_default=True,
    help="Who applies what is pushed: this server, or `work` behind a queue.",
)
@click.option("--queue-url", envvar="PROJECTS_QUEUE_URL", help="With --processor queue: an SQS queue.")
@click.pass_context
@pass_opened
def serve(
    app: Service,
    context: click.Context,
    /,
    port: int,
    host: str,
    auth: bool,
    insecure_user: str,
    secrets: tuple[str, ...],
    processor: str,
    queue_url: str | None,
) -> None:
    """The board's page, its HTTP API under /api, and Replicache's push and pull under /replicache."""
    from projects.board import npm  # noqa: PLC0415 the other commands start without a web framework
    from projects.board.app import LOCAL_HOSTS, create_app  # noqa: PLC0415
    from projects.board.callers import Callers  # noqa: PLC0415
    from projects.board.opening import open_boards  # noqa: PLC0415
    from projects.board.server import run  # noqa: PLC0415
    from singletable import connect_async  # noqa: PLC0415
    from singletable.queues import Queue  # noqa: PLC0415
    from singletable.sync import Pointer  # noqa: PLC0415

    if not auth and host not in LOCAL_HOSTS:
        raise click.UsageError("without --auth everybody may do everything: leave --host out")
    if auth and not secrets:
        raise click.UsageError("--auth takes a --secret, which signs the tokens")
    if processor == "queue" and not queue_url:
        raise click.UsageError("--processor queue takes a --queue-url")
    queue = Queue(queue_url or "", Pointer) if processor == "queue" else None
    for name in npm.missing():
        click.echo(f"the package {name} is missing, so the page will not work: run npm ci", err=True)
    target: str = context.find_root().params["target"]
    callers = Callers.with_tokens(secrets) if auth else Callers.demo(insecure_user)
    boards = open_boards(connect_async(target), app.blobs, callers, is_demo=not auth, queue=queue)
    signal.signal(signal.SIGTERM, _end)
    click.echo(f"boards at http://{host}:{port}", err=True)
    run(create_app(boards, callers, [*LOCAL_HOSTS, host]), boards.sync.close, host=host, port=port)


@click.command()
@click.argument("user")
@click.option("--secret", "secrets", multiple=True, required=True, envvar="PROJECTS_SECRETS")
def token(user: str, secrets: tuple[str, ...]) -> None:
    """A token for a user, signed with the secret that `serve --auth` has. People of one domain share their boards."""
    from projects.board.callers import ProjectTokens  # noqa: PLC0415 the other commands need no signatures

    click.echo(ProjectTokens(secrets).issue(user))


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Once the server has stopped it raises the signal again: then what the command holds is closed as it leaves."""
    raise SystemExit(0)
