"""What the command line prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from examples_shared.cost import Cost
from examples_shared.terminal import clean, print_table
from goals.views import ActivityPage, GoalList, GoalView, Said, Tree


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


def print_list(title: str, goals: GoalList) -> None:
    print_table(title, ("goal", "title", "leads", "teams", "status", "%"), [_line(view) for view in goals.goals])
    if goals.after is not None:
        click.echo(f"more: --after {goals.after}")


def print_goal(view: GoalView, links: Sequence[str]) -> None:
    lines = [(name, ", ".join(values)) for name, values in _details(view, links)]
    print_table(view.goal.title, ("", ""), lines)


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


def print_tree(tree: Tree, depth: int = 0) -> None:
    """A goal a line, each level further in."""
    goal = tree.goal
    click.echo(f"{'  ' * depth}{goal.progress:3} %  {clean(goal.title)}  ({clean(goal.id)})")
    for each in tree.below:
        print_tree(each, depth + 1)
    if tree.is_cut:
        click.echo(f"{'  ' * (depth + 1)}and more")


def print_activity(found: ActivityPage) -> None:
    title = f"{found.goal.title} (check-ins: {found.goal.check_ins}, comments: {found.goal.comments})"
    print_table(title, ("at", "who", "progress", "text", "id"), [_said(each) for each in found.said])
    if found.after is not None:
        click.echo(f"more: --after {found.after}")


def _said(said: Said) -> Sequence[str]:
    entry = said.entry
    step = "" if entry.progress is None else f"{entry.before} to {entry.progress} %"
    return f"{entry.at:%Y-%m-%d %H:%M}", said.by.name, step, entry.text, entry.id
