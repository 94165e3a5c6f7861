"""The applications of examples with their own data, for views that only read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from goals import Service as Goals
from goals.model import records
from goals.sample import load_sample
from projects.model import Project, move_shape, put_comment, put_shape, rename
from projects.service import Service as Projects
from singletable import Database
from singletable.documents import BlobStore, LocalBlobs
from tests.support.engines import fresh

BOARD, BRANCH, ORGANISATION = "atlas", "atlas-2", "demo"
NASTY = "<script>alert(1)</script>\u202eevil\x1b[31m"


@pytest.fixture
def goals() -> Iterator[Database]:
    """The graph of goals, with its sample: 19 nodes."""
    with fresh() as db:
        db.create_table(records)
        load_sample(Goals(db))
        yield db


@dataclass(frozen=True)
class Boards:
    """A board of nine versions, with a branch and a tag, and one mutation that waits."""

    db: Database
    app: Projects
    blobs: BlobStore


@pytest.fixture
def boards(tmp_path: Path) -> Iterator[Boards]:
    with fresh() as db:
        store = LocalBlobs(tmp_path / "blobs")
        app = Projects(db, store)
        app.create_table()
        draw_board(app)
        yield Boards(db, app, store)


def draw_board(app: Projects, board: str = BOARD) -> None:
    """Nine versions by three clients: shapes drawn and moved, a comment, a rejected mutation, another name."""
    app.create_board(ORGANISATION, board, "Atlas", f"A board {NASTY}")
    documents = app.boards
    for number in range(1, 5):
        shape = {"kind": "note", "x": number * 40, "y": 40, "text": f"Note {number} {NASTY}"}
        documents.apply(board, [put_shape(id=f"s{number}", shape=shape).by("ada", number)])
    documents.apply(board, [move_shape(id="s1", x=400, y=10).by("ada", 5), move_shape(id="s2", x=1, y=2).by("ben", 1)])
    documents.apply(board, [put_comment(id="c1", comment=NASTY).by("ben", 2)])
    documents.apply(board, [put_shape(id="s9", shape={"kind": "note"}).by("eve", 1, principal="nobody")])
    documents.apply(board, [rename(name="Atlas of the harbour").by("ada", 6)])
    documents.apply(board, [put_shape(id="s4", shape={"kind": "circle"}).by("ben", 3)])
    documents.submit(board, [rename(name="later").by("eve", 3)])
    documents.tag(board, "first-draft", version=4)
    documents.branch(board, BRANCH if board == BOARD else f"{board}-2", version=5)


__all__ = ["BOARD", "BRANCH", "NASTY", "ORGANISATION", "Boards", "Project", "draw_board"]
