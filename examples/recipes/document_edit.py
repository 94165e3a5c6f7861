"""A document edited by several clients: no edit is lost or made twice, and every version can be read again.

A change is a mutation: a function's name and arguments, numbered by its client. Clients may send them late, twice or at
the same time; each is applied once, in its client's order, and what is stored of a version is only what changed.
"""

from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

from singletable import Table, connect
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs

app = Table("app", indexes=["gsi1"])


@dataclass(frozen=True)
class Shape:
    x: int
    y: int
    text: str = ""


class Board(Document, table=app, index="gsi1"):
    name: str = ""
    shapes: Items[Shape]


@Board.mutation
def put_shape(draft: Draft[Board], *, id: str, shape: Shape) -> None:
    draft.shapes[id] = shape


@Board.mutation
def move_shape(draft: Draft[Board], *, id: str, x: int, y: int) -> None:
    draft.shapes[id] = replace(draft.shapes[id], x=x, y=y)


def main() -> None:
    with connect("local") as db, TemporaryDirectory() as folder:
        boards = Documents(db, Board, blobs=LocalBlobs(folder))
        boards.create("team-1", "board-1", name="Plan")

        ada = put_shape(id="s1", shape=Shape(0, 0, "hello")).by("ada's tablet", 1)
        ben = put_shape(id="s2", shape=Shape(9, 9)).by("ben's laptop", 1)
        with db.meter() as editing:
            outcomes = boards.apply("board-1", [ada])
        print("ada puts a shape:", [(o.status, o.version) for o in outcomes])
        print("sent again:", [(o.status, o.version) for o in boards.apply("board-1", [ada])])
        boards.apply("board-1", [ben])

        wrong = move_shape(id="missing", x=1, y=1).by("ben's laptop", 2)
        print("a mutation that fails:", [(o.status, o.error) for o in boards.apply("board-1", [wrong])])
        boards.apply("board-1", [move_shape(id="s1", x=5, y=5).by("ada's tablet", 2)])

        with db.meter() as reading:
            head = boards.head("board-1")
            shapes = dict(head.shapes)
        print("now:", head.version, sorted(shapes.items()))
        print("as it was:", sorted(boards.at("board-1", version=1).shapes.items()))
        changed = boards.diff("board-1", 1, head.version).collections["shapes"]
        print("since then:", "added", changed.added, "changed", changed.changed)
        print("what is not as it should be:", boards.check("board-1"))

        print("costs")
        print("  one edit:", editing)
        print("  the head:", reading)


if __name__ == "__main__":
    main()
