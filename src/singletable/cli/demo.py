"""`demo`: the organisations application on a private engine, every access pattern with its cost."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from singletable.cli import output
from singletable.cli.lookup import tables_of
from singletable.database import Database, connect

_WALKTHROUGH = "examples.organisations.walkthrough"
_MODEL = "examples.organisations.model"
_TITLES = ("Access pattern", "Requests", "Round trips", "Read units", "Write units", "ms", "")


class Step(Protocol):
    """One action of the walkthrough, with its cost."""

    name: str
    requests: int
    round_trips: int
    read_units: float
    write_units: float
    seconds: float
    note: str


@click.command()
def demo() -> None:
    """Run the sample application and show the cost of each call.

    It runs every access pattern of the organisations application on a private engine: creates the table, loads a
    sample, reads and writes. The engine and its data are deleted at the end. The application is in the repository, not
    in the package: run it from a checkout.
    """
    walkthrough = _walkthrough()
    started = time.perf_counter()
    with connect("local") as db:
        _prepare(db, started)
        steps = _run(db, walkthrough)
    output.print_table(_TITLES, [_line(step) for step in steps])
    click.echo(_summary(steps, time.perf_counter() - started))


def _walkthrough() -> Callable[[Database], Iterator[Step]]:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(_WALKTHROUGH)
    except ModuleNotFoundError as error:
        if error.name is None or not _WALKTHROUGH.startswith(error.name):
            raise click.ClickException(f"The demo needs {error.name}: run `make demo`, which installs it.") from error
        raise click.ClickException(
            "The demo runs the application in examples/organisations, which is missing here. Run `make demo` in "
            "a checkout of the repository."
        ) from None
    found: Callable[[Database], Iterator[Step]] = module.walkthrough
    return found


def _prepare(db: Database, started: float) -> None:
    click.echo(f"engine   {db.target.endpoint.url}, after {(time.perf_counter() - started) * 1000:.0f} ms")
    for table in tables_of(_MODEL):
        made = db.create_table(table)
        entities = ", ".join(model.kind.__name__ for model in table.models)
        click.echo(f"table    {made.name}: {entities}")


def _run(db: Database, walkthrough: Callable[[Database], Iterator[Step]]) -> list[Step]:
    steps: list[Step] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=output.console(stderr=True), transient=True) as progress:
        task = progress.add_task("access patterns", total=None)
        for step in walkthrough(db):
            steps.append(step)
            progress.update(task, advance=1, description=output.clean(step.name))
    return steps


def _line(step: Step) -> tuple[Any, ...]:
    units = (f"{step.read_units:g}", f"{step.write_units:g}")
    return (step.name, step.requests, step.round_trips, *units, f"{step.seconds * 1000:.1f}", step.note)


def _summary(steps: list[Step], seconds: float) -> str:
    requests = sum(step.requests for step in steps)
    read, write = sum(step.read_units for step in steps), sum(step.write_units for step in steps)
    units = f"{read:g} read and {write:g} write units"
    return f"{len(steps)} calls of access patterns, {requests} requests, {units}, in {seconds:.1f} s"
