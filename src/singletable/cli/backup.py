"""`backup`: recovery to a time, backups on demand, and copies of the embedded engine's file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import Progress
from rich.status import Status

from singletable.cli import output
from singletable.cli.export import time_of
from singletable.cli.lookup import tables_of
from singletable.cli.session import options_anywhere, session_of
from singletable.connection import local_engine
from singletable.database import Database
from singletable.errors import NotConfigured
from singletable.foundation import Table
from singletable.migrations import Backup, Backups

_module = click.argument("module", metavar="MODULE[:NAME]")


@click.group()
def backup() -> None:
    """Back up tables, and restore them.

    On AWS a table can be restored to any second of the last 35 days, once that is switched on, and has backups on
    demand. Of an embedded engine `copy` makes a copy of its file.
    """


@backup.command()
@click.argument("to", metavar="TO", type=click.Path(path_type=Path, dir_okay=False))
@options_anywhere("db")
@click.pass_context
def copy(ctx: click.Context, to: Path) -> None:
    """Copy the data file of --db to TO, while programs write.

    The copy is the data at one moment. Use it with --db local:TO. A file that is there is not replaced.
    """
    session = session_of(ctx)
    if session.file is None:
        raise click.UsageError(f"{session.target} has no data file; name one with --db local:FILE")
    if not session.file.exists():
        raise NotConfigured(f"the data file {session.file} is missing", hint="Name another one with --db local:FILE.")
    with Progress(console=output.console(stderr=True), transient=True) as bars:
        task = bars.add_task(f"copying to {to}", total=None)
        data = session.file.resolve()
        size = local_engine().copy_data(data, to, lambda done, of: bars.update(task, completed=done, total=of))
    click.echo(f"{to}: {output.counted(size, 'byte')}")


@backup.command()
@_module
@click.option("--on/--off", "switch", default=None, help="Switch it. Off loses the times before.")
@click.option("--yes", is_flag=True, help="Switch it off without asking.")
@options_anywhere("json", "db")
@click.pass_context
def recovery(ctx: click.Context, module: str, switch: bool | None, yes: bool, as_json: bool) -> None:
    """Show to which times the tables can be restored, or switch that on or off."""
    if switch is False and not yes:
        click.confirm("Switch it off, and lose the times before?", abort=True)
    with session_of(ctx).connect_to_read() as db:
        states = [(table, _recovery(db, table, switch)) for table in tables_of(module)]
    if as_json:
        output.print_json(
            [{"table": table.name, **msgspec.to_builtins(recovery_state)} for table, recovery_state in states]
        )
        return
    for table, recovery_state in states:
        times = (
            f", from {recovery_state.earliest} to {recovery_state.latest}"
            if recovery_state.earliest is not None
            else ""
        )
        click.echo(f"{table.name}: {'on' if recovery_state.is_on else 'off'}{times}")


@backup.command()
@_module
@click.argument("name")
@options_anywhere("json", "db")
@click.pass_context
def create(ctx: click.Context, module: str, name: str, as_json: bool) -> None:
    """Make a backup of each table, and wait until it can be restored. It costs storage until it is deleted."""
    with session_of(ctx).connect_to_read() as db:
        made = [_made(db, table, name) for table in tables_of(module)]
    _print(made, as_json)


@backup.command("list")
@_module
@options_anywhere("json", "db")
@click.pass_context
def list_(ctx: click.Context, module: str, as_json: bool) -> None:
    """List the backups of the tables, oldest first."""
    with session_of(ctx).connect_to_read() as db:
        found = [each for table in tables_of(module) for each in Backups(db, table).list()]
    _print(found, as_json)


@backup.command()
@_module
@click.argument("arn")
@click.option("--yes", is_flag=True, help="Don't ask.")
@options_anywhere("json", "db")
@click.pass_context
def delete(ctx: click.Context, module: str, arn: str, yes: bool, as_json: bool) -> None:
    """Delete a backup, for good."""
    if not yes:
        click.confirm(f"Delete {arn}?", abort=True)
    with session_of(ctx).connect_to_read() as db:
        _print([Backups(db, _one_table(module)).delete(arn)], as_json)


@backup.command()
@_module
@click.option("--to", required=True, metavar="TABLE", help="The new table's name.")
@click.option("--at", metavar="TIME", help="As 2026-11-20T09:30:00Z. [default: as late as it can be]")
@click.option("--backup", "arn", metavar="ARN", help="From a backup instead.")
@options_anywhere("db")
@click.pass_context
def restore(ctx: click.Context, module: str, to: str, at: str | None, arn: str | None) -> None:
    """Restore a table into a new one, and wait until it can be used.

    The new table has the keys, indexes and items, but no stream, TTL, tags, recovery or deletion protection. Declare it
    under its name, and `singletable apply` sets them.
    """
    when = time_of(at)
    table = _one_table(module)
    with session_of(ctx).connect_to_read() as db:
        _watched(to, lambda tell: Backups(db, table).restore(to, at=when, backup=arn, progress=tell))
    click.echo(f"{to}: restored from {arn or table.name}")


def _made(db: Database, table: Table, name: str) -> Backup:
    made: Backup = _watched(f"{table.name}: backup", lambda tell: Backups(db, table).create(name, progress=tell))
    return made


def _recovery(db: Database, table: Table, switch: bool | None) -> Any:
    return Backups(db, table).recovery() if switch is None else Backups(db, table).switch_recovery(switch)


def _watched(what: str, work: Callable[[Callable[[str], object]], Any]) -> Any:
    """Do something while its state is shown."""
    with Status(what, console=output.console(stderr=True)) as status:
        return work(lambda state: status.update(f"{what}: {state.lower()}"))


def _one_table(module: str) -> Table:
    tables = tables_of(module)
    if len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        raise click.UsageError(f"{module} has several tables: {names}. Name one, as in {module}:{tables[0].name}.")
    return tables[0]


def _print(backups: list[Backup], as_json: bool) -> None:
    if as_json:
        output.print_json([msgspec.to_builtins(each) for each in backups])
        return
    titles = ("Table", "Name", "Status", "Made", "Bytes", "ARN")
    output.print_table(titles, [(b.table, b.name, b.status, b.made_at, b.bytes, b.arn) for b in backups])
