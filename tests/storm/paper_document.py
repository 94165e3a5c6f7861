"""The documents of the storm, in both versions of the program: the newer one has a mutation and an attribute more."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from singletable import Table
from singletable.documents import Bounds, Document, Draft, Items, collection
from tests.storm.models import VERSION

papers = Table("papers", indexes=["gsi1"])
_figures: Any = importlib.import_module(f"tests.storm.figure_v{VERSION}")
Figure: Any = _figures.Figure


class Paper(Document, table=papers, index="gsi1", bounds=Bounds(unknown_seconds=1e9)):
    title: str = ""
    log: list[str] = []
    figures: Items[Figure] = collection(version=VERSION)


@Paper.mutation
def note(draft: Draft[Paper], *, word: str) -> None:
    """Appends, so that order and number of applications show."""
    draft.log.append(word)


@Paper.mutation
def draw(draft: Draft[Paper], *, word: str, width: int) -> None:
    """A note with a figure, small or large."""
    draft.log.append(word)
    draft.figures[word] = _figures.drawn(width, word * width)


@Paper.mutation
def redraw(draft: Draft[Paper], *, word: str, figure: str) -> None:
    """Reads a figure, which the older version of the program can't where the newer one drew it."""
    draft.figures[figure] = replace(draft.figures[figure], x=0)
    draft.log.append(word)


@Paper.mutation
def poison(draft: Draft[Paper], *, word: str) -> None:
    """Changes something, then raises what nothing good comes of."""
    draft.log.append(word)
    raise MemoryError(f"\ud800 {word}")


if VERSION == 2:

    @Paper.figures.upcast(1)
    def black(stored: dict[str, Any]) -> dict[str, Any]:
        return {**stored, "colour": "black"}

    @Paper.mutation
    def note_twice(draft: Draft[Paper], *, word: str) -> None:
        """Known to the newer version of the program only."""
        draft.log.append(word)
