"""The document that the tests of sync are about: a board of shapes and comments, with the mutators of the real one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from singletable import Table
from singletable.documents import Document, Draft, Items

table = Table("boards", indexes=["gsi1"])


@dataclass
class Shape:
    kind: str = "rect"
    x: float = 0
    y: float = 0
    text: str = ""


@dataclass
class Comment:
    text: str
    shape: str | None = None


class Project(Document, table=table, index="gsi1"):
    name: str = ""
    description: str = ""
    shapes: Items[Shape]
    comments: Items[Comment]


@Project.mutation
def put_shape(draft: Draft[Project], *, id: str, shape: Shape) -> None:
    draft.shapes[id] = shape


@Project.mutation
def move_shape(draft: Draft[Project], *, id: str, x: float, y: float) -> None:
    if id in draft.shapes:
        draft.shapes[id] = replace(draft.shapes[id], x=x, y=y)


@Project.mutation
def delete_shape(draft: Draft[Project], *, id: str) -> None:
    draft.shapes.pop(id, None)


@Project.mutation
def put_comment(draft: Draft[Project], *, id: str, comment: Comment) -> None:
    draft.comments[id] = comment


@Project.mutation
def delete_comment(draft: Draft[Project], *, id: str) -> None:
    draft.comments.pop(id, None)


@Project.mutation
def rename(draft: Draft[Project], *, name: str) -> None:
    draft.name = name


@Project.mutation
def clear_shapes(draft: Draft[Project], *, kind: str | None = None) -> None:
    for id, shape in draft.shapes.all().items():
        if kind is None or shape.kind == kind:
            del draft.shapes[id]


@Project.mutation
def explode(draft: Draft[Project]) -> None:
    raise ValueError("this mutation always fails")


class Notes(Document, table=table):
    """Another kind of document in the same table."""

    name: str = ""
