"""A backup that holds a part of a commit: the check tells of every such part, whichever item is missing."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import NotFound
from singletable.documents import Documents
from tests.documents.models import Project, Shape, app, note, put_comment, put_shape
from tests.support.restoring import items_in, restore, unnoticed


def test_a_part_of_a_commit_is_told(light: Documents[Project]) -> None:
    docs: Any = light
    db = docs.db
    docs.create("o1", "p1")
    docs.apply("p1", [put_shape(id="s", shape=Shape(1, 1)).by("a", 1)])
    docs.submit("p1", [put_shape(id="t", shape=Shape(2, 2)).by("a", 2), note(word="x").by("b", 1)])
    waiting = {place: item for place, item in items_in(db, app).items() if place[1].startswith("Inbox")}

    def commit() -> None:
        docs.process("p1")  # and puts back what it cleared after the commit, which is not a part of it
        restore(db, app, {**items_in(db, app), **waiting})

    found, missed = unnoticed(db, app, commit, lambda: _told(docs))
    assert (found, missed) == (2**6 - 2, 0)
    docs.process("p1")


def _told(docs: Documents[Project]) -> list[str]:
    """What the check says, but of what is left in the inbox: a commit clears it afterwards."""
    return [finding.code for finding in docs.check("p1") if not finding.code.startswith("inbox.")]


@pytest.mark.parametrize("what", ["create", "branch"])
def test_a_part_of_a_creation_is_told(light: Documents[Project], what: str) -> None:
    docs: Any = light
    db = docs.db
    docs.create("o1", "p1")
    docs.apply("p1", [put_comment(id="c", text="x").by("a", 1)])

    def make() -> None:
        docs.create("o1", "p2") if what == "create" else docs.branch("p1", "p2")

    def told() -> bool:
        return bool(docs.check("p1") or docs.check("p2") or _is_listed_in_vain(docs, "p2"))

    found, missed = unnoticed(db, app, make, told)
    assert (found >= 6, missed) == (True, 0)


def _is_listed_in_vain(docs: Documents[Project], id: str) -> bool:
    """A place in its parent's list is all that there is of the document: whoever follows it is told."""
    if id not in [listing.document_id for listing in docs.page("o1")]:
        return False
    try:
        docs.head(id)
    except NotFound:
        return True
    return False
