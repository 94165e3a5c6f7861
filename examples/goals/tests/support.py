"""What the tests of the application share: whole lists, page by page, and small files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from goals import Service
from goals.cli import main
from goals.views import GoalList, GoalView


@dataclass(frozen=True)
class Generated:
    """The application on a generated graph, and who leads each of its goals."""

    app: Service
    leads: dict[str, list[str]]


def run(target: str, *arguments: str) -> Result:
    """The command line in this process: what it does, without the time that a process takes to start."""
    return CliRunner().invoke(main, ["--db", target, *arguments])


def all_pages(ask: Callable[[str | None], GoalList]) -> Iterator[GoalList]:
    after: str | None = None
    while True:
        page = ask(after)
        yield page
        after = page.after
        if after is None:
            return


def whole(ask: Callable[[str | None], GoalList]) -> list[GoalView]:
    return [view for page in all_pages(ask) for view in page.goals]


def enhancement(id: str, **said: Any) -> dict[str, Any]:
    """A line of the file."""
    line = {
        "id": id,
        "title": f"The title of {id}",
        "status": "implementable",
        "stage": "beta",
        "created": "2026-01-02",
        "owning_sig": "sig-one",
        "participating_sigs": [],
        "authors": ["ada"],
        "reviewers": [],
        "approvers": [],
        "see_also": [],
        "replaces": [],
        "milestone": {},
    }
    return line | said


def text_of(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def write_lines(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text(text_of(*lines), "utf-8")
    return path
