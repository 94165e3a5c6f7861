"""`import`: the rows of files, of an export or of another table into classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
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
    from singletable.exchange import ImportCost, Imported, Imports

_FORMATS = ("parquet", "jsonl", "csv", "csv-escaped", "arrow", "dynamodb")


@click.command("import")
@click.argument("module", metavar="MODULE[:NAME]")
@click.argument("source", metavar="DIR|FILE|s3://BUCKET/PREFIX|TABLE")
@click.option(
    "--as",
    "entities",
    metavar="ENTITY",
    multiple=True,
    help="The class of a file's or a table's rows. With --of: OLD=NEW, where two names differ; may be repeated.",
)
@click.option("--from", "database", metavar="TARGET", help="Import the table TABLE of this database, as --db.")
@click.option("--of", "declared", metavar="MODULE[:NAME]", help="Read the items by the classes of this other table.")
@click.option("--format", type=click.Choice(_FORMATS), help="Of a file, where its name doesn't say it.")
@click.option("--if-absent", is_flag=True, help="Leave items that are there.")
@click.option("--replace", is_flag=True, help="Overwrite items that are there.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column that the class has not. May be repeated.")
@click.option(
    "--unknown",
    type=click.Choice(("refuse", "report", "keep")),
    help="Columns that the class lacks: refuse them, leave them out and report them, or store them unchanged. "
    "[default: refuse; report with --from or --of]",
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
    singletable import shop.model old-orders --from aws --of legacy.model --as Purchase=Order --dry-run

    The rows are those of an export's folder, of a file (JSON Lines, CSV, Parquet, Arrow, DynamoDB's JSON), or of
    another table. Each is checked against its class and written by its verbs, so that index keys, guards and edge sets
    are right. An item that is there and differs makes a bad row, unless --if-absent or --replace. An export that was
    made with --keys is put item by item, the same byte for byte.

    With --of, the items of a table, or of its export, are read by the classes that declare it, so that ids in its keys
    are kept; each goes to the class of the same name here, or the one that --as names. What no class takes is left, and
    counted by kind.

    An import that was ended goes on with the same command, and doubles nothing. The exit code is 1 where rows are bad.
    """
    from singletable.exchange import Imports

    if options["if_absent"] and options["replace"]:
        raise click.UsageError("--if-absent leaves items that are there, --replace overwrites them: say one.")
    tables = tables_of(module)
    into = _into(tables, options["entities"], options["declared"])
    if options["database"] is not None and into is None:
        raise click.UsageError("A table's items are imported into one class: say --as ENTITY; or into several: --of.")
    with session_of(ctx).connect() as db, _source(session_of(ctx), options["database"]) as other:
        names = (table.name for table in tables)
        if other is not None:
            _tell_cost(Imports(db, *tables).predict_table(other, source), source)
        must_say_yes(db, "writes items of", names, yes=options["yes"] or options["dry_run"])
        with output.MeteredBlock(db) as cost:
            done = _imported(Imports(db, *tables), other, source, into, options)
    if as_json:
        output.print_json(msgspec.to_builtins(done))
    else:
        _tell(done, source, options)
    cost.print()
    if done.bad:
        ctx.exit(1)


def _imported(imports: Imports, other: Database | None, source: str, into: Any, options: dict[str, Any]) -> Imported:
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
            "ignore": options["ignore"],
            "unknown": options["unknown"]
            or ("refuse" if not (options["database"] or options["declared"]) else "report"),
        }
        if other is None:
            return imports.run(source, into=into, format=options["format"], **shared)
        source_rate = Rate(read_units=options["read_rate"]) if options["read_rate"] else None
        return imports.run_table(other, source, into, source_rate=source_rate, **shared)


def _source(session: Session, target: str | None) -> AbstractContextManager[Database | None]:
    """The database of --from, with the names that tables have in the account."""
    return nullcontext() if target is None else session.at(target).connect_to_read()


def _tell_cost(cost: ImportCost, name: str) -> None:
    """Say what the import of another table will take."""
    size, units = f"{cost.bytes:,} bytes by the service's last count", f"about {cost.read_units:,} read units to scan"
    told = f"{size}; {units}" if cost.bytes else "the service gives no size"
    items = output.counted(cost.items, "item")
    output.note(f"{output.clean(name)}: {items}, {told}, {cost.write_units:,} write units at least")


def _into(tables: list[Table], names: Sequence[str], declared: str | None) -> Any:
    """The class of the rows; with the module of another table, the classes by those of the same or the given name."""
    kinds = _classes(tables)
    if declared is None:
        if len(names) > 1:
            raise click.UsageError("The rows are of one class: say --as once; or --of, for classes of another table.")
        return _class_of(kinds, names[0]) if names else None
    theirs = _classes(tables_of(declared))
    pairs = {name: name for name in theirs if name in kinds}
    for text in names:
        old, equals, new = text.partition("=")
        pairs[old] = new if equals else old
    if not pairs:
        raise click.UsageError(
            f"No class here is called as one of {declared}: {', '.join(sorted(theirs)) or 'none'} there, "
            f"{', '.join(sorted(kinds)) or 'none'} here. Say --as OLD=NEW."
        )
    return {_class_of(theirs, old): _class_of(kinds, new) for old, new in pairs.items()}


def _classes(tables: list[Table]) -> dict[str, type[Any]]:
    """The classes by their names, as the modules' patterns name them."""
    return {entity_name(model.kind): model.kind for table in tables for model in table.models if not model.is_system}


def _class_of(kinds: Mapping[str, type[Any]], name: str) -> type[Any]:
    if name not in kinds:
        raise click.UsageError(f"Unknown class {name!r}. The classes are {', '.join(sorted(kinds))}.")
    return kinds[name]


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
