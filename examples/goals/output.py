"""What the command line prints: results on standard output, progress and costs beside them on standard error.

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

from examples.goals.cost import Cost
from examples.goals.views import GoalList, GoalView

PIPED_WIDTH = 160


def goal_json(view: GoalView) -> dict[str, Any]:
    """One goal of the interface that scripts rely on: people and teams by their ids, sorted."""
    found: dict[str, Any] = {
        "id": view.id,
        "title": view.goal.title,
        "leads": sorted(user.id for user in view.leads),
        "contributors": sorted(user.id for user in view.contributors),
        "teams": sorted(team.id for team in view.teams),
    }
    return found | ({"more": True} if view.is_cut else {})


def list_json(goals: GoalList, cost: Cost) -> dict[str, Any]:
    """The interface of `team --json` and `user --json`."""
    return {"goals": [goal_json(view) for view in goals.goals], "after": goals.after, "cost": vars(cost)}


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, sort_keys=False))


def print_cost(cost: Cost) -> None:
    Console(stderr=True).print(str(cost), style="dim")


def print_list(title: str, goals: GoalList) -> None:
    print_table(title, ("goal", "title", "leads", "teams", "status", "%"), [_line(view) for view in goals.goals])
    if goals.after is not None:
        click.echo(f"more: --after {goals.after}")


def print_goal(view: GoalView, links: Sequence[str]) -> None:
    lines = [(name, ", ".join(values)) for name, values in _details(view, links)]
    print_table(view.goal.title, ("", ""), lines)


def print_table(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    table = Table(title=clean(title) or None, title_justify="left", show_header=any(columns))
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


def _line(view: GoalView) -> tuple[str, ...]:
    leads, teams = ", ".join(user.name for user in view.leads), ", ".join(team.name for team in view.teams)
    return view.id, view.goal.title, leads, teams, view.goal.status, str(view.goal.progress)


def _details(view: GoalView, links: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    return [
        ("id", [view.id]),
        ("status", [view.goal.status]),
        ("progress", [f"{view.goal.progress} %"]),
        ("leads", [user.name for user in view.leads]),
        ("contributors", [user.name for user in view.contributors]),
        ("teams", [team.name for team in view.teams]),
        ("links", links),
    ]
