"""What the command line prints: results on standard output, progress and costs beside them on standard error.

Names come from anywhere: what a terminal would obey is dropped from tables and escaped in JSON.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from examples.organisations.views import Person, Profile, Roster
from examples.organisations.walkthrough import Step
from singletable import Meter

PIPED_WIDTH = 160


@dataclass(frozen=True)
class Cost:
    """What a command's work took."""

    requests: int
    round_trips: int
    read_units: float
    write_units: float

    @classmethod
    def of(cls, meter: Meter) -> Cost:
        return cls(meter.requests, meter.round_trips, meter.read_units, meter.write_units)

    def __str__(self) -> str:
        return (
            f"{self.requests} requests, {self.round_trips} round trips, "
            f"{self.read_units:g} read units, {self.write_units:g} write units"
        )


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, sort_keys=False))


def print_cost(cost: Cost) -> None:
    Console(stderr=True).print(str(cost), style="dim")


def roster_json(roster: Roster, cost: Cost) -> dict[str, Any]:
    """The interface of `show --json`."""
    return {
        "groups": {name: _shown(people) for name, people in roster.groups.items()},
        "services": {
            id: {"groups": {name: _shown(people) for name, people in service.groups.items()}}
            for id, service in sorted(roster.services.items())
        },
        "cost": vars(cost),
    }


def profile_json(profile: Profile, cost: Cost) -> dict[str, Any]:
    """The interface of `user --json`."""
    return {
        "organisations": sorted(m.organisation_id for m in profile.organisations),
        "invitations": sorted(m.organisation_id for m in profile.invitations),
        "cost": vars(cost),
    }


def print_roster(roster: Roster) -> None:
    lines = [("", name, ", ".join(_shown(people))) for name, people in roster.groups.items()]
    for id, service in sorted(roster.services.items()):
        lines += [(id, name, ", ".join(_shown(people))) for name, people in service.groups.items()] or [(id, "", "")]
    print_table(roster.organisation.organisation_name, ("service", "group", "people"), lines)


def print_profile(profile: Profile) -> None:
    lines = [(m.organisation_id, m.organisation_name, f"since {m.accepted_at:%Y-%m-%d}") for m in profile.organisations]
    lines += [(m.organisation_id, m.organisation_name, "invited") for m in profile.invitations]
    shown = profile.user.shown_as if profile.user is not None else None
    print_table(shown or profile.email, ("organisation", "name", ""), lines)


def print_steps(steps: Iterator[Step]) -> None:
    columns = ("action", "requests", "round trips", "read units", "write units", "ms", "note")
    print_table("", columns, [_step(step) for step in steps])


def print_table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    table = Table(title=clean(title) or None, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for line in lines:
        table.add_row(*(Text(clean(cell)) for cell in line))
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    console.print(table)


def clean(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


@contextmanager
def progress_bar(what: str) -> Generator[Callable[[int, int], None], None, None]:
    """A bar on standard error; what it gives is called with the number done and the number of all."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def stopwatch() -> Generator[Callable[[], float], None, None]:
    started = time.perf_counter()
    yield lambda: time.perf_counter() - started


def _shown(people: Sequence[Person]) -> list[str]:
    return [person.shown for person in people]


def _step(step: Step) -> tuple[str, ...]:
    numbers = (step.requests, step.round_trips, step.read_units, step.write_units, round(step.seconds * 1000, 1))
    return step.name, *(f"{number:g}" for number in numbers), step.note
