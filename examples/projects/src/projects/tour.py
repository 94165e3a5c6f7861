"""The three most telling calls, for `make demo`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from examples_shared.tour import Call, Tour
from projects.model import projects
from projects.sample import GRACE, draw_sample, note
from projects.service import Service
from singletable import Database
from singletable.documents import LocalBlobs

BOARD, BRANCH = "lighthouse", "lighthouse-2"


def calls(db: Database, blobs: Path) -> Iterator[Call]:
    """A change, a branch, and the change brought back."""
    db.create_table(projects)
    app = Service(db, LocalBlobs(blobs))
    draw_sample(app, BOARD)
    yield Call("apply", "a mutation: it makes a version, exactly once", lambda: _apply(app, BOARD, "s4", 2))
    yield Call("branch", "the contents are shared, not copied", lambda: _branch(app))
    _apply(app, BRANCH, "s5", 1)
    yield Call("merge", "what was done in the branch", lambda: _merge(app))


def _apply(app: Service, board: str, id: str, number: int) -> None:
    """A note, by somebody else than who drew the board."""
    app.boards.apply(board, [note(id, "The oil is ordered", 400).by("grace", number, principal=GRACE)])


def _branch(app: Service) -> str:
    return f"version {app.branch(BOARD, BRANCH, None).version}"


def _merge(app: Service) -> str:
    found = app.boards.merge(BRANCH, onto=BOARD)
    return "merged" if found.is_merged else "conflicts"


TOUR = Tour(
    "projects",
    "boards that people draw on together: versioned documents",
    calls,
    ("create atlas --organisation example.org --name Atlas",),
    "serve --insecure-user ada@example.org",
)
