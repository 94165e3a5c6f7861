"""Edits are made where they still stand; one that somebody else changed since stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Table
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs
from singletable.sync import Edit, revise_draft
from singletable.sync.undo import revised
from tests.support.engines import fresh

NOTE = {"x": 1, "y": 2, "text": "a"}


@pytest.mark.parametrize(
    ("now", "was", "to", "becomes", "is_whole"),
    [
        (NOTE, {"x": 1}, {"x": 5}, {**NOTE, "x": 5}, True),
        (NOTE, {"x": 9}, {"x": 5}, NOTE, False),
        (NOTE, {"x": 9, "y": 2}, {"x": 5, "y": 5}, {**NOTE, "y": 5}, False),
        (NOTE, {}, {"colour": "red"}, {**NOTE, "colour": "red"}, True),
        (NOTE, {"text": "a"}, {}, {"x": 1, "y": 2}, True),
        ({**NOTE, "colour": "blue"}, {}, {"colour": "red"}, {**NOTE, "colour": "blue"}, False),
        ({"x": 1}, {"text": "a"}, {}, {"x": 1}, False),
        (None, None, NOTE, NOTE, True),
        (NOTE, None, {"x": 3}, NOTE, False),
        (NOTE, NOTE, None, None, True),
        (NOTE, {**NOTE, "x": 7}, None, NOTE, False),
        (None, NOTE, None, None, False),
        (None, {"x": 1}, {"x": 2}, None, False),
        ({"x": 1.0}, {"x": 1}, {"x": 2}, {"x": 2}, True),
        ({"x": True}, {"x": 1}, {"x": 2}, {"x": True}, False),
        ({"x": [True]}, {"x": [1]}, {"x": 2}, {"x": [True]}, False),
        ({"x": [1.0]}, {"x": [1]}, {"x": 2}, {"x": 2}, True),
        ({"x": [1, {"a": 2}]}, {"x": [1, {"a": 2}]}, {"x": []}, {"x": []}, True),
        ("text", "text", "other", "other", True),
    ],
)
def test_what_an_item_becomes(now: Any, was: Any, to: Any, becomes: Any, is_whole: bool) -> None:
    assert revised(now, Edit("k", was, to)) == (becomes, is_whole)


def test_edits_are_made_on_a_draft(tmp_path: Any) -> None:
    table = Table("undo")

    class Board(Document, table=table):
        name: str = ""
        shapes: Items[dict[str, Any]]

    kept: list[list[str]] = []

    @Board.mutation
    def revise(draft: Draft[Board], *, edits: list[Edit]) -> None:
        kept.append(revise_draft(draft, edits))

    with fresh() as db:
        boards = Documents(db, Board, blobs=LocalBlobs(tmp_path))
        boards.create("o1", "b1")
        edits = [Edit("shapes/s1", None, NOTE), Edit("board", {"name": ""}, {"name": "One"})]
        assert boards.apply("b1", [revise(edits=edits).by("c", 1)])[0].error is None
        edits = [Edit("shapes/s1", {"x": 9}, {"x": 5}), Edit("board", {"name": "One"}, {"name": "Two"})]
        boards.apply("b1", [revise(edits=edits).by("c", 2)])
        head = boards.head("b1")
        assert (head.name, head.shapes["s1"]) == ("Two", NOTE)
        boards.apply("b1", [revise(edits=[Edit("shapes/s1", NOTE, None)]).by("c", 3)])
        assert len(boards.head("b1").shapes) == 0
        assert kept == [[], ["shapes/s1"], []]
        for key in ("nothing/s1", "board/x", "shapes/", "nothing"):
            (outcome,) = boards.apply("b1", [revise(edits=[Edit(key, None, NOTE)]).by(f"d{key}", 1)])
            assert outcome.status == "rejected"
