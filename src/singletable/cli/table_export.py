"""`export --from-export` and `export --through`: DynamoDB's own exports to S3 instead of a scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import click

from singletable.cli.session import Session
from singletable.database import Database, connect
from singletable.foundation import Table

_PLACE = "s3://BUCKET/PREFIX"


def table_export_options(function: Any) -> Any:
    """The options that name an export of DynamoDB's, or have it make one."""
    read = "Read this export of DynamoDB's, instead of the table; may be repeated, for incremental ones after it."
    make = "Let DynamoDB export the table there, wait for it, and read that. No read units; billed by the table's GB."
    option = click.option("--from-export", "from_exports", multiple=True, metavar=f"{_PLACE}/AWSDynamoDB/ID", help=read)
    function = option(function)
    function = click.option("--through", metavar=_PLACE, help=make)(function)
    return click.option("--at", metavar="TIME", help="With --through: as the table was then.")(function)


def check_options(options: dict[str, Any]) -> None:
    """A usage error for options that exclude each other."""
    if options["from_exports"] and options["through"]:
        raise click.UsageError("--from-export reads an export that is there, and --through makes one: say one of them.")
    if options["at"] and not options["through"]:
        raise click.UsageError("--at needs --through: only DynamoDB can export a table as it was.")
    scanning = [name for name in ("consistent", "read_rate", "segments", "share_rate") if options[name]]
    if scanning and (options["from_exports"] or options["through"]):
        named = ", ".join(f"--{name.replace('_', '-')}" for name in scanning)
        raise click.UsageError(f"{named}: no table is read with --from-export and --through.")


def database_for(session: Session, options: dict[str, Any]) -> Database:
    """The database; where only files are read, none needs to be there."""
    if options["from_exports"] and session.file is not None and not session.file.exists():
        return connect("local")
    return session.connect_to_read()


def places_of(
    db: Database, tables: Sequence[Table], options: dict[str, Any], tell: Callable[[str], object]
) -> list[str]:
    """The exports to read, including one that is made for it; empty if the table is read."""
    if not options["through"]:
        return list(options["from_exports"])
    from singletable.exchange import TableExports

    if len(tables) > 1:
        names = ", ".join(table.name for table in tables)
        raise click.UsageError(f"--through exports one table: name one of {names} as MODULE:NAME.")
    exports = TableExports(db, tables[0])
    begun = exports.start(options["through"], at=time_of(options["at"]))
    tell(f"DynamoDB exports to {begun.location}")
    made = exports.wait(begun, progress=lambda state: tell(f"{begun.location}: {state.lower().replace('_', ' ')}"))
    return [made.location]


def time_of(text: str | None) -> datetime | None:
    """The instant of --at."""
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--at {text}: it is not a time, as 2026-11-20T09:30:00Z is") from None
