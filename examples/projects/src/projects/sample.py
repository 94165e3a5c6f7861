"""A board to look at: what a lamp room needs, as people drew it."""

from __future__ import annotations

from projects.model import move_shape, put_comment, put_shape, rename
from projects.service import Service
from singletable.documents import Mutation

NOTES = ("Two lamps before the winter", "Glass from the works", "Who keeps the log?")
ORGANISATION = "example.org"
ADA, GRACE = "ada@example.org", "grace@example.org"


def note(id: str, text: str, x: int) -> Mutation:
    """What puts a note on a board."""
    return put_shape(id=id, shape={"kind": "note", "x": x, "y": 60, "width": 160, "height": 100, "text": text})


def draw_sample(app: Service, board: str) -> None:
    """Create a board with three notes and a comment. Each change is a version."""
    app.create_board(ORGANISATION, board, "Lighthouse", "What the lamp room needs")
    drawn = [note(f"s{n}", text, 40 * n) for n, text in enumerate(NOTES, start=1)]
    drawn += [rename(name="The lamp room"), move_shape(id="s2", x=240, y=200)]
    for number, change in enumerate(drawn, start=1):
        app.boards.apply(board, [change.by("ada", number, principal=ADA)])
    agreed = put_comment(id="c1", comment={"text": "Agreed", "author": GRACE, "shape": "s1"})
    app.boards.apply(board, [agreed.by("grace", 1, principal=GRACE)])
    app.boards.tag(board, "agreed")
