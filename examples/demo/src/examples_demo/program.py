"""The most telling calls of the four applications on a private engine, each with its cost."""

from __future__ import annotations

import shlex
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import click

from examples_demo.tours import TOURS
from examples_shared.terminal import print_table
from examples_shared.tour import Step, steps
from singletable import connect

_TITLES = ("Call", "Requests", "Round trips", "Read units", "Write units", "ms", "")


@click.command()
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep each application's data there, in place of what an earlier demo kept.",
)
def main(keep: Path | None) -> None:
    """Show the four applications: three calls of each, with their cost.

    Each runs on a private engine: it creates its table, loads a sample and makes the calls. Engine and data are
    deleted at the end, unless --keep names a folder. The last lines are the commands that open each application in a
    browser, and the studio of what was kept.
    """
    started = time.perf_counter()
    made: list[Step] = []
    for tour in TOURS:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            _forget(keep, tour.application)
        with connect(_target(keep, tour.application)) as db, _blobs(keep, tour.application) as blobs:
            taken = list(steps(db, tour.calls(db, blobs)))
        click.echo(f"\n{tour.application}: {tour.about}")
        print_table("", _TITLES, [_line(step) for step in taken])
        made += taken
    click.echo(f"\n{_summary(made, time.perf_counter() - started)}")
    _print_commands(keep)


def _print_commands(keep: Path | None) -> None:
    click.echo("\nTo look at each in a browser:")
    for tour in TOURS:
        program = f"  python -m {tour.application} {_options(keep, tour.application)}"
        commands = [*(tour.loads if keep is None else ()), tour.serve]
        click.echo("\n".join(["", *(f"{program} {command}" for command in commands)]))
    if keep is None:
        click.echo("\nTo look at the tables: python -m examples_demo --keep data/demo")
        return
    click.echo("\nTo look at the tables that were made, each in the studio:\n")
    for tour in TOURS:
        click.echo(f"  singletable studio {tour.application}.model {_options(keep, tour.application)}")


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


def _line(step: Step) -> tuple[str, ...]:
    counts = (str(step.requests), str(step.round_trips), f"{step.read_units:g}", f"{step.write_units:g}")
    return (step.name, *counts, f"{step.seconds * 1000:.1f}", step.note)


def _summary(steps: Sequence[Step], seconds: float) -> str:
    requests = sum(step.requests for step in steps)
    read, write = sum(step.read_units for step in steps), sum(step.write_units for step in steps)
    return f"{len(steps)} calls, {requests} requests, {read:g} read and {write:g} write units, in {seconds:.1f} s"
