"""Processors behind a FIFO queue over HTTP: order, duplicates, visibility, dead letters, forgeries."""

from __future__ import annotations

import asyncio  # noqa: TID251
import json
from collections.abc import AsyncIterator
from functools import partial
from secrets import token_hex
from typing import Any

import pytest

from singletable import AsyncDatabase
from singletable.documents import AsyncDocuments, Documents, LocalBlobs, Mutation
from singletable.errors import Unavailable
from singletable.flow.request import SQS
from singletable.operations.queue import ReceiveMessage
from singletable.queues import Message, Outgoing, Queue, RetryLater, consume, send
from singletable.sync import Pointer, Sync, Worker
from singletable.sync.pull import PullStart
from singletable.sync.worker import follow_message
from singletable.values import changed
from tests.documents.test_two_versions import WAITS, new_program, old_program
from tests.faults.clock import Clock
from tests.support.emulators import aws_emulator as aws_emulator
from tests.support.engines import fresh, fresh_async
from tests.support.queue_operations import CreateQueue, GetQueueAttributes
from tests.sync.board import Project
from tests.sync.simulated import Client
from tests.sync.test_processors import anybody, busy_clients, check_outcomes
from tests.sync.world import World


class Queues:
    """A FIFO queue with a dead-letter queue that takes what was received three times."""

    def __init__(self, db: AsyncDatabase, emulator: str) -> None:
        self.db, self.emulator = db, emulator

    async def make(self, visibility_seconds: int = 2) -> tuple[Queue[Pointer], Queue[Pointer]]:
        port = self.db.port.to(SQS, self.emulator)
        name = token_hex(6)
        fifo = {"FifoQueue": "true", "VisibilityTimeout": str(visibility_seconds)}
        dead = await port.send(CreateQueue(f"dead-{name}.fifo", fifo))
        target = (await port.send(GetQueueAttributes(dead)))["QueueArn"]
        redrive = json.dumps({"deadLetterTargetArn": target, "maxReceiveCount": 3})
        url = await port.send(CreateQueue(f"pushes-{name}.fifo", {**fifo, "RedrivePolicy": redrive}))
        return Queue(url, Pointer), Queue(dead, Pointer)

    async def count(self, queue: Queue[Pointer]) -> int:
        said = await self.db.port.to(SQS, queue.url).send(GetQueueAttributes(queue.url))
        return int(said["ApproximateNumberOfMessages"]) + int(said["ApproximateNumberOfMessagesNotVisible"])


@pytest.fixture
async def db() -> AsyncIterator[AsyncDatabase]:
    async with fresh_async() as db:
        yield db


@pytest.fixture
def queues(db: AsyncDatabase, aws_emulator: str) -> Queues:
    return Queues(db, aws_emulator)


@pytest.fixture
def blobs(tmp_path: Any) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


async def drained(queues: Queues, queue: Queue[Pointer], world: World, workers: int = 1, **options: Any) -> None:
    """Workers follow the pointers until the queue is empty."""
    done = asyncio.Event()

    async def watch() -> None:
        while await queues.count(queue):
            await asyncio.sleep(0.05)
        done.set()

    given = {"wait_seconds": 1, "signals": False, **options}
    await asyncio.gather(watch(), *(world.sync.run(queue, stop=done.is_set, **given) for _ in range(workers)))


async def test_two_workers_give_the_same_outcomes(db: AsyncDatabase, queues: Queues, blobs: LocalBlobs) -> None:
    queue, dead = await queues.make()
    world = World(db, blobs, processor=queue)
    clients = busy_clients()
    for client in clients:
        await world.push(client)
        await world.push(client)
    assert await queues.count(queue) == 2 * len(clients), "each push sends its own pointer"
    await drained(queues, queue, world, workers=2)
    await check_outcomes(world, clients)
    assert await queues.count(dead) == 0


async def test_pointers_that_come_again_change_nothing(db: AsyncDatabase, queues: Queues, blobs: LocalBlobs) -> None:
    queue, _ = await queues.make()
    world = World(db, blobs, processor=queue)
    ada = Client("ga", "ca")
    ada.mutate("rename", name="once")
    await world.push(ada)
    await send(db.port, queue, [Outgoing(Pointer("p1"), "p1", f"again {n}") for n in range(5)])
    await send(db.port, queue, [Outgoing(Pointer("p1"), "p1", "the same") for _ in range(5)])
    assert await queues.count(queue) == 7, "a queue leaves out what has the same name within five minutes"
    await drained(queues, queue, world)
    await world.pull(ada)
    assert (ada.version, ada.pending) == (1, [])


async def test_a_worker_that_dies_with_a_pointer_is_followed_by_another(
    db: AsyncDatabase, queues: Queues, blobs: LocalBlobs
) -> None:
    queue, _ = await queues.make(visibility_seconds=1)
    world = World(db, blobs, processor=queue)
    ada = Client("ga", "ca")
    ada.mutate("rename", name="in the end")
    await world.push(ada)
    held = await db.port.to(SQS, queue.url).send(ReceiveMessage(queue.url, 10, 0, 1))
    assert len(held) == 1, "it is invisible now, and its holder does nothing"
    await drained(queues, queue, world)
    await world.pull(ada)
    assert ada.base["project"]["name"] == "in the end"


async def test_a_worker_that_takes_too_long_is_only_slower(
    db: AsyncDatabase, queues: Queues, blobs: LocalBlobs
) -> None:
    """Its pointer goes to another meanwhile; both commit, and one of them is the first."""
    queue, dead = await queues.make(visibility_seconds=1)
    world = World(db, blobs, processor=queue)
    clients = busy_clients()
    for client in clients:
        await world.push(client)
    held = await db.port.to(SQS, queue.url).send(ReceiveMessage(queue.url, 1, 0, 1))
    slow = asyncio.ensure_future(world.sync.process(json.loads(held[0].body)["project"]))
    await drained(queues, queue, world, workers=2)
    await slow
    await check_outcomes(world, clients)
    assert await queues.count(dead) == 0


class Refusing(LocalBlobs):
    """A store that is away for a while."""

    away = True

    def put(self, path: str, data: bytes) -> bool:
        if self.away:
            raise Unavailable("the store is away")
        return super().put(path, data)


async def test_what_is_dead_lettered_is_not_lost(db: AsyncDatabase, queues: Queues, tmp_path: Any) -> None:
    """A pointer that failed three times is set aside. The next one, the next pull, or itself, is about all of it."""
    queue, dead = await queues.make(visibility_seconds=1)
    store = Refusing(tmp_path)
    world = World(db, store, processor=queue)
    ada, ben = Client("ga", "ca"), Client("gb", "cb")
    ada.mutate("put_shape", id="s", shape={"kind": "rect", "x": 1, "y": 1, "text": ""})
    await world.push(ada)
    await drained(queues, queue, world, visibility_seconds=1)
    assert (await queues.count(queue), await queues.count(dead)) == (0, 1)
    assert await world.documents.last_ids("p1", ["ca"]) == {"ca": 0}, "a fault of the store uses no number up"
    store.away = False
    await world.pull(ben, user="ben")  # who sees that something waits, and sends a pointer
    assert await queues.count(queue) == 1
    await drained(queues, queue, world)
    await world.pull(ada)
    assert ada.pending == []
    await drained(queues, dead, world)
    await world.pull(ada)
    assert ada.version == 1, "the pointer that was set aside finds nothing left to do"


async def test_many_pulls_that_see_the_same_send_one_pointer(
    db: AsyncDatabase, queues: Queues, blobs: LocalBlobs
) -> None:
    queue, _ = await queues.make()
    world = World(db, blobs, processor=queue)
    ada = Client("ga", "ca")
    ada.mutate("rename", name="x")
    await world.push(ada)
    for number in range(5):
        await world.pull(Client(f"g{number}", f"c{number}"), user=f"user{number}")
    assert await queues.count(queue) == 2, "the push's own, and one for what the pulls saw"


async def test_a_backlog_of_one_project_is_done_by_its_first_pointer(
    db: AsyncDatabase, queues: Queues, blobs: LocalBlobs
) -> None:
    """Many pushes of one project, and one of another behind them: that one waits for none of their mutations."""
    queue, dead = await queues.make(visibility_seconds=30)
    world = World(db, blobs, processor=queue)
    busy, calm = Client("ga", "ca"), Client("gb", "cb")
    pushes, each = 15, 20
    for _ in range(pushes):
        for number in range(each):
            busy.mutate("rename", name=f"{number}")
        await world.push(busy)
        busy.pending.clear()
    calm.mutate("rename", name="calm")
    await world.push(calm, user="ben", project="p2")
    assert await queues.count(queue) == pushes + 1, "a message a push, not a mutation"
    followed: list[tuple[str, float]] = []
    done = asyncio.Event()

    async def handle(message: Message[Pointer]) -> None:
        with db.meter() as meter:
            await follow_message(db.port, lambda id, _: world.sync.process(id), message)
        followed.append((message.body.document_id, meter.write_units))

    async def watch() -> None:
        while await queues.count(queue):
            await asyncio.sleep(0.05)
        done.set()

    await asyncio.gather(watch(), consume(db.port, queue, handle, stop=done.is_set, at_once=1, wait_seconds=1))
    written = {project: [units for each, units in followed if each == project] for project in ("p1", "p2")}
    assert (len(written["p1"]), len(written["p2"])) == (pushes, 1)
    assert written["p1"][0] > 0
    assert written["p1"][1:] == [0.0] * (pushes - 1), "the first one found all of it"
    assert await world.documents.last_ids("p1", ["ca"]) == {"ca": pushes * each}
    assert await world.documents.last_ids("p2", ["cb"]) == {"cb": 1}
    assert await queues.count(dead) == 0


async def test_forged_pointers_lead_nowhere(db: AsyncDatabase, queues: Queues, blobs: LocalBlobs) -> None:
    queue, dead = await queues.make(visibility_seconds=1)
    world = World(db, blobs, processor=queue)
    ada = Client("ga", "ca")
    ada.mutate("rename", name="x")
    await world.push(ada)
    forged = ["nobody's", "p1#", "../p1", "", "e\u0301", "p" * 3000]
    await send(db.port, queue, [Outgoing(Pointer(project), f"g{n}", str(n)) for n, project in enumerate(forged)])
    await drained(queues, queue, world)
    await world.pull(ada)
    assert (ada.version, ada.pending, await queues.count(dead)) == (1, [], 0)


def record(number: int, body: str, group: str) -> dict[str, Any]:
    return {
        "messageId": f"m{number}",
        "receiptHandle": f"r{number}",
        "body": body,
        "attributes": {"ApproximateReceiveCount": "1", "MessageGroupId": group},
        "eventSource": "aws:sqs",
    }


def test_a_lambda_answers_with_what_failed_and_what_follows_it(tmp_path: Any) -> None:
    store = Refusing(tmp_path)
    queue = Queue("https://sqs.eu-west-1.amazonaws.com/1/pushes.fifo", Pointer)
    with fresh() as db:
        documents = Documents(db, Project, blobs=store)
        for project in ("good", "bad"):
            documents.create("o1", project)
        shape = {"id": "s", "shape": {"kind": "rect"}}
        documents.submit("good", [Mutation.of("rename", {"name": "x"}).by("c", 1, principal="ada")])
        documents.submit("bad", [Mutation.of("put_shape", shape).by("c", 1, principal="ada")])
        handler = Worker(documents, authorise=anybody).lambda_handler(queue)
        records = [
            record(1, '{"project":"bad"}', "bad"),
            record(2, '{"project":"good"}', "good"),
            record(3, '{"project":"bad"}', "bad"),
            record(4, "no pointer", "odd"),
            record(5, '{"project":"missing"}', "missing"),
        ]
        failed = handler({"Records": records}, None)
        assert sorted(each["itemIdentifier"] for each in failed["batchItemFailures"]) == ["m1", "m3", "m4"]
        assert documents.head("good").name == "x"
        store.away = False
        assert handler({"Records": records[:3]}, None) == {"batchItemFailures": []}
        assert "s" in documents.head("bad").shapes

        class Ending:
            def get_remaining_time_in_millis(self) -> int:
                return 1000

        late = handler({"Records": records[:2]}, Ending())
        assert [each["itemIdentifier"] for each in late["batchItemFailures"]] == ["m1", "m2"]


async def test_a_pull_wakes_once_for_each_version_of_a_history(world: World) -> None:
    """A FIFO queue drops a second pointer of one name: those of a restored table are called otherwise."""
    queue = Queue("https://sqs.eu-west-1.amazonaws.com/1/pushes.fifo", Pointer)
    queued = World(world.db, world.documents.context.store, processor=queue)
    await world.documents.create("o1", "p1")
    (head,) = (await world.documents.history("p1", limit=1)).items
    wakes = [
        queued.sync._apply_later("p1", PullStart(version, {"c"})) for version in (head, head, changed(head, id="x"))
    ]
    first, again, other = (wake.args[-1] for wake in wakes if isinstance(wake, partial))
    assert first == again != other


# --- two versions of a program at one queue ---------------------------------------------------------------------------
def test_an_older_program_returns_a_pointer_for_the_newer_one(tmp_path: Any) -> None:
    clock, blobs = Clock(), LocalBlobs(tmp_path)
    one, other = old_program(), new_program()
    queue = Queue("https://sqs.eu-west-1.amazonaws.com/1/pushes.fifo", Pointer)
    with fresh(clock=clock.now) as db:
        old, new = Documents(db, one.kind, blobs=blobs), Documents(db, other.kind, blobs=blobs)
        older, newer = (Worker(each, authorise=anybody).lambda_handler(queue) for each in (old, new))
        old.create("o1", "p1")
        new.submit("p1", [other.rename(name="new").by("c", 1, principal="ada")])
        new.submit("p1", [one.put(id="s", x=1).by("d", 1, principal="ada")])
        event = {"Records": [record(1, '{"project":"p1"}', "p1")]}
        again = {"batchItemFailures": [{"itemIdentifier": "m1"}]}
        assert older(event, None) == again
        assert "s" in old.head("p1").shapes, "other clients' mutations don't wait"
        assert older(event, None) == again
        assert newer(event, None) == {"batchItemFailures": []}
        assert new.head("p1").name == "new"
        assert older(event, None) == {"batchItemFailures": []}


def test_a_pointer_to_what_no_program_knows_is_given_back_for_a_bounded_time(tmp_path: Any) -> None:
    clock = Clock()
    queue = Queue("https://sqs.eu-west-1.amazonaws.com/1/pushes", Pointer)
    with fresh(clock=clock.now) as db:
        old = Documents(db, old_program().kind, blobs=LocalBlobs(tmp_path))
        handler = Worker(old, authorise=anybody).lambda_handler(queue)
        old.create("o1", "p1")
        old.submit("p1", [Mutation.of("retired", {}).by("c", 1, principal="ada")])
        event = {"Records": [record(1, '{"project":"p1"}', "")]}
        clock.advance(WAITS - 2)
        assert handler(event, None) != {"batchItemFailures": []}
        clock.advance(3)
        assert handler(event, None) == {"batchItemFailures": []}


@pytest.mark.parametrize(
    ("group", "receives", "seconds"), [("", 1, 2), ("", 5, 32), ("", 5000, 300), ("p1", 1, 2), ("p1", 3, 5)]
)
async def test_a_pointer_is_given_back_for_a_time_that_grows(
    db: AsyncDatabase, group: str, receives: int, seconds: float
) -> None:
    async def apply(project: str, on_unknown: Any) -> list[Any]:
        on_unknown("a mutation that waits")
        return []

    with pytest.raises(RetryLater) as said:
        await follow_message(db.port, apply, Message("m", Pointer("p1"), "r", group, receives))
    assert said.value.seconds == seconds


async def test_an_awaiting_worker_keeps_a_pointer_for_the_newer_program(
    db: AsyncDatabase, queues: Queues, blobs: LocalBlobs
) -> None:
    queue, _ = await queues.make()
    one, other = old_program(), new_program()
    old, new = (AsyncDocuments(db, each.kind, blobs=blobs) for each in (one, other))
    older, newer = (Sync(each, authenticate=lambda _: "ada", authorise=anybody) for each in (old, new))
    await old.create("o1", "p1")
    await new.submit("p1", [other.rename(name="new").by("c", 1, principal="ada")])
    await send(db.port, queue, [Outgoing(Pointer("p1"), "p1", "a")])
    polls = iter([False, False])
    assert await older.run(queue, stop=lambda: next(polls, True), wait_seconds=1, at_once=1, signals=False) == 0
    assert await queues.count(queue) == 1
    done: list[int] = []

    async def is_renamed() -> None:
        while (await new.head("p1")).name != "new":
            await asyncio.sleep(0.05)
        done.append(1)

    await asyncio.gather(is_renamed(), newer.run(queue, stop=lambda: bool(done), wait_seconds=1, signals=False))
    assert await queues.count(queue) == 0
