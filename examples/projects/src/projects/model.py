"""What is kept: boards that people draw on together, and the histories of git repositories. One table, every version.

Project#<id>       ProjectVersion#pv_000000000007         a board: its name, its shapes and comments
Repository#<id>    RepositoryVersion#rv_000000000007      a repository: the seventh commit, its files
"""

from __future__ import annotations

from typing import Any

from projects.files import File
from singletable import Table
from singletable.documents import Bounds, Document, Draft, Items, Ref
from singletable.sync import Edit, declare_items, revise_draft

projects = Table("projects", indexes=["gsi1"])
declare_items(projects)

SUBJECT_CHARACTERS = 72

Shape = dict[str, Any]
"""Any JSON object: who may write may store any, and the page draws what it can of it.

    {"kind": "note", "x": 40, "y": 40, "width": 160, "height": 100, "colour": "yellow", "text": "Call the bank"}
"""

Comment = dict[str, Any] | str
"""What somebody said: the text alone, or with more. Without a shape it is about the board.

    {"text": "Agreed", "author": "ada", "shape": "s1", "time": "2026-01-01T12:00:00.000Z"}
"""


class Project(Document, table=projects, index="gsi1"):
    """A board."""

    name: str = ""
    description: str = ""
    shapes: Items[Shape]
    comments: Items[Comment]


@Project.mutation
def put_shape(draft: Draft[Project], *, id: str, shape: Shape) -> None:
    """Draw a shape, or draw it anew."""
    draft.shapes[id] = shape


@Project.mutation
def move_shape(draft: Draft[Project], *, id: str, x: int | float, y: int | float) -> None:
    """Move a shape. One that somebody else has deleted meanwhile stays deleted."""
    if id in draft.shapes:
        draft.shapes[id] = {**draft.shapes[id], "x": x, "y": y}


@Project.mutation
def delete_shape(draft: Draft[Project], *, id: str) -> None:
    """Take a shape away, if it is there still."""
    draft.shapes.pop(id, None)


@Project.mutation
def put_comment(draft: Draft[Project], *, id: str, comment: Comment) -> None:
    """Say something, or say it differently."""
    draft.comments[id] = comment


@Project.mutation
def delete_comment(draft: Draft[Project], *, id: str) -> None:
    """Take a comment away, if it is there still."""
    draft.comments.pop(id, None)


@Project.mutation
def rename(draft: Draft[Project], *, name: str) -> None:
    """Give the board another name."""
    draft.name = name


@Project.mutation
def revise(draft: Draft[Project], *, edits: list[Edit]) -> None:
    """Undo, or redo: set back what still is as the client left it. What others changed since stays theirs."""
    revise_draft(draft, edits)


AS_LARGE_AS_IT_IS = Bounds(seconds=600, argument_bytes=64 << 20, changes=1_000_000)
"""A commit changes as many files as it does, and nobody but the operator submits one."""


class Repository(Document, table=projects, index="gsi1", plural="repositories", bounds=AS_LARGE_AS_IT_IS):
    """The history of a git repository along first parents: version n is the n-th commit, its files are the items."""

    name: str = ""
    commit: str = ""
    """The id of the newest commit."""
    subject: str = ""
    """The first line of its message, cut to 72 characters."""
    author: str = ""
    """Who made it, as git says it."""
    made_at: str = ""
    """When, as git says it: an import is later."""
    files: Items[File]


@Repository.mutation
def commit(
    draft: Draft[Repository],
    *,
    id: str,
    author: str,
    time: str,
    message: str,
    puts: dict[str, Ref[File]],
    deletes: list[str],
) -> None:
    """One commit: the files that it added or changed, and those that it took away. Their contents are stored already,
    so what the commit writes besides is a few bytes a file."""
    draft.commit, draft.subject = id, message.partition("\n")[0][:SUBJECT_CHARACTERS]
    draft.author, draft.made_at = author, time
    for path in deletes:
        draft.files.pop(path, None)
    for path, file in puts.items():
        draft.files.refer(path, file)
