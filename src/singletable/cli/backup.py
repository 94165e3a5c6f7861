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
from singletable.cli.lookup import one_table, tables_of
from singletable.cli.session import options_anywhere, session_of
from singletable.database import Database
from singletable.foundation import Table
from singletable.migrations import Backup, Backups, flows

_module = click.argument("module", metavar="MODULE[:NAME]")


@click.group()
def backup() -> None:
    """Back up tables.

    On AWS a table can be restored to any second of the last 35 days, once that is switched on, and has backups on
    demand. `copy` makes a copy of an embedded engine's file. `singletable restore` brings a table back.
    """


@backup.command()
@click.argument("to", metavar="TO", type=click.Path(path_type=Path))
@click.argument("module", metavar="[MODULE[:NAME]]", required=False)
@click.option("--contents", is_flag=True, help="Make TO a folder: the file, and the contents of documents.")
@options_anywhere("blobs", "db")
@click.pass_context
def copy(ctx: click.Context, to: Path, module: str | None, contents: bool, blobs: str | None) -> None:
    """Copy the data file of --db to TO, while programs write.

    The copy is the data at one moment. Use it with --db local:TO. A file that is there is not replaced. With MODULE,
    the stores of its documents keep the contents that the copy needs until `backup delete MODULE TO`; with --contents
    they are copied into the folder TO, as data.db and blobs. A copy that was killed goes on with the same command.
    """
    session = session_of(ctx)
    if session.file is None:
        raise click.UsageError(f"{session.target} has no data file; name one with --db local:FILE")
    if contents and module is None:
        raise click.UsageError("--contents copies the contents of documents: name their MODULE.")
    with session.connect_to_read() as db, Progress(console=output.console(stderr=True), transient=True) as bars:
        task = bars.add_task(f"copying to {to}", total=None)
        tables = tables_of(module) if module is not None else []
        backups = [_backups(db, table, blobs) for table in tables]
        for name in (name for one in backups for name in one.left_out):
            output.note(f"the {name} are not kept: no blob store is known here; give --blobs")
        stores = [store for one in backups for store in one.contents]

        def tell(done: int, of: int) -> None:
            bars.update(task, completed=done, total=of)

        size = db.run(flows.copy_file(db.port, stores, to, with_contents=contents, progress=tell))
    click.echo(f"{to}: {output.counted(size, 'byte')}")


@backup.command()
@_module
@click.option("--on/--off", "switch", default=None, help="Switch it. Off loses the times before.")
@click.option("--yes", is_flag=True, help="Switch it off without asking.")
@options_anywhere("json", "db")
@click.pass_context
def recovery(ctx: click.Context, module: str, switch: bool | None, yes: bool, as_json: bool) -> None:
    """Show to which times the tables can be restored, or switch that on or off, with the tables of leases."""
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
@options_anywhere("blobs", "json", "db")
@click.pass_context
def create(ctx: click.Context, module: str, name: str, as_json: bool, blobs: str | None) -> None:
    """Make a backup of each table, and wait until it can be restored. It costs storage until it is deleted.

    The tables of leases get one of the same name, and the stores of documents keep the contents that it needs.
    """
    with session_of(ctx).connect_to_read() as db:
        made = [_made(_backups(db, table, blobs), name) for table in tables_of(module)]
    _print(made, as_json)


@backup.command("list")
@_module
@options_anywhere("blobs", "json", "db")
@click.pass_context
def list_(ctx: click.Context, module: str, as_json: bool, blobs: str | None) -> None:
    """List the backups of the tables, oldest first, and the copies of a data file whose contents stores know."""
    with session_of(ctx).connect_to_read() as db:
        found = [made for table in tables_of(module) for made in _backups(db, table, blobs).list()]
    _print(found, as_json)


@backup.command()
@_module
@click.argument("arn")
@click.option("--yes", is_flag=True, help="Don't ask.")
@options_anywhere("blobs", "json", "db")
@click.pass_context
def delete(ctx: click.Context, module: str, arn: str, yes: bool, as_json: bool, blobs: str | None) -> None:
    """Delete a backup, for good, with that of the table of leases.

    Stores keep its contents no longer. For a copy of a data file name its path instead of an ARN; the file stays.
    """
    if not yes:
        click.confirm(f"Delete {arn}?", abort=True)
    with session_of(ctx).connect_to_read() as db:
        _print([_backups(db, one_table(module), blobs).delete(arn)], as_json)


def _backups(db: Database, table: Table, blobs: str | None) -> Backups:
    from singletable.documents import LocalBlobs

    return Backups(db, table, blobs=LocalBlobs(blobs) if blobs else None)


def _made(backups: Backups, name: str) -> Backup:
    made: Backup = _watched(f"{backups.table.name}: backup", lambda tell: backups.create(name, progress=tell))
    return made


def _recovery(db: Database, table: Table, switch: bool | None) -> Any:
    return Backups(db, table).recovery() if switch is None else Backups(db, table).switch_recovery(switch)


def _watched(what: str, work: Callable[[Callable[[str], object]], Any]) -> Any:
    """Do something while its state is shown."""
    with Status(what, console=output.console(stderr=True)) as status:
        return work(lambda state: status.update(f"{what}: {state.lower()}"))


def _print(backups: list[Backup], as_json: bool) -> None:
    if as_json:
        output.print_json([msgspec.to_builtins(each) for each in backups])
        return
    titles = ("Table", "Name", "Status", "Made", "Bytes", "ARN")
    output.print_table(titles, [(b.table, b.name, b.status, b.made_at, b.bytes, b.arn) for b in backups])
