"""The three most telling calls, for `make demo`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.projects.model import projects, put_shape
from examples.projects.service import Service
from examples.shared.tour import Call, Tour
from singletable import Database
from singletable.documents import LocalBlobs

BOARD, BRANCH = "atlas", "atlas-2"


def calls(db: Database) -> Iterator[Call]:
    """A change, a branch, and the change brought back."""
    db.create_table(projects)
    with TemporaryDirectory() as folder:
        app = Service(db, LocalBlobs(Path(folder)))
        app.create_board("demo", BOARD, "Atlas", "")
        _apply(app, BOARD, "s1")
        yield Call("apply", "a mutation: it makes a version, exactly once", lambda: _apply(app, BOARD, "s2"))
        yield Call("branch", "the contents are shared, not copied", lambda: _branch(app))
        _apply(app, BRANCH, "s3")
        yield Call("merge", "what was done in the branch", lambda: _merge(app))


def _apply(app: Service, board: str, id: str) -> None:
    """Each shape by a client of its own."""
    app.boards.apply(board, [put_shape(id=id, shape={"kind": "note", "text": "Hello"}).by(f"client-{id}", 1)])


def _branch(app: Service) -> str:
    return f"version {app.branch(BOARD, BRANCH, None).version}"


def _merge(app: Service) -> str:
    found = app.boards.merge(BRANCH, onto=BOARD)
    return "merged" if found.is_merged else "conflicts"


TOUR = Tour(
    "projects",
    "boards that people draw on together: versioned documents",
    calls,
    (
        "python -m examples.projects create atlas --name Atlas",
        "python -m examples.projects serve",
    ),
)
