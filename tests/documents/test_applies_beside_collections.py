"""`apply` beside garbage collections, and beside itself in another process: all is applied once, and is there."""

from __future__ import annotations

import random
from typing import Any

import pytest

from singletable import NotFound, Unavailable
from singletable.documents import Documents, Mutation, flows
from tests.documents.models import Project, Shape, note, put_shape
from tests.documents.stepping import SteppingPort, at_random

AGAIN = Shape(7, 7, "a content that is condemned, and written again" * 20)


def _flows(docs: Documents[Project], id: str, *, delete: bool = False) -> list[Any]:
    inner: Any = docs.db.port
    port: Any = SteppingPort(inner)

    def apply(client: str, *mutations: Mutation) -> Any:
        given = [mutation.by(client, n + 1) for n, mutation in enumerate(mutations)]
        return flows.apply(port, docs.context, id, given)

    long = note(word="l" * 700)
    work = [
        apply("a", put_shape(id="s", shape=AGAIN), note(word="a")),
        apply("b", long, put_shape(id="t", shape=AGAIN)),
        apply("b", long, put_shape(id="t", shape=AGAIN)),  # the same call, from another process
        flows.collect_garbage(port, docs.context, id),
        flows.collect_garbage(port, docs.context, id),
    ]
    return [*work, flows.delete(port, docs.context, id)] if delete else work


@pytest.mark.parametrize("runs", [3, pytest.param(300, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_each_is_applied_once_and_all_it_names_is_there(light: Documents[Project], runs: int) -> None:
    docs = light
    for n in range(runs):
        id = f"p{n}"
        docs.create("o1", id)
        docs.store(id, Project.shapes, [AGAIN])  # nothing refers to it: a collection may condemn it
        *applies, _, _ = at_random(_flows(docs, id), random.Random(n))
        for applied in applies:
            assert applied.error is None or isinstance(applied.error, Unavailable), applied.error
            assert {outcome.status for outcome in applied.value or ()} <= {"applied"}
        docs.process(id)
        head = docs.head(id)
        assert sorted(head.log) == sorted(["a", "l" * 700])
        assert dict(head.shapes) == {"s": AGAIN, "t": AGAIN}
        docs.collect_garbage(id, take_over=True)
        assert dict(docs.head(id).shapes) == {"s": AGAIN, "t": AGAIN}


def test_a_document_that_is_deleted_meanwhile_leaves_nothing(light: Documents[Project]) -> None:
    docs = light
    for n in range(3):
        id = f"p{n}"
        docs.create("o1", id)
        for flow in at_random(_flows(docs, id, delete=True), random.Random(n)):
            assert flow.error is None or isinstance(flow.error, (NotFound, Unavailable)), flow.error
        with pytest.raises(NotFound):
            docs.head(id)
