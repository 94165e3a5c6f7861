"""While a table is held its workers begin nothing, by any of their verbs; after the release each thing runs once."""

from __future__ import annotations

import inspect
import json
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from singletable import Database, Table
from singletable.errors import NotFound
from singletable.flow import DYNAMODB_STREAMS, SQS
from singletable.holds import TableGate, hold, release
from singletable.operations import TableCall
from singletable.operations.queue import ReceiveMessage
from singletable.queues import Outgoing, Queue, consume, send
from singletable.release import Hold
from singletable.release.reports import release_table
from singletable.streams import Changes, ChangeWorker
from singletable.tasks import Counts, Tasks, TaskWorker
from tests.streams.models import Note, Seen, noted
from tests.support.engines import fresh
from tests.support.queue_operations import CreateQueue
from tests.support.workers import table_hold, task_worker
from tests.tasks.bench import Bench, noting, seconds, shifted_bench


@pytest.fixture
async def bench(kind: str, engine_url: str) -> AsyncIterator[Bench]:
    async with shifted_bench(kind, engine_url) as made:
        yield made


async def held(bench: Bench) -> None:
    await bench.shell.run(hold(bench.shell.port, bench.table, "restored", in_use=False))


async def released(bench: Bench) -> None:
    await bench.shell.run(release(bench.shell.port, bench.table))


async def new_queue(shell: Any, url: str) -> Queue[Any]:
    name = f"held-{secrets.token_hex(6)}"
    return Queue(await shell.run(shell.port.to(SQS, url).send(CreateQueue(name, {}))))


# --- tasks ------------------------------------------------------------------------------------------------------------
async def test_tasks_wait_for_the_release_and_run_once(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(0), note("a")), bench.tasks.after(seconds(0), note("b"), order="o"))
    await held(bench)
    assert await bench.drain() == Counts()
    looks = 0

    def stop() -> bool:
        nonlocal looks
        looks += 1
        return looks > 6

    assert await task_worker(bench.shell, bench.tasks).run(at_once=2, stop=stop, signals=False) == Counts()
    assert bench.ran == []
    await released(bench)
    assert (await bench.drain()).done == 2
    assert (await bench.drain()).begun == 0
    assert sorted(bench.ran) == ["a", "b"]


async def test_a_person_holds_looks_drops_and_releases(bench: Bench) -> None:
    note, of = noting(bench), table_hold(bench.shell, bench.table)
    begun = await of.begin("rehearsed", in_use=False)
    assert (begun.is_held, begun.why) == (True, "rehearsed")
    await bench.add(bench.tasks.after(seconds(0), note("a")), bench.tasks.after(seconds(0), note("b")))
    assert [(each.name, each.due) for each in (await of.report()).work if each.kind == "task"] == [("note", 2)]
    assert await of.drop("note") == 2
    with pytest.raises(NotFound, match="no work that could be dropped"):
        await of.drop("nothing")
    done = await of.release()
    assert (done.before.is_held, done.opened_at is None) == (True, False)
    assert not (await of.report()).is_held
    assert not await bench.shell.run(TableGate(bench.shell.port, bench.table).is_held())


async def test_nothing_is_dropped_from_a_table_that_is_not_held(bench: Bench) -> None:
    note = noting(bench)
    await held(bench)
    await bench.add(bench.tasks.after(seconds(0), note("a")))
    for dropped in ({"note": 1}, {}):
        done = await bench.shell.run(release_table(bench.shell.port, bench.table, ["note"]))
        assert (done.before.is_held, done.dropped) == (bool(dropped), dropped)
        await bench.add(bench.tasks.after(seconds(0), note("b")))
    assert (await bench.drain()).done == 2


async def test_no_task_is_sent_to_a_queue_and_what_comes_from_one_goes_back(bench: Bench, aws_emulator: str) -> None:
    queue = await new_queue(bench.shell, aws_emulator)
    note = noting(bench)
    worker = task_worker(bench.shell, bench.tasks)
    await bench.add(bench.tasks.after(seconds(0), note("a"), key="k"))
    assert await worker.send_due(queue) == 1
    (message,) = await received(bench.shell, queue)
    event = {"Records": [{"messageId": "m1", "body": message.body, "attributes": {}}]}
    handler: Any = worker.lambda_handler()
    handler = await handler if inspect.isawaitable(handler) else handler
    await held(bench)
    bench.clock.advance(200.0)  # overdue: its message counts as lost
    assert await worker.send_due(queue) == 0
    assert await handler(event, None) == {"batchItemFailures": [{"itemIdentifier": "m1"}]}
    assert bench.ran == []
    await released(bench)
    bench.clock.advance(5.0)
    assert await handler(event, None) == {"batchItemFailures": []}
    assert await worker.send_due(queue) == 0
    assert bench.ran == ["a"]


async def test_what_a_consumer_has_received_goes_back(bench: Bench, aws_emulator: str) -> None:
    """A hold comes between two messages of one request: the second is not handled, and no further one is received."""
    queue, handled, ticks = await new_queue(bench.shell, aws_emulator), list[Any](), 0
    port, gate = bench.shell.port, TableGate(bench.shell.port, bench.table)
    await bench.shell.run(send(port, queue, [Outgoing(number) for number in range(2)]))

    def stop() -> bool:
        nonlocal ticks
        ticks += len(handled) > 0
        return ticks > 4

    async def handle(message: Any) -> None:
        handled.append(message.body)
        await hold(port, bench.table, "restored", in_use=False)
        bench.clock.advance(5.0)

    flow = consume(port, queue, handle, stop=stop, at_once=1, wait_seconds=1, visibility_seconds=30, gate=gate)
    assert await bench.shell.run(flow) == 1
    assert len(handled) == 1
    assert [json.loads(each.body) for each in await received(bench.shell, queue)] == [1 - handled[0]]


async def received(shell: Any, queue: Queue[Any]) -> Any:
    return await shell.run(shell.port.to(SQS, queue.url).send(ReceiveMessage(queue.url, 10, 1, 30)))


async def test_messages_of_a_group_stay_in_order_at_a_release_between_them(bench: Bench, aws_emulator: str) -> None:
    name = f"held-{secrets.token_hex(6)}.fifo"
    options = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    port, handled, asked = bench.shell.port, list[Any](), 0
    queue = Queue[Any](await bench.shell.run(port.to(SQS, aws_emulator).send(CreateQueue(name, options))))
    await bench.shell.run(send(port, queue, [Outgoing(number, group="g") for number in range(3)]))

    class HeldOnce:
        opened_at = 0.0

        async def is_held(self, *, for_certain: bool = False) -> bool:
            nonlocal asked
            asked += 1
            return asked == 3  # before the step, the first message, the second

    async def handle(message: Any) -> None:
        handled.append(message.body)

    def stop() -> bool:
        return len(handled) == 3 or asked > 20

    await bench.shell.run(consume(port, queue, handle, stop=stop, at_once=1, wait_seconds=1, gate=HeldOnce()))
    assert handled == [0, 1, 2]


# --- changes ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def changes(seen: Seen) -> Changes:
    made = Changes(noted)
    made.on(Note).inserted(seen)
    return made


def records(db: Database) -> list[Any]:
    source = db.port.to(DYNAMODB_STREAMS)

    def call(operation: str, **body: Any) -> dict[str, Any]:
        return db.run(source.send(TableCall(operation, body))) or {}

    description = db.describe_table(noted)
    assert description is not None
    stream = description.raw["LatestStreamArn"]
    (shard,) = call("DescribeStream", StreamArn=stream)["StreamDescription"]["Shards"]
    place = {"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    answer = call("GetRecords", ShardIterator=call("GetShardIterator", **place)["ShardIterator"])
    found: list[Any] = json.loads(json.dumps(answer["Records"]))
    return found


def test_changes_from_before_the_release_are_handled_by_nobody(
    db: Database, changes: Changes, seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    worker, table = ChangeWorker(db, changes), Hold(db, noted)
    db.create(Note(id="lag"))  # a consumer had not come to it when the table was copied
    table.begin("copied from prod", in_use=False)
    db.create(Note(id="copied"))
    handler = worker.lambda_handler()
    worker.drain()
    assert handler({"Records": records(db)}, None) == {"batchItemFailures": []}
    assert (seen.told, changes.passed_over) == ([], 2)  # by Lambda, which gets them once
    assert "is held since" in caplog.text
    db.create(Note(id="late"))
    table.release()
    db.create(Note(id="new"))
    worker.drain()
    assert seen.told == ["Inserted note new"]
    assert changes.passed_over == 2 + 3
    assert "3 changes of noted were made while it was held" in caplog.text
    assert handler({"Records": records(db)}, None) == {"batchItemFailures": []}
    assert seen.told == ["Inserted note new", "Inserted note new"]
    assert db.check(noted, changes) == []


def test_a_worker_that_runs_leaves_its_shards_and_begins_anew(db: Database, changes: Changes, seen: Seen) -> None:
    """Through its own steps: a hold comes while it works, and is released again."""
    table = Hold(db, noted)
    clocks: Any = db.port
    monotonic, shift, phase, looks = clocks.monotonic, 0.0, "work", 0
    clocks.monotonic = lambda: monotonic() + shift

    def stop() -> bool:
        nonlocal looks, phase, shift
        looks += 1
        if phase == "work" and len(seen.changes) == 1:
            table.begin("copied", in_use=False)
            db.create(Note(id="copied"))
            phase, looks, shift = "held", 0, shift + 4
        elif phase == "held" and looks > 5:
            assert [lease.owner for lease in db.scan(changes.consumer.state.lease)] == [""]
            table.release()
            db.create(Note(id="new"))
            phase, shift = "released", shift + 4
        return phase == "released" and len(seen.changes) == 2

    db.create(Note(id="first"))
    ChangeWorker(db, changes).run(stop=stop, signals=False, poll_seconds=0.01)
    assert seen.told == ["Inserted note first", "Inserted note new"]
    assert changes.passed_over == 1


def test_what_changes_right_after_the_release_is_a_waiting_consumers(
    db: Database, changes: Changes, seen: Seen
) -> None:
    """It begins "now", and its now is not later than the release, which it notices after a while."""
    table, clocks = Hold(db, noted), db.port
    monotonic, shift, looks = clocks.monotonic, 0.0, 0
    clocks.monotonic = lambda: monotonic() + shift
    table.begin("copied", in_use=False)
    db.create(Note(id="copied"))

    def stop() -> bool:
        nonlocal looks, shift
        looks += 1
        if looks == 3:
            table.release()
            db.create(Note(id="new"))
            shift = 4
        return bool(seen.changes) or looks > 50

    ChangeWorker(db, changes).run(start="now", stop=stop, signals=False, poll_seconds=0.01)
    assert seen.told == ["Inserted note new"]


def test_a_task_that_came_back_while_it_was_held_runs(db: Database) -> None:
    app = Table("back", indexes=["gsi1"])
    tasks, ran, shift, looks, phase = Tasks(app, index="gsi1"), list[str](), 0.0, 0, "work"
    clocks, table = db.port, Hold(db, app)
    monotonic = clocks.monotonic
    clocks.monotonic = lambda: monotonic() + shift

    @tasks.task
    def mail(to: str) -> None:
        ran.append(to)

    with db.transaction() as tx:
        tx.add(tasks.after(seconds(0), mail("ada"), key="k"))
    task: Any = db.get(tasks.entities.by_id("k"))

    def stop() -> bool:
        nonlocal looks, shift, phase
        looks += 1
        if phase == "work" and ran:
            table.begin("copied", in_use=False)
            looks, shift, phase = 0, shift + 4, "held"
        elif phase == "held" and looks == 3:
            db.put(task)  # as a copy puts it once more
            table.release()
            shift, phase = shift + 4, "released"
        return len(ran) == 2 or looks > 30

    TaskWorker(db, tasks).run(stop=stop, signals=False, at_once=1, poll_seconds=0.01)
    assert ran == ["ada", "ada"]
