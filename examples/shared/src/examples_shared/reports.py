"""`report`: the questions in an application's folder of SQL files, asked of its table or of an export.

The first line of a file is a comment: what the question is. Needs `pip install 'singletable[reports]'`, which is loaded
when a question is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from examples_shared.opening import pass_opened
from examples_shared.terminal import print_json, print_table
from singletable import Database, Table, reports

WIDTH = 100


def reports_in(folder: Path) -> dict[str, Path]:
    """The questions of a folder, by name."""
    return {path.stem: path for path in sorted(folder.glob("*.sql"))}


def title_of(path: Path) -> str:
    """What a question says that it is."""
    return path.read_text("utf-8").partition("\n")[0].removeprefix("--").strip()


def ask(session: reports.SqlSession, path: Path) -> reports.Answer:
    """The answer to the question in a file."""
    return session.query(path.read_text("utf-8"))


def report_command(table: Table, folder: Path, database_of: Callable[[Any], Database]) -> click.Command:
    """The command of an application. `database_of` gives the database of what its group opens."""
    files = reports_in(folder)

    @click.command("report")
    @click.argument("name", required=False)
    @click.option("--from", "place", metavar="DIR|s3://...", help="Ask an export. [default: the table, scanned once]")
    @click.option("--chart", is_flag=True, help="Draw it in the terminal too.")
    @click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with its chart there.")
    @click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write its chart there.")
    @click.option("--json", "as_json", is_flag=True)
    @pass_opened
    def report(
        app: Any, name: str | None, place: str | None, chart: bool, html: Path | None, svg: Path | None, as_json: bool
    ) -> None:
        """Answer a question about everything; without a name, list the questions."""
        if name is None:
            print_table("", ("report", "answers"), [(each, title_of(path)) for each, path in files.items()])
            return
        if name not in files:
            raise click.UsageError(f"There is no report {name!r}. There are: {', '.join(files)}.")
        db = database_of(app)
        with reports.open_live(db, table) if place is None else reports.open_export(place, table) as session:
            answer = ask(session, files[name])
        _show(answer, title_of(files[name]), chart, html, svg, as_json)

    return report


def _show(answer: reports.Answer, title: str, chart: bool, html: Path | None, svg: Path | None, as_json: bool) -> None:
    rows = list(answer.rows())
    if as_json:
        print_json([dict(zip(answer.columns, map(_plain, row), strict=True)) for row in rows])
    else:
        print_table(title, answer.columns, [["" if cell is None else str(cell) for cell in row] for row in rows])
    if not rows:
        return
    if chart:
        click.echo(reports.drawing_of(answer.chart(title), WIDTH, coloured=False))
    if svg is not None:
        svg.write_text(reports.svg_of(answer.chart(title)), "utf-8")
    if html is not None:
        html.write_text(
            reports.page_of(title, [reports.svg_of(answer.chart(title)), reports.table_of(answer.columns, rows)]),
            "utf-8",
        )


def _plain(cell: Any) -> Any:
    """As JSON has it."""
    return cell if cell is None or isinstance(cell, (bool, int, float, str)) else str(cell)
