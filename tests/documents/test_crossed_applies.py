"""Two `apply` of one client's mutations at the same time: between them, everything that can be applied is."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Unavailable
from singletable.documents import Documents, flows
from tests.documents.models import Project, note
from tests.documents.stepping import Stepped, SteppingPort


def _apply(docs: Documents[Project], document_id: str, id: int) -> Stepped:
    inner: Any = docs.db.port
    port: Any = SteppingPort(inner)
    return Stepped(flows.apply(port, docs.context, document_id, [note(word=str(id)).by("c", id)]))


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("stops", [(0, 3, 4, 5), pytest.param(tuple(range(16)), marks=pytest.mark.soak)])
def test_what_two_calls_can_apply_is_applied_whatever_their_order(
    light: Documents[Project], first: int, stops: tuple[int, ...]
) -> None:
    docs, left = light, list[tuple[int, int]]()
    for steps in stops:
        for others in stops:
            document_id = f"p{steps}-{others}"
            docs.create("o1", document_id)
            one, other = _apply(docs, document_id, first), _apply(docs, document_id, 3 - first)
            one.advance(steps)
            other.advance(others)
            one.finish()
            other.finish()
            if docs.last_ids(document_id, ["c"]) != {"c": 2}:
                left.append((steps, others))
    assert left == []


def test_the_next_one_is_applied_by_the_call_that_it_waited_for(light: Documents[Project]) -> None:
    """It came after the inbox was read and before the row was put: its own call has found an id missing."""
    docs = light
    docs.create("o1", "p1")
    first = _apply(docs, "p1", 1)
    first.advance(4)
    assert [outcome.status for outcome in docs.apply("p1", [note(word="2").by("c", 2)])] == ["waiting"]
    (outcome,) = first.finish()
    assert (outcome.id, outcome.status) == (1, "applied")
    assert docs.head("p1").log == ["1", "2"]


def test_a_call_that_read_before_an_id_came_reads_again(light: Documents[Project]) -> None:
    docs = light
    docs.create("o1", "p1")
    second = _apply(docs, "p1", 2)
    second.advance(4)
    docs.submit("p1", [note(word="1").by("c", 1)])
    (outcome,) = second.finish()
    assert (outcome.id, outcome.status) == (2, "applied")
    assert docs.head("p1").log == ["1", "2"]


def test_what_was_applied_is_answered_although_the_next_one_fails(
    light: Documents[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = light
    docs.create("o1", "p1")
    first = _apply(docs, "p1", 1)
    first.advance(4)
    docs.submit("p1", [note(word="2").by("c", 2)])
    while docs.last_ids("p1", ["c"]) == {"c": 0}:
        first.step()

    async def unavailable(*given: Any) -> None:
        raise Unavailable("the table does not answer")

    monkeypatch.setattr("singletable.documents.commit.read_head_state", unavailable)
    (outcome,) = first.finish()
    assert (outcome.id, outcome.status) == (1, "applied")
