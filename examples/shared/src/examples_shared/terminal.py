"""The command line's manners: results on standard output, progress and costs beside them on standard error.

Names come from anywhere: what a terminal would obey is dropped from tables and escaped in JSON.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from examples_shared.cost import Cost
from examples_shared.errors import ApplicationError
from singletable import SingletableError

PIPED_WIDTH = 160


class Commands(click.Group):
    """Refusals are a line on standard error and exit status 1, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ApplicationError, SingletableError) as error:
            raise click.ClickException(str(error)) from error


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, sort_keys=False))


def print_cost(cost: Cost) -> None:
    Console(stderr=True).print(str(cost), style="dim")


def print_table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]], *, ruled: bool = False) -> None:
    """A table; without a header where no column has a name. `ruled` draws a line between its rows, for cells of more
    than one line."""
    table = Table(title=clean(title) or None, title_justify="left", show_header=any(columns), show_lines=ruled)
    for column in columns:
        table.add_column(column, overflow="fold")
    for line in lines:
        table.add_row(*(Text("\n".join(map(clean, cell.split("\n") if ruled else [cell]))) for cell in line))
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    console.print(table)


def clean(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


@contextmanager
def progress_bar(what: str) -> Generator[Callable[[int, int], None], None, None]:
    """A bar on standard error; what it gives is called with the number done and the number of all. Nothing is shown
    before: what is refused at once is one line."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=Console(stderr=True))
    task = bar.add_task(what, total=None)

    def tell(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def stopwatch() -> Generator[Callable[[], float], None, None]:
    started = time.perf_counter()
    yield lambda: time.perf_counter() - started
