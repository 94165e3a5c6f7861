"""Each layer where the service is not as kind as the embedded engine, which never throttles, conflicts, lags or splits.

The faults are at the port: shards that split and close, partitions that are too busy, conflicts, indexes that are
behind, and reads of a part that cost the whole. Lagging indexes of the graph are in `tests/graph/test_sweep.py`, those
of tasks in `tests/tasks/test_lag.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from msgspec.structs import replace
from obstore.store import MemoryStore

from singletable import AlreadyExists, Database, Table, attr, key_of
from singletable.documents import Document, Documents, Draft, ObjectBlobs
from singletable.errors import Throttled
from singletable.graph import Graph
from singletable.streams import Changes, ChangeWorker
from singletable.sync import Access, Worker
from singletable.tasks import Tasks, TaskWorker
from singletable.wire import RetryPolicy
from tests.documents.models import Project, Shape, app, put_shape, rename
from tests.faults.actions import ChargeWhole, Conflict, IndexLag, Throttle
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.faults.splitting import split_shards
from tests.graph.models import Goal, GoalMembership, User as Person, records
from tests.streams.models import Note, Seen, noted
from tests.support.engines import fresh
from tests.support.findings import but_garbage
from tests.support.models import User, app as users
from tests.support.raw import all_items

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
KEY_RANGE = Throttle(
    "ThrottlingException",
    reason="TableWriteKeyRangeThroughputExceeded",
    resource="arn:aws:dynamodb:eu-west-1:123456789012:table/any",
)
PATIENT = RetryPolicy(attempts=8, base_seconds=0.0001, cap_seconds=0.001)
ADA = User(email="ada@example.org", name="Ada", tags=["x" * 9_000])
BEN = User(email="ben@example.org", phone="12")


class Heard(Document, table=Table("heard", stream="new_and_old")):
    """A document whose table tells of its changes."""

    name: str = ""


@Heard.mutation
def tell(draft: Draft[Heard], *, name: str) -> None:
    draft.name = name


def anybody(user: str, project: str, access: Access) -> bool:
    return True


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh(retry=PATIENT) as made:
        yield made


def documents_of(db: Database) -> Documents[Project]:
    return Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))


# --- shards that split and close --------------------------------------------------------------------------------------
@pytest.mark.parametrize("every", [1, 4, 7])
def test_changes_come_once_and_in_each_items_order_through_shards_that_split(db: Database, every: int) -> None:
    changes, seen = Changes(noted), Seen()
    changes.on(Note).inserted(seen)
    changes.on(Note).modified(seen)
    stream = split_shards(db.port, every=every)
    for round_ in range(3):
        for id in "abcd":
            db.put(Note(id=id, count=round_))
        ChangeWorker(db, changes).drain(backoff_seconds=0.001)
    assert stream.generations > 12 // every, "it did split"
    for id in "abcd":
        assert [change.new.count for change in seen.changes if change.new.id == id] == [0, 1, 2]
    assert ChangeWorker(db, changes).check() == []


def test_a_processor_is_woken_through_shards_that_split(db: Database) -> None:
    """A shard for each change: what comes with a mutation, and with the version that it makes, is in another one."""
    documents = Documents(db, Heard, blobs=ObjectBlobs(MemoryStore()))
    documents.create("o1", "p1")
    split_shards(db.port, every=1)
    changes = Changes(documents.context.model.table)
    changes.on(Heard.Inbox).inserted(Worker(documents, authorise=anybody).on_inbox)
    for number in range(1, 4):
        documents.submit("p1", [tell(name=f"name {number}").by("c", number, principal="ada")])
        ChangeWorker(db, changes).drain(backoff_seconds=0.001)
        assert documents.head("p1").name == f"name {number}"


# --- partitions that are too busy -------------------------------------------------------------------------------------
def test_a_busy_document_holds_up_no_other(db: Database) -> None:
    documents, faults = documents_of(db), Faults()
    for id in ("busy", "calm"):
        documents.create("o1", id)
    make_faulty(db.port, faults)
    faults.add(Rule(Match(WRITES, key="busy"), KEY_RANGE))
    with pytest.raises(Throttled, match="TableWriteKeyRangeThroughputExceeded"):
        documents.apply("busy", [rename(name="never").by("c", 1)])
    documents.apply("calm", [rename(name="Calm").by("c", 1)])
    faults.clear()
    documents.apply("busy", [rename(name="Busy").by("c", 1)])
    assert [documents.head(id).name for id in ("busy", "calm")] == ["Busy", "Calm"]
    assert [but_garbage(documents.check(id)) for id in ("busy", "calm")] == [[], []]
    assert db.check(app) == []


def test_a_busy_node_holds_up_no_other(db: Database) -> None:
    graph, faults = Graph(db), Faults()
    busy, calm, ada = Goal(id="busy"), Goal(id="calm"), Person(id="ada")
    for node in (busy, calm, ada):
        db.create(node)
    make_faulty(db.port, faults)
    faults.add(Rule(Match(WRITES, key="busy"), KEY_RANGE))
    with pytest.raises(Throttled):
        graph.link(GoalMembership(source=busy, target=ada))
    graph.link(GoalMembership(source=calm, target=ada))
    assert db.all(GoalMembership.of(busy).consistent()) == []
    faults.clear()
    graph.link(GoalMembership(source=busy, target=ada))
    assert db.check(records) == []


def test_a_task_whose_partition_is_busy_is_done_later_and_holds_up_no_other(db: Database) -> None:
    tasks, faults, ran = Tasks(noted, index="gsi1"), Faults(), list[str]()

    @tasks.task
    def remember(word: str) -> None:
        ran.append(word)

    for word in ("busy", "calm"):
        with db.transaction() as tx:
            tx.add(tasks.after(timedelta(0), remember(word), key=word))
    make_faulty(db.port, faults)
    faults.add(Rule(Match(WRITES, key="busy"), KEY_RANGE))
    TaskWorker(db, tasks).run(stop=lambda: bool(ran), signals=False)
    assert ran == ["calm"]
    faults.clear()
    TaskWorker(db, tasks).drain()
    assert ran == ["calm", "busy"]
    assert TaskWorker(db, tasks).check() == []


# --- conflicts --------------------------------------------------------------------------------------------------------
def test_documents_and_graphs_are_written_past_conflicts(db: Database) -> None:
    """Each write meets one: another's transaction holds one of its items. Nothing is applied twice."""
    documents, graph, faults = documents_of(db), Graph(db), Faults(7)
    make_faulty(db.port, faults)
    documents.create("o1", "p1")
    for node in (Goal(id="g"), Person(id="ada")):
        db.create(node)
    faults.add(Rule(Match(WRITES, nth=tuple(range(1, 40, 2))), Conflict()))
    for number in range(1, 6):
        documents.apply("p1", [put_shape(id=f"s{number}", shape=Shape(number)).by("c", number)])
    graph.link(GoalMembership(source=Goal(id="g"), target=Person(id="ada")))
    assert faults.actions.count(Conflict()) >= 6
    faults.clear()
    assert len(documents.history("p1", limit=100).items) == 6
    assert but_garbage(documents.check("p1")) == []
    assert (db.check(records), db.check(app)) == ([], [])


# --- indexes that are behind ------------------------------------------------------------------------------------------
def test_an_index_that_is_behind_makes_no_finding_and_no_write_wrong(db: Database) -> None:
    """The index says what was: a page of it misses what came since, and what is decided is decided by the table."""
    faults = Faults()
    make_faulty(db.port, faults)
    faults.add(Rule(Match("Query"), IndexLag(50)))
    db.create(BEN)
    db.update(key_of(BEN), attr(User.age).add(1), where=attr(User.phone) == "12")
    assert db.all(User.by_phone("12")) == []
    with pytest.raises(AlreadyExists):
        db.create(BEN)
    assert db.check(users) == []
    faults.clear()
    assert [found.age for found in db.all(User.by_phone("12"))] == [1]


# --- a part costs the whole -------------------------------------------------------------------------------------------
def test_a_read_of_a_part_costs_the_whole_and_says_so(db: Database) -> None:
    """As on AWS the part alone is asked for: it saves bytes, no units."""
    db.put(ADA)
    make_faulty(db.port, faults := Faults())
    faults.add(Rule(Match("GetItem"), ChargeWhole()))
    db.port.traits = replace(db.port.traits, counts_parts=False)
    for key, units in ((key_of(ADA), 1.5), (key_of(ADA).consistent(), 3)):
        with db.meter() as whole:
            db.get(key)
        with db.meter() as part:
            found = db.get(key.only(User.name))
        assert found is not None
        assert found.name == "Ada"
        assert (whole.read_units, part.read_units) == (units, units)
        assert part.bytes_in < whole.bytes_in / 5
    assert '"ProjectionExpression"' in faults.bodies("GetItem")[-1].decode()
    assert len(db.run(all_items(db.port, users.name))) == 1
