"""The document class of these tests, with mutations that go right and wrong in every way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from singletable import Table
from singletable.documents import Document, Draft, Items, Ref, collection

app = Table("documents-test", indexes=["gsi1"])


@dataclass(frozen=True)
class Shape:
    x: int = 0
    y: int = 0
    text: str = ""


@dataclass(frozen=True)
class Comment:
    text: str


class Project(Document, table=app, index="gsi1"):
    name: str = ""
    description: str = ""
    log: list[str] = []
    shapes: Items[Shape]
    comments: Items[Comment] = collection(word="Remarks", prefix="r_")


@Project.mutation
def put_shape(draft: Draft[Project], *, id: str, shape: Shape) -> None:
    draft.shapes[id] = shape


@Project.mutation
def put_shapes(draft: Draft[Project], *, count: int, first: int = 0, width: int = 0, text: str = "") -> None:
    """Many at once, under ids of `width` characters at least."""
    for n in range(first, first + count):
        draft.shapes[f"{n:06}".ljust(width, "-")] = Shape(n, n, text)


@Project.mutation
def move_shape(draft: Draft[Project], *, id: str, x: int, y: int) -> None:
    draft.shapes[id] = replace(draft.shapes[id], x=x, y=y)


@Project.mutation
def delete_shape(draft: Draft[Project], *, id: str) -> None:
    del draft.shapes[id]


@Project.mutation
def link_shape(draft: Draft[Project], *, id: str, shape: Ref[Shape]) -> None:
    draft.shapes.refer(id, shape)


@Project.mutation
def put_comment(draft: Draft[Project], *, id: str, text: str) -> None:
    draft.comments[id] = Comment(text)


@Project.mutation
def rename(draft: Draft[Project], *, name: str) -> None:
    draft.name = name


@Project.mutation
def note(draft: Draft[Project], *, word: str) -> None:
    """Appends, so that the order and the number of applications show."""
    draft.log.append(word)


@Project.mutation
def nothing(draft: Draft[Project]) -> None:
    """A mutation without an effect is applied all the same."""


@Project.mutation
def fail(draft: Draft[Project], *, after: str = "") -> None:
    """Changes something, then raises."""
    draft.log.append(after)
    draft.shapes["half"] = Shape(1, 1)
    raise RuntimeError("on purpose")


@Project.mutation
def shout(draft: Draft[Project]) -> None:
    raise RuntimeError("💥" * 1000)


@Project.mutation
def swallow(draft: Draft[Project], *, id: str) -> None:
    """Takes whatever reading an item raises as that there is none."""
    try:
        text = draft.shapes[id].text
    except Exception:
        text = "none"
    draft.name = text


@Project.mutation
def grow(draft: Draft[Project], *, id: str, times: int) -> None:
    draft.shapes[id] = replace(draft.shapes[id], text=draft.shapes[id].text * times)


def said(project: Project) -> list[str]:
    return list(project.log)
