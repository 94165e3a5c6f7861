"""`export`: write the items of the tables to files, a dataset an entity class: by a scan, or of DynamoDB's exports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.status import Status

from singletable.cli import output
from singletable.cli.job import is_job, run_as_job
from singletable.cli.lookup import tables_of
from singletable.cli.session import Session, mask_key, options_anywhere, rate_of, session_of
from singletable.database import Database, connect
from singletable.foundation import Table

_FORMATS = ("parquet", "jsonl", "csv", "csv-escaped", "arrow")
_PLACE = "s3://BUCKET/PREFIX"


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("--to", required=True, metavar="DIR|s3://BUCKET/PREFIX", help="Where the manifest and the files go.")
@click.option("--format", type=click.Choice(_FORMATS), default="parquet", show_default=True)
@click.option("--keys", is_flag=True, help="The keys of the table and of its indexes as columns.")
@click.option("--consistent", is_flag=True, help="Read consistently, for twice the read units.")
@click.option(
    "--contents", is_flag=True, help="The contents of documents, and the arguments of mutations, as datasets."
)
@click.option("--anew", is_flag=True, help="Begin again, where an earlier run was ended.")
@click.option("--at", metavar="TIME", help="With --through: as the table was then.")
@click.option(
    "--through",
    metavar=_PLACE,
    help="Let DynamoDB export the table there, wait for it, and read that. No read units; billed by the table's GB.",
)
@click.option(
    "--from-export",
    "from_exports",
    multiple=True,
    metavar=f"{_PLACE}/AWSDynamoDB/ID",
    help="Read this export of DynamoDB's, instead of the table; may be repeated, for incremental ones after it.",
)
@options_anywhere("job", "read-rate", "share-rate", "segments", "blobs", "personal", "json", "db")
@click.pass_context
def export(ctx: click.Context, /, module: str, as_json: bool, **options: Any) -> None:
    """Write every item to files: a dataset an entity class, with typed columns.

    The manifest is replaced at the end, so that readers see the export before or this one. A run that was ended goes on
    where it was. Items that no class of MODULE explains go to the dataset _unknown, and the exit code is 1 then.

    Values of attributes with personal=True get masks of the same type and shape, the same for the same value, unless
    --personal is said; so do the parts of contents that are declared personal, and all of a content of which nothing is
    declared. Two exports mask alike where SINGLETABLE_MASK_KEY, of 16 characters or more, is set.

    \b
    singletable export shop.model --to exports
    singletable export shop.model --to exports --through s3://bucket/shop
    singletable export shop.model --to exports --from-export s3://bucket/shop/AWSDynamoDB/01693685827463-2d8752fd
    """
    from singletable.documents import LocalBlobs
    from singletable.exchange import Exported, Exports

    _check_options(options)
    as_job = is_job(options, "contents", "anew", "through", "from_exports", "segments", "share_rate")
    with _database_for(session_of(ctx), options) as db:
        tables = tables_of(module)
        if as_job:
            _run_as_job(ctx, db, tables, options, as_json=as_json)
            return
        rate = rate_of(options, tables[0])
        with output.MeteredBlock(db) as cost, Status("reading", console=output.console(stderr=True)) as status:

            def show(done: Exported) -> None:
                status.update(f"{done.items:,} items read, {done.bytes:,} bytes written")

            exports = Exports(db, *tables, blobs=LocalBlobs(options["blobs"]) if options["blobs"] else None)
            given: dict[str, Any] = {name: options[name] for name in ("format", "keys", "anew", "personal")}
            given["mask_key"] = None if options["personal"] else mask_key()
            if places := _places_of(db, tables, options, status.update):
                done = exports.export_from(places, options["to"], progress=show, **given)
            else:
                given |= {name: options[name] for name in ("consistent", "contents", "segments")}
                done = exports.export(options["to"], rate=rate, progress=show, **given)
    if as_json:
        output.print_json(msgspec.to_builtins(done))
    else:
        _tell(done, options["to"])
    cost.print()
    if done.unknown or done.lost:
        ctx.exit(1)


def _run_as_job(
    ctx: click.Context, db: Database, tables: Sequence[Table], options: dict[str, Any], *, as_json: bool
) -> None:
    if len(tables) > 1:
        raise click.UsageError(f"--job exports one table: name one of {_names(tables)} as MODULE:NAME.")
    to = options["to"] if "://" in options["to"] else str(Path(options["to"]).resolve())
    given = {"to": to, **{name: options[name] for name in ("format", "keys", "consistent", "personal")}}
    run_as_job(ctx, db, tables, "export", given, options, as_json=as_json)


def _names(tables: Sequence[Table]) -> str:
    return ", ".join(table.name for table in tables)


def _tell(done: Any, place: str) -> None:
    from singletable.exchange import UNKNOWN

    manifest = done.manifest
    went_on = ", going on with an earlier run" if done.resumed else ""
    click.echo(f"{output.counted(done.items, 'item')} to {output.clean(place)}, as {manifest.id}{went_on}")
    lines = [(d.name, d.rows, len(d.files), d.bytes) for d in manifest.datasets]
    output.print_table(("Dataset", "Rows", "Files", "Bytes"), lines)
    if not manifest.personal:
        click.echo("Masks stand for personal values: --personal writes them unmasked.")
    if done.left_out is None:
        click.echo("How many values are in _rest alone is not known: an older version began this export.")
    elif done.left_out:
        names = [f"{d.name}.{column}" for d in manifest.datasets if d.name != UNKNOWN for column in d.left_out or ()]
        values = output.counted(done.left_out, "value")
        click.echo(f"{values} beyond the type of a column: null there, exact in _rest, of {', '.join(names)}.")
    if done.lost:
        click.echo(
            f"{output.counted(done.lost, 'content')} that can't be read: null there. `singletable check` says whose."
        )
    if done.unknown:
        click.echo(f"{output.counted(done.unknown, 'item')} that no class explains: the dataset _unknown says why.")


# --- DynamoDB's own exports to S3 instead of a scan -------------------------------------------------------------------
def _check_options(options: dict[str, Any]) -> None:
    """A usage error for options that exclude each other."""
    if options["from_exports"] and options["through"]:
        raise click.UsageError("--from-export reads an export that is there, and --through makes one: say one of them.")
    if options["at"] and not options["through"]:
        raise click.UsageError("--at needs --through: only DynamoDB can export a table as it was.")
    scanning = [name for name in ("consistent", "contents", "read_rate", "segments", "share_rate") if options[name]]
    if scanning and (options["from_exports"] or options["through"]):
        named = ", ".join(f"--{name.replace('_', '-')}" for name in scanning)
        raise click.UsageError(f"{named}: no table is read with --from-export and --through.")


def _database_for(session: Session, options: dict[str, Any]) -> Database:
    """The database; where only files are read, none needs to be there."""
    if options["from_exports"] and session.file is not None and not session.file.exists():
        return connect("local")
    return session.connect_to_read()


def _places_of(
    db: Database, tables: Sequence[Table], options: dict[str, Any], tell: Callable[[str], object]
) -> list[str]:
    """The exports to read, including one that is made for it; empty if the table is read."""
    if not options["through"]:
        return list(options["from_exports"])
    from singletable.exchange import TableExports

    if len(tables) > 1:
        raise click.UsageError(f"--through exports one table: name one of {_names(tables)} as MODULE:NAME.")
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
