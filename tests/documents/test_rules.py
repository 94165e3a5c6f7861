"""The rules of the commit, line by line: what is in the transaction, what is read how, and what a lost answer means."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from singletable import InvalidRequest, OutcomeUnknown, Unavailable, attr, connect
from singletable.documents import Documents, LocalBlobs, flows
from singletable.documents.document import document_model
from singletable.operations import BatchGetItem, CheckItem, GetItem, PutItem, Query, Scan, TransactWriteItems
from singletable.wire import RetryPolicy
from tests.documents.models import Project, Shape, app, note, put_shape, put_shapes, rename, said
from tests.documents.stepping import Stepped, SteppingPort, at_random
from tests.faults.actions import ApplyThenCut
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.support.findings import but_garbage
from tests.support.traits import LOCAL


@contextmanager
def watched(docs: Documents[Project], before: Callable[[Any], None]) -> Iterator[list[Any]]:
    """Every operation that is sent; `before` may raise in its place."""
    port: Any = docs.db.port
    send, send_all, sent = port.send, port.send_all, []

    async def watching(operation: Any) -> Any:
        sent.append(operation)
        before(operation)
        return await send(operation)

    async def watching_all(operations: Sequence[Any]) -> Any:
        sent.extend(operations)
        for operation in operations:
            before(operation)
        return await send_all(operations)

    port.__dict__.update(send=watching, send_all=watching_all)
    try:
        yield sent
    finally:
        del port.__dict__["send"], port.__dict__["send_all"]


def nothing(operation: Any) -> None:
    """Nothing happens to it."""


def commits(sent: Sequence[Any]) -> list[TransactWriteItems]:
    return [operation for operation in sent if isinstance(operation, TransactWriteItems)]


def test_a_commit_is_one_transaction_that_holds_all_it_was_made_from(light: Documents[Project]) -> None:
    docs = light
    docs.create("o1", "p1")
    docs.apply("p1", [note(word="x").by("old", 1)])
    docs.submit("p1", [put_shapes(count=7000, width=36).by("old", 2), note(word="y").by("new", 1)])
    with watched(docs, nothing) as sent:
        docs.process("p1")
    (commit,) = commits(sent)
    puts = {str(a.item["sk"]["S"]): a for a in commit.actions if isinstance(a, PutItem)}
    assert sorted(puts) == [
        "Client#new",
        "Client#old",
        "Mutation#new#000000000001",
        "Mutation#old#000000000002",
        "ProjectVersion#pv_000000000002",
        "Shapes#shapes_v_000000000001#0000",
        "Shapes#shapes_v_000000000001#0001",
    ]
    for key, put in puts.items():
        held = {**put.guard.names}, {**put.guard.values}, put.guard.condition
        if key == "Client#old":
            assert held == ({"#0": "last_id"}, {":0": {"N": "1"}}, "#0 = :0")
        else:
            assert held == ({"#0": "pk"}, {}, "attribute_not_exists(#0)")
    (check,) = [a for a in commit.actions if isinstance(a, CheckItem)]
    assert (check.key["sk"], check.guard.values, check.guard.condition) == (
        {"S": "GcEpoch"},
        {":0": {"N": "1"}},
        "#0 = :0",
    )
    client = puts["Client#old"].item
    assert (client["last_id"], client["version"]) == ({"N": "2"}, {"N": "2"})


def test_only_changed_collections_get_a_version(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    docs.apply("p1", [put_shape(id="s", shape=Shape(1, 1)).by("c", 1)])
    docs.apply("p1", [rename(name="x").by("c", 2)])
    docs.apply("p1", [put_shape(id="s", shape=Shape(1, 1)).by("c", 3)])
    assert [v.collections for v in docs.history("p1")] == [{"shapes": 1}, {"shapes": 1}, {"shapes": 1}, {}]


def test_all_reads_that_feed_a_commit_are_consistent(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    docs.apply("p1", [put_shape(id="s", shape=Shape(1, 1)).by("c", 1)])
    with watched(docs, nothing) as sent:
        docs.apply("p1", [put_shape(id="t", shape=Shape(2, 2, "x" * 3000)).by("c", 2)])
        docs.collect_garbage("p1")
    reads = [o for o in sent if isinstance(o, (GetItem, Query, BatchGetItem, Scan))]
    assert len(reads) > 5
    for read in reads:
        assert read.selection.consistent if isinstance(read, (Query, Scan)) else read.consistent


# --- lost races -------------------------------------------------------------------------------------------------------
def test_processors_that_cross_anywhere_start_afresh_and_never_merge(docs: Documents[Project]) -> None:
    port: Any = SteppingPort(docs.db.port)  # type: ignore[arg-type]
    for k in range(1, 16):
        id = f"p{k}"
        docs.create("o1", id)
        docs.submit(id, [note(word="a").by("a", 1), put_shape(id="s", shape=Shape(1, 1)).by("a", 2)])
        slow = Stepped(flows.process(port, docs.context, id))
        slow.advance(k)
        docs.apply(id, [note(word="b").by("b", 1), put_shape(id="s", shape=Shape(2, 2)).by("b", 2)])
        slow.finish()
        docs.process(id)
        assert sorted(said(docs.head(id))) == ["a", "b"]
        versions = list(docs.history(id))[::-1]
        order = [(m.client, m.id) for v in versions for m in v.mutations]
        assert sorted(order) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
        last = "a" if order.index(("a", 2)) > order.index(("b", 2)) else "b"
        assert docs.head(id).shapes["s"].x == {"a": 1, "b": 2}[last]


def test_many_processors_in_any_order(docs: Documents[Project]) -> None:
    port: Any = SteppingPort(docs.db.port)  # type: ignore[arg-type]
    for n in range(12):
        id = f"many-{n}"
        docs.create("o1", id)
        work = [
            flows.apply(port, docs.context, id, [note(word=f"{client}{i}").by(client, i) for i in (1, 2, 3)])
            for client in "abcd"
        ]
        for done in at_random(work, random.Random(n)):
            assert [o.status for o in done.finish()] == ["applied"] * 3
        words = said(docs.head(id))
        assert sorted(words) == sorted(f"{client}{i}" for client in "abcd" for i in (1, 2, 3))
        for client in "abcd":
            assert [word for word in words if word[0] == client] == [f"{client}{i}" for i in (1, 2, 3)]


# --- lost answers -----------------------------------------------------------------------------------------------------
def test_a_commit_of_unknown_outcome_is_settled_by_reading(proxy: FaultProxy, faults: Faults, tmp_path: Any) -> None:
    """It was applied, and every answer is lost until the deadline: its records say so."""
    hasty = RetryPolicy(attempts=2, transaction_deadline_seconds=0.2)
    with connect(proxy.url, environ={}, retry=hasty) as db:
        db.port.traits = LOCAL
        db.create_table(app)
        docs = Documents(db, Project, blobs=LocalBlobs(tmp_path))
        docs.create("o1", "p1")
        docs.submit("p1", [note(word="x").by("c", 1)])
        faults.add(Rule(Match("TransactWriteItems"), ApplyThenCut()))
        assert [(o.status, o.version) for o in docs.process("p1")] == [("applied", 1)]
        faults.clear()
        assert docs.process("p1") == []
        assert said(docs.head("p1")) == ["x"]
        assert but_garbage(docs.check("p1")) == []


def test_a_commit_that_was_lost_on_its_way_is_made_again(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    docs.submit("p1", [note(word="x").by("c", 1)])
    lost: list[Any] = []

    def lose_first(operation: Any) -> None:
        if isinstance(operation, TransactWriteItems) and not lost:
            lost.append(operation)
            raise OutcomeUnknown("no answer")

    with watched(docs, lose_first) as sent:
        assert [o.status for o in docs.process("p1")] == ["applied"]
    first, second = commits(sent)
    assert first.token != second.token
    assert said(docs.head("p1")) == ["x"]


def test_an_unknown_outcome_that_nothing_can_settle_is_said(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    docs.submit("p1", [note(word="x").by("c", 1)])
    lost: list[Any] = []

    def lose_all(operation: Any) -> None:
        if isinstance(operation, TransactWriteItems):
            lost.append(operation)
            raise OutcomeUnknown("no answer")
        if lost:
            raise Unavailable("away")

    with watched(docs, lose_all), pytest.raises(OutcomeUnknown):
        docs.process("p1")
    assert [o.status for o in docs.process("p1")] == ["applied"]


def test_what_the_inbox_keeps_after_a_commit_is_dead(docs: Documents[Project]) -> None:
    """Clearing fails: the rows are below the last id, answer nobody, and go with the next version."""
    docs.create("o1", "p1")

    def keep_rows(operation: Any) -> None:
        if operation.__class__.__name__ == "BatchWriteItem":
            raise Unavailable("away")

    with watched(docs, keep_rows):
        assert docs.apply("p1", [note(word="x").by("c", 1)])[0].status == "applied"
    assert [finding.code for finding in docs.check("p1")] == ["inbox.dead"]
    assert docs.process("p1") == []
    assert docs.check("p1") == []
    assert said(docs.head("p1")) == ["x"]


# --- who may ----------------------------------------------------------------------------------------------------------
def test_authorising_is_done_when_a_mutation_is_applied(docs: Documents[Project]) -> None:
    def authorise(submission: Any, draft: Any) -> None:
        if submission.principal != draft.parent:
            raise PermissionError("not yours")

    guarded = Documents(docs.db, Project, blobs=docs.context.store, authorise=authorise)
    guarded.create("o1", "p1")
    found = guarded.apply("p1", [note(word="x").by("c", 1, principal="o1"), note(word="y").by("c", 2, principal="z")])
    assert [(o.status, o.error) for o in found] == [("applied", None), ("rejected", "PermissionError: not yours")]
    assert said(guarded.head("p1")) == ["x"]


def test_an_async_authorise_never_allows(docs: Documents[Project]) -> None:
    """Its coroutine would be true, or would be dropped: either way everything would be allowed."""

    async def authorise(submission: Any, draft: Any) -> None:
        raise PermissionError("not yours")

    asked: Any = authorise
    with pytest.raises(InvalidRequest, match="authorise of Project is an async function"):
        Documents(docs.db, Project, blobs=docs.context.store, authorise=asked)
    hidden = Documents(docs.db, Project, blobs=docs.context.store, authorise=lambda s, d: asked(s, d))
    hidden.create("o1", "p1")
    (outcome,) = hidden.apply("p1", [note(word="x").by("c", 1)])
    assert (outcome.status, "authorise returned an awaitable" in str(outcome.error)) == ("rejected", True)
    assert said(hidden.head("p1")) == []


def test_a_mutation_whose_work_would_never_run_is_rejected(docs: Documents[Project]) -> None:
    async def work(draft: Any) -> None:
        note.function(draft, word="never")

    def later(draft: Any) -> Any:
        return work(draft)

    mutators = document_model(Project).mutators
    try:
        made: Any = Project.mutation(later)
        docs.create("o1", "p1")
        (outcome,) = docs.apply("p1", [made().by("c", 1)])
        assert (outcome.status, "returned an awaitable" in str(outcome.error)) == ("rejected", True)
    finally:
        del mutators["later"]


def test_the_verbs_of_records_refuse_a_documents_items(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    db: Any = docs.db
    version = next(iter(docs.history("p1")))
    with pytest.raises(ValueError, match="written by Documents"):
        db.update(version, attr(Project.Version.parent).set("o2"))
    for verb in (db.put, db.create, db.upsert, db.delete):
        with pytest.raises(ValueError, match="written by Documents"):
            verb(version)
    with pytest.raises(ValueError, match="written by Documents"):
        db.write_many(puts=[version])
