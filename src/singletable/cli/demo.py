"""`demo`: the most telling calls of the four applications on a private engine, each with its cost."""

from __future__ import annotations

import importlib
import shlex
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import click

from singletable.cli import output
from singletable.cli.lookup import reach
from singletable.database import Database, connect

_TOURS = "examples.tours"
_STEPS = "examples.shared.tour"
_TITLES = ("Call", "Requests", "Round trips", "Read units", "Write units", "ms", "")


class Step(Protocol):
    """A call that was made, with its cost."""

    name: str
    requests: int
    round_trips: int
    read_units: float
    write_units: float
    seconds: float
    note: str


class Tour(Protocol):
    """One application: what it is, its calls, and the commands that open it in a browser."""

    application: str
    about: str
    calls: Callable[[Database, Path], Iterator[Any]]
    """With a directory for blobs."""
    loads: Sequence[str]
    """The commands that load what `serve` opens, where nothing was kept."""
    serve: str


@click.command()
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep each application's data there, in place of what an earlier demo kept.",
)
def demo(keep: Path | None) -> None:
    """Show the four applications: three calls of each, with their cost.

    Each runs on a private engine: it creates its table, loads a sample and makes the calls. Engine and data are
    deleted at the end, unless --keep names a folder. The last lines are the commands that open each application in a
    browser, and the studio of what was kept. The applications are in the repository, not in the package: run it from a
    checkout.
    """
    started = time.perf_counter()
    tours, steps_of = _applications()
    made: list[Step] = []
    for tour in tours:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            _forget(keep, tour.application)
        with connect(_target(keep, tour.application)) as db, _blobs(keep, tour.application) as blobs:
            steps = list(steps_of(db, tour.calls(db, blobs)))
        click.echo(f"\n{tour.application}: {tour.about}")
        output.print_table(_TITLES, [_line(step) for step in steps])
        made += steps
    click.echo(f"\n{_summary(made, time.perf_counter() - started)}\n\nTo look at each in a browser:")
    for tour in tours:
        program = f"  python -m examples.{tour.application} {_options(keep, tour.application)}"
        commands = [*(tour.loads if keep is None else ()), tour.serve]
        click.echo("\n".join(["", *(f"{program} {command}" for command in commands)]))
    if keep is None:
        click.echo("\nTo look at the tables: singletable demo --keep data/demo")
        return
    click.echo("\nTo look at the tables that were made, each in the studio:\n")
    for tour in tours:
        click.echo(f"  singletable studio examples.{tour.application}.model {_options(keep, tour.application)}")


def _target(keep: Path | None, application: str) -> str:
    """A data file of the folder that is kept."""
    return "local" if keep is None else f"local:{keep / application}.db"


@contextmanager
def _blobs(keep: Path | None, application: str) -> Generator[Path]:
    """A directory for blobs: of the folder that is kept, or for as long as the calls are made."""
    if keep is not None:
        yield _kept_blobs(keep, application)
        return
    with TemporaryDirectory(prefix="singletable-demo-") as folder:
        yield Path(folder)


def _kept_blobs(keep: Path, application: str) -> Path:
    return keep / f"{application}-blobs"


def _options(keep: Path | None, application: str) -> str:
    """The options of the application and the studio: the place of its data, and of its blobs, if it made some."""
    if keep is None:
        return f"--db local:{application}.db"
    blobs = _kept_blobs(keep, application)
    return shlex.join(["--db", _target(keep, application), *(["--blobs", str(blobs)] if blobs.exists() else [])])


def _forget(keep: Path, application: str) -> None:
    """Delete what an earlier demo kept of an application."""
    for path in keep.glob(f"{application}.db*"):
        path.unlink()
    rmtree(_kept_blobs(keep, application), ignore_errors=True)


def _applications() -> tuple[Sequence[Tour], Callable[[Database, Iterable[Any]], Iterator[Step]]]:
    """The tours, and the function that makes their calls."""
    reach(Path.cwd())
    try:
        return importlib.import_module(_TOURS).TOURS, importlib.import_module(_STEPS).steps
    except ModuleNotFoundError as error:
        if error.name is None or not _TOURS.startswith(error.name):
            raise click.ClickException(f"The demo needs {error.name}: run `make demo`, which installs it.") from error
        raise click.ClickException(
            "The demo runs the applications in examples/, which are missing here. Run `make demo` in a checkout of "
            "the repository."
        ) from None


def _line(step: Step) -> tuple[Any, ...]:
    units = (f"{step.read_units:g}", f"{step.write_units:g}")
    return (step.name, step.requests, step.round_trips, *units, f"{step.seconds * 1000:.1f}", step.note)


def _summary(steps: Sequence[Step], seconds: float) -> str:
    requests = sum(step.requests for step in steps)
    read, write = sum(step.read_units for step in steps), sum(step.write_units for step in steps)
    return f"{len(steps)} calls, {requests} requests, {read:g} read and {write:g} write units, in {seconds:.1f} s"
