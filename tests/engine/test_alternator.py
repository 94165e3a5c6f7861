"""Each layer on an engine that refuses what ScyllaDB's Alternator refuses: what works there, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from singletable import (
    AlreadyExists,
    ConditionFailed,
    Entity,
    InvalidRequest,
    Key,
    NotFound,
    Table,
    VersionMoved,
    attr,
    connect,
    connect_async,
    field,
)
from singletable.documents import AsyncDocuments, Documents, LocalBlobs
from singletable.errors import NotSupported
from singletable.flow import Traits
from singletable.graph import Graph
from singletable.streams import Changes, ChangeWorker
from singletable.tasks import Tasks, TaskWorker
from tests.documents.models import Project
from tests.faults.proxy import FaultProxy
from tests.graph.models import Goal, GoalMembership, User, records
from tests.streams.models import Note, noted
from tests.support.alternator import Settings, alternator
from tests.support.models import Address, User as Person, app
from tests.support.shells import KINDS, Shell, disguised

pytestmark = pytest.mark.embedded("a proxy before it")
KNOWN = Traits(lacks=frozenset({"transactions"}), creates_tables=True, index_lag_seconds=0.0)
counted = Table("counted")
NEEDS = "no transactions, which {} needs"


class Counted(Entity, table=counted, type="counted"):
    name: str
    text: str = ""
    count: int = field(version=True, default=0)

    @counted.key
    @staticmethod
    def by_name(name: str) -> Key:
        return f"counted#{name}", "counted"


@pytest.fixture
def scylla() -> Iterator[FaultProxy]:
    with connect("local") as engine, alternator(engine.target.endpoint.url) as proxy:
        yield proxy


@pytest.fixture(params=KINDS)
async def shell(request: pytest.FixtureRequest, scylla: FaultProxy) -> AsyncIterator[Shell]:
    opened: Any = connect_async if request.param == "awaiting" else lambda *a, **o: disguised(connect(*a, **o))
    db = opened(scylla.url, traits=KNOWN, cursor_keys=["a key for the tests' cursors"])
    yield db
    await db.close()


async def test_records_without_unique_values_work(shell: Shell) -> None:
    ada = Person(email="a@b", name="Ada", phone="1", address=Address("London"))
    await shell.create(ada)
    with pytest.raises(AlreadyExists):
        await shell.create(ada)
    await shell.put(ada, where=attr(Person.name) == "Ada")
    with pytest.raises(ConditionFailed) as refused:
        await shell.update(ada, attr(Person.age).set(9), where=attr(Person.name) == "Eve")
    assert refused.value.stored == ada
    assert (await shell.update(ada, attr(Person.age).add(3))).age == 3
    with pytest.raises(NotFound):
        await shell.update(Person.by_email("x@y"), attr(Person.age).set(1))
    await shell.upsert(Person(email="c@d"), attr(Person.age).add(1))
    assert await shell.delete(Person.by_email("c@d")) is not None
    assert [user.email for user in await shell.all(Person.by_phone("1"))] == ["a@b"]


async def test_batches_pages_and_scans_work(shell: Shell) -> None:
    people = [Person(email=f"{n:02}", phone="1", age=n) for n in range(40)]
    await shell.write_many(puts=people)
    assert await shell.get_many([Person.by_email(user.email) for user in people]) == people
    first = await shell.page(Person.by_phone("1"), limit=30)
    assert len(first.items) + len((await shell.page(Person.by_phone("1"), limit=30, after=first.cursor)).items) == 40
    assert len([user async for user in shell.scan(Person)]) == 40
    assert await shell.check(app) == []


async def test_counted_versions_work(shell: Shell) -> None:
    await shell.create(Counted(name="a"))
    one, other = await shell.get(Counted.by_name("a")), await shell.get(Counted.by_name("a"))
    assert one is not None
    assert other is not None
    await shell.update(one, attr(Counted.text).set("first"))
    with pytest.raises(VersionMoved):
        await shell.update(other, attr(Counted.text).set("second"))


async def test_capacity_is_not_reported(shell: Shell) -> None:
    with shell.meter() as meter:
        await shell.create(Person(email="a@b"))
    assert (meter.read_units, meter.write_units) == (0.0, 0.0)


async def test_a_declaration_beyond_its_limits_is_refused_by_it(scylla: FaultProxy) -> None:
    with connect(scylla.url) as db:
        for table in (Table("t" * 193), Table("t" * 192, indexes=["i" * 30]), Table("keyed", encryption_key="k")):
            with pytest.raises(InvalidRequest, match="ValidationException"):
                db.create_table(table)
        db.create_table(Table("t" * 192, indexes=["i" * 29]))


def test_forbidden_read_modify_writes_are_named() -> None:
    with (
        connect("local") as engine,
        alternator(engine.target.endpoint.url, Settings("forbid_rmw")) as scylla,
        connect(scylla.url, traits=KNOWN) as db,
        pytest.raises(InvalidRequest, match="isolation policy"),
    ):
        db.create(Person(email="a@b"))


def test_a_graph_is_loaded_and_read_but_not_linked(scylla: FaultProxy) -> None:
    ada, goal, other = User(id="u1", name="Ada"), Goal(id="g1", title="Fly"), Goal(id="g2")
    with connect(scylla.url, traits=KNOWN) as db:
        graph = Graph(db)
        graph.load([ada, goal, other], [GoalMembership(source=goal, target=ada)])
        [found] = db.all(GoalMembership.of(goal))
        assert [row.node for row in graph.page(GoalMembership.by_rank(ada).sources())] == [goal]
        scylla.faults.forget()
        edge = GoalMembership(source=other, target=ada)
        calls: dict[str, Callable[[], Any]] = {
            "link()": lambda: graph.link(edge),
            "unlink()": lambda: graph.unlink(found),
            "relink()": lambda: graph.relink(found, attr(GoalMembership.since).set(edge.since)),
            "delete_node()": lambda: graph.delete_node(goal),
        }
        for verb, call in calls.items():
            with pytest.raises(NotSupported, match=NEEDS.format(verb.replace("()", r"\(\)"))):
                call()
        assert not scylla.faults.seen
        assert db.check(records) == []


def test_documents_are_refused(scylla: FaultProxy, tmp_path: Any) -> None:
    with connect(scylla.url, traits=KNOWN) as db, pytest.raises(NotSupported, match=NEEDS.format("Documents")):
        Documents(db, Project, blobs=LocalBlobs(tmp_path))
    assert not scylla.faults.seen


async def test_documents_are_refused_in_an_event_loop(scylla: FaultProxy, tmp_path: Any) -> None:
    async with connect_async(scylla.url, traits=KNOWN) as db:
        with pytest.raises(NotSupported, match=NEEDS.format("AsyncDocuments")):
            AsyncDocuments(db, Project, blobs=LocalBlobs(tmp_path))
    assert not scylla.faults.seen


def test_tasks_are_refused(scylla: FaultProxy) -> None:
    todo = Table("todo", indexes=["gsi1"])
    tasks = Tasks(todo, index="gsi1")

    @tasks.task
    def remind() -> None: ...

    with connect(scylla.url, traits=KNOWN) as db:
        with pytest.raises(NotSupported, match=NEEDS.format("TaskWorker")):
            TaskWorker(db, tasks)
        with pytest.raises(NotSupported, match=NEEDS.format("a transaction")), db.transaction() as tx:
            tx.add(tasks.after(timedelta(0), remind()))
    assert not scylla.faults.seen


def test_changes_are_handled_and_fail_without_transactions(scylla: FaultProxy) -> None:
    changes, told, is_repaired = Changes(noted), list[str](), list[str]()

    @changes.on(Note).inserted
    def hear(change: Any) -> None:
        if change.new.id == "bad" and not is_repaired:
            raise ValueError("no")
        told.append(change.new.id)

    with connect(scylla.url, traits=KNOWN) as db:
        for name in ("one", "bad", "two"):
            db.create(Note(id=name))
        worker = ChangeWorker(db, changes)
        worker.drain(tries=2, backoff_seconds=0.001)
        assert sorted(told) == ["one", "two"]
        [letter] = worker.dead_letters()
        assert (letter.tries, letter.event) == (2, "INSERT")
        assert any(
            b"table/alternator_noted@noted_scylla_cdc_log/" in each for each in scylla.faults.bodies("GetShardIterator")
        )
        assert letter.shard.startswith("H ")
        with pytest.raises(ValueError, match="no"):
            worker.retry(letter)
        is_repaired.append("")
        worker.retry(letter)
        assert worker.dead_letters() == []
        assert worker.check() == []
    assert "TransactWriteItems" not in scylla.faults.seen
