"""`stats`: what a table is made of: items, bytes and read units by class, index and item collection."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.status import Status

from singletable.cli import output
from singletable.cli.job import is_job, run_as_job
from singletable.cli.lookup import tables_of
from singletable.cli.session import export_named, options_anywhere, rate_of, session_of
from singletable.cli.shapes import covered, tables_in, tell_shape
from singletable.database import Database
from singletable.foundation import Table

if TYPE_CHECKING:
    from singletable.jobs import JobStatus
    from singletable.reports import Chart, Prediction, TableShape

ASKED_ABOVE = 10_000
"""Read units above which a scan of a table elsewhere than on this machine is asked about."""


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option(
    "--changes",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    help="Changes to read of the stream, for the hottest keys.",
)
@click.option("--chart", is_flag=True, help="Draw how sizes are distributed.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with charts there.")
@click.option("--yes", is_flag=True, help="Don't ask, whatever the scan costs.")
@options_anywhere("job", "from-export", "sample", "seed", "segments", "read-rate", "personal", "json", "db")
@click.pass_context
def stats(ctx: click.Context, /, module: str, as_json: bool, **options: Any) -> None:
    """Show what the tables are made of.

    \b
    singletable stats shop.model
    singletable stats shop.model --sample 1% --read-rate 500
    singletable stats shop.model --chart
    singletable stats shop.model --html shape.html

    Items, bytes, and the units of reading them, by class and index; the twenty largest item collections and items; and
    the twenty partition keys with most changes, from the table's stream. It scans the table once, eventually
    consistent: half a unit for each 4 KB. It says before what that costs, and asks above 10,000 units.

    With --from-export it reads an export, for no units: the shape is as of that export, without the hottest keys.
    """
    from singletable.reports import Stats

    as_job, cost = is_job(options, "sample", "segments", "from_export"), None
    with session_of(ctx).connect_to_read() as db:
        tables = tables_of(module)
        options["from_export"] = export_named(options, tables)
        if options["from_export"] is None:
            predicted = [Stats(db, table).predict(options["sample"]) for table in tables]
            tell_cost(predicted, tables)
            confirm_cost(db, sum(each.read_units for each in predicted), yes=options["yes"])
        if as_job:
            given = {"changes": options["changes"]}
            shapes = [_shape_in(each) for each in run_as_job(ctx, db, tables, "stats", given, options, as_json=as_json)]
        else:
            with output.MeteredBlock(db) as cost:
                shapes = [_read(db, table, options) for table in tables]
    facts = [msgspec.to_builtins(shape) for shape in shapes]
    shown = [covered(table, each, personal=options["personal"]) for table, each in zip(tables, facts, strict=True)]
    if cost is not None:
        if as_json:
            output.print_json(shown)
        else:
            for each in shown:
                tell_shape(each)
        cost.print()
    if options["chart"]:
        _draw(shapes)
    if options["html"] is not None:
        options["html"].write_text(_page(module, shown, shapes), encoding="utf-8")
        output.note(f"{options['html']}: written")


def tell_cost(predicted: Sequence[Prediction], tables: Sequence[Table]) -> None:
    """Say what the scans will take."""
    for table, prediction in zip(tables, predicted, strict=True):
        if not prediction.bytes and prediction.items:
            output.note(f"{table.name}: {output.counted(prediction.items, 'item')} to scan; the service gives no size")
            continue
        size = f"{output.counted(prediction.items, 'item')}, {prediction.bytes:,} bytes by the service's last count"
        output.note(f"{table.name}: {size}; about {output.counted(prediction.read_units, 'read unit')} to scan")


def confirm_cost(db: Database, units: float, *, yes: bool) -> None:
    """Ask before an expensive scan of a table that is not on this machine. Without a terminal --yes is needed."""
    if yes or units <= ASKED_ABOVE or db.target.endpoint.is_local:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"This takes about {units:,.0f} read units at {db.target.endpoint.url}. Add --yes to do it, or --sample."
        )
    click.confirm(f"This takes about {units:,.0f} read units at {db.target.endpoint.url}. Do it?", abort=True)


def _read(db: Database, table: Table, options: Mapping[str, Any]) -> TableShape:
    from singletable.reports import Stats

    with Status(f"{table.name}: reading", console=output.console(stderr=True)) as status:
        return Stats(db, table).read(
            sample=options["sample"],
            seed=options["seed"],
            segments=options["segments"],
            rate=rate_of(options),
            changes=options["changes"],
            from_export=options["from_export"],
            progress=lambda seen: status.update(f"{table.name}: {seen} items read"),
        )


def _shape_in(status: JobStatus) -> TableShape:
    """The shape that a job has found."""
    from singletable.reports import TableShape

    return msgspec.convert(status.result, TableShape)


# --- charts -----------------------------------------------------------------------------------------------------------
def _charts(shape: TableShape) -> Iterator[Chart]:
    from singletable.reports import Chart, Series

    if not shape.items:
        return
    names = tuple(each.name or each.type or "(no type)" for each in shape.classes)
    yield Chart(
        f"{shape.table}: bytes by class", names, (Series("bytes", tuple(float(c.bytes) for c in shape.classes)),)
    )
    for title, bars in (("items", shape.item_sizes), ("item collections", shape.collection_sizes)):
        labels = tuple(f"up to {_in_bytes(bar.up_to)}" for bar in bars)
        yield Chart(f"{shape.table}: {title} by size", labels, (Series(title, tuple(float(b.count) for b in bars)),))


def _in_bytes(size: int) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} GB"


def _draw(shapes: Sequence[TableShape]) -> None:
    from singletable.reports import drawing_of

    console = output.console()
    for shape in shapes:
        for chart in _charts(shape):
            click.echo(drawing_of(chart, min(console.width, 100), coloured=console.is_terminal))


def _page(module: str, shown: Sequence[Mapping[str, Any]], shapes: Sequence[TableShape]) -> str:
    from singletable.reports import page_of, svg_of, table_of
    from singletable.reports.inspect import text_of

    parts: list[str] = []
    for facts, shape in zip(shown, shapes, strict=True):
        parts.append(f"<h2>{text_of(shape.table)}: {shape.items:,} items, {shape.bytes:,} bytes</h2>")
        parts += [svg_of(chart) for chart in _charts(shape)]
        for title, (titles, lines) in tables_in(facts):
            if lines:
                parts.append(f"<h3>{text_of(title)}</h3>{table_of(titles, lines)}")
    return page_of(f"The shape of {module}", parts)
