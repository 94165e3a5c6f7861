"""A collection of thousands of items, written by a few mutations that only refer to one content."""

from __future__ import annotations

from typing import Any

from projects.model import Project
from singletable.documents import Draft, Ref


def put_many(draft: Draft[Project], *, count: int, content: Ref[Any]) -> None:
    for number in range(count):
        draft.shapes.refer(f"many-{number:06}", content)


def fill(documents: Any, board: str, content: Ref[Any], count: int) -> None:
    """In one version. The mutation is known to the class while it is applied only."""
    mutators = documents.context.model.mutators
    mutator = Project.mutation(put_many)
    try:
        documents.apply(board, [mutator(count=count, content=content).by("bulk", 1)])
    finally:
        del mutators[mutator.name]
