"""`local start|stop|status|reset`: an embedded engine on a file that outlives the command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from singletable.cli import DEFAULT_FILE, options_anywhere, output, session_of
from singletable_local import control
from singletable_local.control import Status

F = TypeVar("F", bound=Callable[..., Any])


def _file_argument(function: F) -> F:
    return click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))(function)


@click.group()
def local() -> None:
    """Run the embedded engine on a data file of this machine.

    FILE defaults to that of --db local:FILE, else to data/singletable.db. A command or program with --db local:FILE
    uses the engine that runs on the file; where none runs, it starts one for its own time.
    """


@local.command()
@_file_argument
@click.option(
    "--exposed",
    is_flag=True,
    help="Listen on a port of 127.0.0.1, for tools such as the AWS CLI. All programs and users of this machine, and "
    "web pages in its browser, may then read and write the data.",
)
@options_anywhere("json")
@click.pass_context
def start(ctx: click.Context, file: Path | None, exposed: bool, as_json: bool) -> None:
    """Start an engine on a file. It runs until `local stop`."""
    _print(control.start(_path(ctx, file), exposed=exposed), as_json)


@local.command()
@_file_argument
@click.pass_context
def stop(ctx: click.Context, file: Path | None) -> None:
    """Stop the engine on a file, whichever process started it. The data stays."""
    path = _path(ctx, file)
    click.echo(f"{path}: {'stopped' if control.stop(path) else 'no engine was running'}")


@local.command()
@_file_argument
@options_anywhere("json")
@click.pass_context
def status(ctx: click.Context, file: Path | None, as_json: bool) -> None:
    """Show whether an engine runs on a file, and its address. The exit code is 1 where none answers."""
    state = control.status(_path(ctx, file))
    _print(state, as_json)
    if not state.healthy:
        ctx.exit(1)


@local.command()
@_file_argument
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.pass_context
def reset(ctx: click.Context, file: Path | None, yes: bool) -> None:
    """Stop the engine on a file and delete its data. On a terminal it asks first."""
    path = _path(ctx, file)
    if not yes and sys.stdin.isatty():
        click.confirm(f"Delete all data in {path}?", abort=True)
    control.reset(path)
    click.echo(f"{path}: deleted")


def _path(ctx: click.Context, file: Path | None) -> Path:
    return file or session_of(ctx).file or Path(DEFAULT_FILE)


def _print(state: Status, as_json: bool) -> None:
    address = state.address
    facts = {
        "file": str(state.path),
        "bytes": state.size_bytes,
        "running": state.healthy,
        "url": address.url if address else None,
        "pid": address.pid if address else None,
    }
    if as_json:
        output.print_json(facts)
        return
    output.print_table(("Engine", ""), [(name, value) for name, value in facts.items() if value is not None])
