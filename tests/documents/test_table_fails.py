"""A table that refuses requests while mutations are processed: none of them is rejected for it."""

from __future__ import annotations

from itertools import count

from obstore.store import MemoryStore

from singletable.documents import Documents, ObjectBlobs
from singletable.errors import Throttled, Unavailable
from singletable.wire import RetryPolicy
from tests.documents.models import Project, Shape, move_shape, note, put_shape
from tests.faults.actions import Throttle
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh
from tests.support.findings import but_garbage


def test_a_table_that_fails_at_any_request_rejects_nothing(faults: Faults) -> None:
    """From its n-th request on, every one is refused for its rate. What was not decided then is decided later."""
    with fresh(retry=RetryPolicy(attempts=1)) as db:
        docs = Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))
        make_faulty(db.port, faults)
        for n in count(1):
            id = f"p{n}"
            docs.create("o1", id)
            docs.apply(id, [put_shape(id="s", shape=Shape(1, 1)).by("c", 1)])
            docs.submit(id, [move_shape(id="s", x=2, y=2).by("c", 2), note(word="x").by("d", 1)])
            faults.add(Rule(Match(nth=tuple(range(n, n + 100))), Throttle()))
            try:
                docs.process(id)
            except (Throttled, Unavailable):
                was_through = False
            else:
                was_through = True
            faults.clear()
            docs.process(id)
            found = docs.outcomes(id, [("c", 2), ("d", 1)])
            assert [each and each.status for each in found] == ["applied", "applied"], f"request {n}"
            assert docs.head(id).shapes["s"] == Shape(2, 2)
            assert but_garbage(docs.check(id)) == []
            if was_through:
                break
        assert n > 4
