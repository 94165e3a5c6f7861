"""`import`: the rows of files, of an export or of another table into classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.status import Status

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.cli.session import UNITS, Session, must_say_yes, options_anywhere, session_of
from singletable.database import Database
from singletable.flow import Rate
from singletable.foundation import Table, entity_name

if TYPE_CHECKING:
    from singletable.exchange import Imported

_FORMATS = ("parquet", "jsonl", "csv", "csv-escaped", "arrow", "dynamodb")


@click.command("import")
@click.argument("module", metavar="MODULE[:NAME]")
@click.argument("source", metavar="DIR|FILE|s3://BUCKET/PREFIX|TABLE")
@click.option("--as", "entity", metavar="ENTITY", help="The class of a file's or a table's rows.")
@click.option("--from", "database", metavar="TARGET", help="Import the table TABLE of this database, as --db.")
@click.option("--format", type=click.Choice(_FORMATS), help="Of a file, where its name doesn't say it.")
@click.option("--if-absent", is_flag=True, help="Leave items that are there.")
@click.option("--replace", is_flag=True, help="Overwrite items that are there.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column that the class has not. May be repeated.")
@click.option(
    "--unknown",
    type=click.Choice(("refuse", "report", "keep")),
    default="refuse",
    show_default=True,
    help="Columns that the class lacks: refuse them, leave them out and report them, or store them unchanged.",
)
@click.option("--stop-at", type=click.IntRange(1), metavar="N", help="Stop after N bad rows.")
@click.option(
    "--bad-rows",
    type=click.Path(dir_okay=False, path_type=Path),
    default="bad-rows.jsonl",
    show_default=True,
    help="The file for bad rows, each with its number and the reason.",
)
@click.option("--dry-run", is_flag=True, help="Read and check every row, count, and write nothing.")
@click.option("--read-rate", type=UNITS, metavar="UNITS", help="Read units a second, of the table --from.")
@options_anywhere("rate", "write", "json", "db")
@click.pass_context
def import_command(ctx: click.Context, /, module: str, source: str, as_json: bool, **options: Any) -> None:
    """Import rows into the classes of a module.

    \b
    singletable import shop.model exports/
    singletable import shop.model orders.csv --as Order --dry-run
    singletable import shop.model orders.csv --as Order --if-absent --stop-at 100
    singletable import shop.model data.json.gz
    singletable import shop.model old-orders --from aws --as Order

    The rows are those of an export's folder, of a file (JSON Lines, CSV, Parquet, Arrow, DynamoDB's JSON), or of
    another table. Each is checked against its class and written by its verbs, so that index keys, guards and edge sets
    are right. An item that is there and differs makes a bad row, unless --if-absent or --replace. An export that was
    made with --keys is put item by item, the same byte for byte.

    An import that was ended goes on with the same command, and doubles nothing. The exit code is 1 where rows are bad.
    """
    if options["if_absent"] and options["replace"]:
        raise click.UsageError("--if-absent leaves items that are there, --replace overwrites them: say one.")
    tables = tables_of(module)
    with session_of(ctx).connect() as db:
        names = (table.name for table in tables)
        must_say_yes(db, "writes items of", names, yes=options["yes"] or options["dry_run"])
        with output.MeteredBlock(db) as cost:
            done = _imported(db, tables, source, options)
    if as_json:
        output.print_json(msgspec.to_builtins(done))
    else:
        _tell(done, source, options)
    cost.print()
    if done.bad:
        ctx.exit(1)


def _imported(db: Database, tables: list[Table], source: str, options: dict[str, Any]) -> Imported:
    from singletable.exchange import Imports

    imports = Imports(db, *tables)
    into = None if options["entity"] is None else _class_of(tables, options["entity"])
    with Status("reading", console=output.console(stderr=True)) as status:

        def show(at: Any) -> None:
            status.update(f"{at.read:,} rows read, {at.written:,} written, {at.bad:,} bad")

        shared: dict[str, Any] = {
            "mode": "replace" if options["replace"] else "if_absent" if options["if_absent"] else "create",
            "stop_at": options["stop_at"],
            "bad_rows": options["bad_rows"],
            "dry_run": options["dry_run"],
            "rate": Rate(write_units=options["rate"]) if options["rate"] else None,
            "progress": show,
        }
        if options["database"] is None:
            columns = {"ignore": options["ignore"], "unknown": options["unknown"]}
            return imports.run(source, into=into, format=options["format"], **columns, **shared)
        if into is None:
            raise click.UsageError("A table's items are imported into one class: say --as ENTITY.")
        source_rate = Rate(read_units=options["read_rate"]) if options["read_rate"] else None
        with Session(options["database"]).connect_to_read() as other:
            return imports.run_table(other, source, into, source_rate=source_rate, **shared)


def _class_of(tables: list[Table], name: str) -> type[Any]:
    """The class of a name, as the modules' patterns name it."""
    kinds = {entity_name(model.kind): model.kind for table in tables for model in table.models if not model.is_system}
    if name not in kinds:
        raise click.UsageError(f"Unknown class {name!r}. The classes are {', '.join(sorted(kinds))}.")
    found: type[Any] = kinds[name]
    return found


def _tell(done: Imported, source: str, options: dict[str, Any]) -> None:
    wrote = "to write" if options["dry_run"] else "written"
    present = f", {done.present:,} there already" if done.present else ""
    read = output.counted(done.read, "row")
    click.echo(f"{read} of {output.clean(source)}: {done.written:,} {wrote}{present}, {done.bad:,} bad")
    for what, count in sorted(done.left_out.items()):
        click.echo(f"  left out: {output.counted(count, 'row')} of {output.clean(what)}")
    for column, count in done.unknown.items():
        became = "kept" if options["unknown"] == "keep" else "left out"
        click.echo(f"  {became}: {output.counted(count, 'value')} of {output.clean(column)}, which the class has not")
    for row in done.bad_rows:
        click.echo(f"  {output.clean(row.part)} row {row.number}: {output.clean(row.reason)}")
    if done.bad:
        click.echo(f"  {options['bad_rows']} has all of them")
    if done.is_stopped:
        click.echo(f"  stopped at {done.bad:,} bad rows; the same command goes on")
