"""`sql`: ask an export, or a small live table, by SQL: a view a class."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.cli.session import options_anywhere, rate_of, session_of
from singletable.cli.stats import confirm_cost, tell_cost

if TYPE_CHECKING:
    from singletable.reports import Answer, SqlSession

EXPORT_VARIABLE = "SINGLETABLE_EXPORT"


@click.command()
@click.argument("module", metavar="MODULE[:NAME]")
@click.option("-c", "--command", "query", metavar="QUERY", help="Ask this, and end.")
@click.option("--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Ask what this file holds.")
@click.option(
    "--from",
    "place",
    metavar="DIR|s3://BUCKET/PREFIX",
    envvar=EXPORT_VARIABLE,
    help=f"The export to ask. [env: {EXPORT_VARIABLE}; default: the table itself, scanned once]",
)
@click.option("--as-exported", is_flag=True, help="Ask an export whose classes have changed since.")
@click.option("--chart", is_flag=True, help="Draw the result: columns of numbers over the others.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with chart and rows there.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write the chart alone there.")
@click.option("--title", default="", metavar="TEXT", help="Of the chart and the page.")
@click.option("--yes", is_flag=True, help="Don't ask, whatever a scan costs.")
@options_anywhere("read-rate", "personal", "json", "db")
@click.pass_context
def sql(ctx: click.Context, /, module: str, query: str | None, as_json: bool, **options: Any) -> None:
    """Ask by SQL: a view a class, in snake case, and a view a relation.

    \b
    singletable export shop.model --to exports
    singletable sql shop.model --from exports
    singletable sql shop.model --from exports -c 'SELECT state, count(*) FROM job GROUP BY ALL' --chart
    singletable sql shop.model -c 'SELECT count(*) FROM customer'

    Without --from it scans the table once, says before what that costs, and asks above 10,000 units. A query only
    reads, and reads nothing but the export. Without -c it asks what comes on standard input: in a terminal, a shell
    with history and completion.
    """
    asked = _asked(query, options["file"])
    with ExitStack() as open_:
        session = open_.enter_context(_opened(ctx, module, options))
        if asked is None and sys.stdin.isatty():
            from singletable.cli.sql_shell import run_shell

            run_shell(session, lambda answer: show(answer, as_json=as_json))
            return
        text = sys.stdin.read() if asked is None else asked
        started = time.perf_counter()
        answer = session.query(text)
        seconds = time.perf_counter() - started
        show(answer, as_json=as_json)
        draw(answer, text, options)
    output.note(f"{output.counted(len(answer), 'row')}, {seconds * 1000:.1f} ms")


def _asked(query: str | None, file: Path | None) -> str | None:
    if query is not None and file is not None:
        raise click.UsageError("Say -c or --file, not both.")
    return query if file is None else file.read_text(encoding="utf-8")


def _opened(ctx: click.Context, module: str, options: Mapping[str, Any]) -> SqlSession:
    """The named export, or one of the live tables."""
    from singletable.reports import open_export, open_live

    tables = tables_of(module)
    if options["place"] is not None:
        session = open_export(
            options["place"], *tables, personal=options["personal"], as_exported=options["as_exported"]
        )
        _tell_source(session, options["place"])
        return session
    with session_of(ctx).connect_to_read() as db:
        from singletable.reports import Stats

        predicted = [Stats(db, table).predict() for table in tables]
        tell_cost(predicted, tables)
        confirm_cost(db, sum(each.read_units for each in predicted), yes=options["yes"])
        with output.MeteredBlock(db) as cost:
            session = open_live(db, *tables, rate=rate_of(options), personal=options["personal"])
        cost.print()
        return session


def _tell_source(session: SqlSession, place: str) -> None:
    manifest = session.manifest
    output.note(f"{place}: complete up to {manifest.complete_at:%Y-%m-%d %H:%M:%S} UTC, {manifest.rows:,} rows")


def show(answer: Answer, *, as_json: bool) -> None:
    """Print the rows; on standard error what they leave out."""
    if as_json:
        output.print_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows()])
    else:
        output.print_table(answer.columns, list(answer.rows()))
    for note in answer.notes:
        output.note(note)


def draw(answer: Answer, text: str, options: Mapping[str, Any]) -> None:
    """Draw the rows where that is asked for."""
    if not (options["chart"] or options["html"] or options["svg"]):
        return
    chart = answer.chart(options["title"] or _first_line(text))
    if options["chart"]:
        from singletable.reports import drawing_of

        console = output.console()
        click.echo(drawing_of(chart, min(console.width, 100), coloured=console.is_terminal))
    from singletable.reports import page_of, svg_of, table_of

    parts = [svg_of(chart), table_of(answer.columns, answer.rows())]
    if answer.notes:
        parts.append(table_of(("Left out",), [(note,) for note in answer.notes]))
    written: Sequence[tuple[Path | None, str]] = (
        (options["svg"], svg_of(chart)),
        (options["html"], page_of(chart.title, parts)),
    )
    for path, content in written:
        if path is not None:
            path.write_text(content, encoding="utf-8")
            output.note(f"{path}: written")


def _first_line(text: str) -> str:
    """The title of a query: its first comment, or its text."""
    for line in text.strip().splitlines():
        return line.removeprefix("--").strip()[:100]
    return ""
