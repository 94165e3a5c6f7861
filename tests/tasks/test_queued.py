"""Tasks through SQS and Lambda: the message says where to look, the table and the claim decide."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from singletable import connect
from singletable.errors import NotConfigured
from singletable.flow import SQS
from singletable.operations.queue import ReceiveMessage
from singletable.queues import Outgoing, Queue, send
from singletable.tables import Index
from singletable.tasks import TaskWorker
from tests.faults.clock import Clock
from tests.support.queue_operations import CreateQueue, GetQueueAttributes
from tests.support.shells import disguised
from tests.support.workers import task_worker
from tests.tasks.bench import LOCAL, Bench, make_bench, noting, seconds, shifted_bench


@pytest.fixture
async def queued(kind: str, engine_url: str) -> AsyncIterator[Bench]:
    async with shifted_bench(kind, engine_url) as made:
        yield made


async def new_queue(bench: Bench, url: str, *, fifo: bool) -> Queue[Any]:
    name = f"tasks-{secrets.token_hex(6)}" + (".fifo" if fifo else "")
    call = CreateQueue(name, {"FifoQueue": "true"} if fifo else {})
    return Queue(await bench.shell.run(bench.shell.port.to(SQS, url).send(call)))


async def said(bench: Bench, queue: Queue[Any]) -> list[Any]:
    """The bodies of what the queue holds and shows now."""
    call = ReceiveMessage(queue.url, 10, 1, 30)
    received = await bench.shell.run(bench.shell.port.to(SQS, queue.url).send(call))
    return [json.loads(message.body) for message in received]


class Enough:
    def __init__(self, bench: Bench, notes: int, patience: float = 20.0) -> None:
        self.bench, self.notes, self.until = bench, notes, time.monotonic() + patience

    def __call__(self) -> bool:
        return len(self.bench.ran) >= self.notes or time.monotonic() > self.until


async def work(bench: Bench, queue: Queue[Any], notes: int, patience: float = 20.0) -> Any:
    return await task_worker(bench.shell, bench.tasks).run(
        queue=queue,
        poll_seconds=0.1,
        lease_seconds=2,
        at_once=2,
        stop=Enough(bench, notes, patience),
        signals=False,
    )


@pytest.mark.parametrize("fifo", [False, True])
async def test_tasks_run_through_a_queue_when_they_are_due(queued: Bench, aws_emulator: str, fifo: bool) -> None:
    queue = await new_queue(queued, aws_emulator, fifo=fifo)

    @queued.task
    async def note(what: str) -> None:
        assert queued.tasks.running().due.timestamp() <= time.time()
        queued.ran.append(what)

    await queued.add(*(queued.tasks.after(seconds(n / 5), note(f"p{n}")) for n in range(4)))
    await queued.add(*(queued.tasks.after(seconds(n / 20), note(f"o{n}"), order="o") for n in range(4)))
    counts = await work(queued, queue, 8)
    assert counts.done == 8
    assert sorted(queued.ran) == [*(f"o{n}" for n in range(4)), *(f"p{n}" for n in range(4))]
    assert [what for what in queued.ran if what[0] == "o"] == [f"o{n}" for n in range(4)]
    assert await queued.findings() == []


async def test_a_queue_gets_each_task_once(queued: Bench, aws_emulator: str) -> None:
    queue = await new_queue(queued, aws_emulator, fifo=False)
    note = noting(queued)
    for wait, key in ((0, "now"), (600, "soon"), (1000, "later")):
        await queued.add(queued.tasks.after(seconds(wait), note("a"), key=key))
    send_due = task_worker(queued.shell, queued.tasks).send_due
    assert await send_due(queue) == 2
    assert await send_due(queue) == 0
    attributes = await queued.shell.run(queued.shell.port.to(SQS, queue.url).send(GetQueueAttributes(queue.url)))
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"
    (pointer,) = await said(queued, queue)
    assert sorted(pointer) == ["fence", "key"]
    assert pointer["key"] == "now"
    # Two minutes overdue: its message is lost, or its worker.
    queued.clock.shift = 121.0  # type: ignore[attr-defined]
    assert await send_due(queue) == 2  # now again, and what is 15 minutes off by now
    assert await send_due(queue) == 0  # a long backlog is not told of at every look
    queued.clock.shift = 242.0  # type: ignore[attr-defined]
    assert await send_due(queue) == 1
    assert await queued.findings() == []


async def test_what_a_worker_left_is_sent_with_its_lease_and_held_back_for_it(queued: Bench, aws_emulator: str) -> None:
    """So the queue's time, and no worker's clock, says that the lease was not extended."""
    queue, note = await new_queue(queued, aws_emulator, fifo=False), noting(queued)
    await queued.add(queued.tasks.after(seconds(0), note("a"), key="a"))
    await queued.claim("a", 2)
    queued.clock.shift = 123.0  # type: ignore[attr-defined]
    send_due = task_worker(queued.shell, queued.tasks).send_due
    assert (await send_due(queue), await send_due(queue)) == (1, 0)
    attributes = await queued.shell.run(queued.shell.port.to(SQS, queue.url).send(GetQueueAttributes(queue.url)))
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"
    item = await queued.shell.get(queued.tasks.entities.by_id("a").consistent())
    assert item is not None
    counts = await work(queued, queue, 1)
    assert (counts.done, queued.ran) == (1, ["a"])


async def test_a_fifo_queue_gets_a_task_when_it_is_due(queued: Bench, aws_emulator: str) -> None:
    queue = await new_queue(queued, aws_emulator, fifo=True)
    note = noting(queued)
    await queued.add(queued.tasks.after(seconds(0), note("a"), key="ü now", order="o"))
    await queued.add(queued.tasks.after(seconds(60), note("b"), key="later"))
    assert await task_worker(queued.shell, queued.tasks).send_due(queue) == 1
    assert [pointer["key"] for pointer in await said(queued, queue)] == ["ü now"]
    queued.clock.shift = 59.0  # type: ignore[attr-defined]
    assert await task_worker(queued.shell, queued.tasks).send_due(queue) == 0
    queued.clock.shift = 122.0  # type: ignore[attr-defined]
    # The queue, which leaves out what it was told already, takes both.
    assert await task_worker(queued.shell, queued.tasks).send_due(queue) == 2
    attributes = await queued.shell.run(queued.shell.port.to(SQS, queue.url).send(GetQueueAttributes(queue.url)))
    assert attributes["ApproximateNumberOfMessages"] == "2"
    assert await queued.findings() == []


async def test_messages_that_are_early_doubled_late_or_forged_do_nothing(queued: Bench, aws_emulator: str) -> None:
    queue = await new_queue(queued, aws_emulator, fifo=False)
    note = noting(queued)
    await queued.add(queued.tasks.after(seconds(0), note("due"), key="due"))
    await queued.add(queued.tasks.after(seconds(3), note("early"), key="early"))
    fences = {item.id: item.fence async for item in queued.shell.scan(queued.tasks.entity)}
    bodies = [
        {"key": "early", "fence": fences["early"]},
        {"key": "due", "fence": fences["due"]},
        {"key": "due", "fence": fences["due"]},
        {"key": "due", "fence": fences["due"] + 1},
        {"key": "due", "fence": 0, "arguments": {"what": "forged"}, "function": "note"},
        {"key": "nobody", "fence": 1},
        {"fence": 1},
        "no pointer at all",
    ]
    await queued.shell.run(send(queued.shell.port, queue, [Outgoing(body) for body in bodies]))
    await work(queued, queue, 1)
    assert queued.ran == ["due"]
    begun = time.monotonic()
    await work(queued, queue, 2)
    assert queued.ran == ["due", "early"]
    assert time.monotonic() - begun > 0.5
    assert await queued.findings() == []


async def test_what_fails_through_a_queue_is_sent_again(queued: Bench, aws_emulator: str) -> None:
    from singletable.tasks import Backoff

    queue = await new_queue(queued, aws_emulator, fifo=False)

    @queued.task(tries=3, backoff=Backoff(0.1, 0.1))
    async def fail() -> None:
        queued.ran.append(queued.tasks.running().tries)
        raise ValueError

    await queued.add(queued.tasks.after(seconds(0), fail(), key="f"))
    counts = await work(queued, queue, 3)
    assert queued.ran == [1, 2, 3]
    assert (counts.failed, counts.dead) == (2, 1)
    assert [letter.key for letter in await queued.dead()] == ["f"]


async def test_an_index_that_holds_a_part_is_refused(queued: Bench, aws_emulator: str) -> None:
    bench = make_bench(
        queued.kind, queued.shell, queued.clock, name="part", indexes={"gsi1": Index("p1", "s1", "keys")}
    )
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(0), note("a")), bench.tasks.after(seconds(0), note("b"), order="o"))
    with pytest.raises(NotConfigured, match="does not project the order"):
        await task_worker(bench.shell, bench.tasks).send_due(Queue(f"{aws_emulator}/0/q"))
    assert (await task_worker(bench.shell, bench.tasks).drain()).done == 2
    assert await bench.findings() == []


def event(*bodies: Any, arn: str = "arn:aws:sqs:us-east-1:123456789012:tasks") -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": f"id-{number}",
                "receiptHandle": "r",
                "body": json.dumps(body),
                "attributes": {"ApproximateReceiveCount": "1", "MessageGroupId": "g"},
                "eventSource": "aws:sqs",
                "eventSourceARN": arn,
            }
            for number, body in enumerate(bodies)
        ]
    }


class Context:
    """What Lambda hands a function beside the event."""

    def __init__(self, left_ms: int) -> None:
        self.left_ms = left_ms

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


def test_a_lambda_function_runs_what_is_due_and_returns_what_is_early(engine_url: str, clock: Clock) -> None:
    with connect(engine_url, clock=time.time) as db:
        db.port.traits = LOCAL
        bench = make_bench("blocking", disguised(db), clock)
        ran: list[str] = []

        @bench.tasks.task(tries=2)
        def note(what: str) -> None:
            if what == "fails":
                raise ValueError
            ran.append(what)

        tasks = bench.tasks
        with db.transaction() as tx:
            for what, wait in (("due", 0), ("early", 60), ("fails", 0)):
                tx.add(tasks.after(seconds(wait), note(what), key=what))
            for n in range(3):
                tx.add(tasks.after(seconds(n / 1000), note(f"turn {n}"), key=f"turn {n}", order="o"))
        fences = {item.id: item.fence for item in db.scan(tasks.entity)}
        pointers = {key: {"key": key, "fence": fence} for key, fence in fences.items()}
        handler = TaskWorker(db, tasks).lambda_handler()
        no_time = handler(event(pointers["due"]), Context(1000))
        assert no_time == {"batchItemFailures": [{"itemIdentifier": "id-0"}]}
        assert ran == []
        keys = ("early", "due", "due", "fails", "turn 2", "turn 0", "turn 1")
        answer = handler(event(*(pointers[key] for key in keys), {"no": "pointer"}), Context(60_000))
        assert answer["batchItemFailures"][0] == {"itemIdentifier": "id-0"}
        for _ in range(3):  # turns that met another's are given back, and come again
            handler(event(pointers["turn 2"], pointers["turn 1"]), Context(60_000))
        assert [what for what in ran if what.startswith("turn")] == ["turn 0", "turn 1", "turn 2"]
        assert ran.count("due") == 1
        assert "early" not in ran
        assert TaskWorker(db, tasks).check() == []


def test_a_fifo_event_keeps_the_order_of_its_group(engine_url: str, clock: Clock) -> None:
    with connect(engine_url, clock=time.time) as db:
        db.port.traits = LOCAL
        bench = make_bench("blocking", disguised(db), clock)
        ran: list[int] = []

        @bench.tasks.task
        def note(number: int) -> None:
            ran.append(number)

        with db.transaction() as tx:
            for n in range(3):
                tx.add(bench.tasks.after(seconds(-9 + n), note(n), key=str(n)))
            tx.add(bench.tasks.after(seconds(60), note(9), key="9"))
        fences = {item.id: item.fence for item in db.scan(bench.tasks.entity)}
        bodies = [{"key": key, "fence": fences[key]} for key in ("0", "9", "1", "2")]
        answer = TaskWorker(db, bench.tasks).lambda_handler()(
            event(*bodies, arn="arn:aws:sqs:us-east-1:1:tasks.fifo"), None
        )
        assert answer == {"batchItemFailures": [{"itemIdentifier": f"id-{n}"} for n in (1, 2, 3)]}
        assert ran == [0]


async def test_a_task_of_this_instant_has_no_delay(bench: Bench, aws_emulator: str) -> None:
    """However its time and the clock's are rounded: a queue's delays are whole seconds."""
    queue = await new_queue(bench, aws_emulator, fifo=False)
    clock, note = bench.clock, noting(bench)
    times = [clock.at + n / 7_777_777 for n in range(40)]
    for number, clock.at in enumerate(times):
        await bench.add(bench.tasks.at(clock.datetime(), note("now"), key=f"{number}"))
        assert await task_worker(bench.shell, bench.tasks).send_due(queue) == 1
    attributes = await bench.shell.run(bench.shell.port.to(SQS, queue.url).send(GetQueueAttributes(queue.url)))
    assert (attributes["ApproximateNumberOfMessages"], attributes["ApproximateNumberOfMessagesDelayed"]) == ("40", "0")
