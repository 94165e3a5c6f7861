"""`export --follow`: an export that is kept fresh from the table's stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.status import Status

from singletable.cli import output
from singletable.database import Database
from singletable.foundation import Table, entity_name, personal_names

if TYPE_CHECKING:
    from singletable.exchange import Followed

_SCANNING = ("consistent", "read_rate", "segments", "share_rate", "from_exports", "through")


def follow_options(function: Any) -> Any:
    """The options that keep an export fresh."""
    follow = "Then follow the table's stream until Ctrl-C: one row for each item, as it is."
    once = "With --follow: bring the data to what the table is now, and end."
    every = "With --follow: how often changes go into the data.  [default: 300]"
    seconds = click.FloatRange(min=0, min_open=True)
    function = click.option("--every", type=seconds, metavar="SECONDS", help=every)(function)
    function = click.option("--once", is_flag=True, help=once)(function)
    return click.option("--follow", is_flag=True, help=follow)(function)


def check_follow_options(options: dict[str, Any]) -> None:
    """A usage error for options that a followed export has not, and for those that only it has."""
    if not options["follow"]:
        for name in ("once", "every"):
            if options[name]:
                raise click.UsageError(f"--{name} is of --follow: say that too.")
        return
    given = [f"--{name.replace('_', '-')}" for name in _SCANNING if options[name]]
    if given:
        raise click.UsageError(f"{', '.join(given)}: not with --follow, which scans as it must.")
    if options["format"] != "parquet":
        raise click.UsageError(f"--format {options['format']}: what is followed is Parquet.")


def check_personal(tables: Sequence[Table], options: dict[str, Any]) -> None:
    """A usage error for personal values, unless they are asked for: a deletion in a stream names the item by its key,
    for which masks can't stand."""
    kinds = [model.kind for table in tables for model in table.models if not model.is_system]
    personal = sorted(entity_name(kind) for kind in kinds if personal_names(kind))
    if personal and not options["personal"]:
        raise click.UsageError(
            f"--follow writes personal values as they are, of {', '.join(personal)}: say --personal."
        )


def run_follow(db: Database, tables: Sequence[Table], options: dict[str, Any], as_json: bool) -> None:
    """Follow the one table with a stream."""
    from singletable.exchange import Follower

    tables = [table for table in tables if table.definition.stream is not None] or tables
    if len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        raise click.UsageError(f"--follow is of one table: name one of {names} as MODULE:NAME.")
    follower = Follower(db, tables[0], options["to"])
    with Status("reading", console=output.console(stderr=True)) as status:

        def show(done: Followed) -> None:
            status.update(f"{done.changes:,} changes read, complete up to {done.complete_at:%Y-%m-%d %H:%M:%S} UTC")

        if options["once"]:
            done = follower.catch_up(anew=options["anew"], progress=show)
        else:
            done = follower.run(anew=options["anew"], compact_seconds=options["every"] or 300.0, progress=show)
    if as_json:
        output.print_json(msgspec.to_builtins(done))
    else:
        _tell(done, options["to"])


def _tell(done: Followed, place: str) -> None:
    scanned = " and the whole table" if done.scans else ""
    read = f"{output.counted(done.changes, 'change')}{scanned} read"
    click.echo(f"{output.clean(place)}: {read}; complete up to {done.complete_at:%Y-%m-%d %H:%M:%S} UTC")
    output.print_table(("Dataset", "Rows", "Files"), [(d.name, d.rows, len(d.files)) for d in done.manifest.datasets])
