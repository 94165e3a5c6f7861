"""Workers behind a queue: a process that receives, and a Lambda function that is called."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from singletable.events import MessageDropped
from singletable.flow import Gate, Kernel, Port
from singletable.queues import Message, Queue, RetryLater, consume, partial_failures
from singletable.tasks.calls import TaskFunction
from singletable.tasks.dispatch import TaskPointer, run_pointer, send_due
from singletable.tasks.items import TaskEntities
from singletable.tasks.lease_watch import LeaseWatch
from singletable.tasks.worker import WorkerSlots
from singletable.tasks.worker_options import Counts, TaskWorkerOptions

_SLICE_SECONDS = 0.2
_TIME_TO_BEGIN_SECONDS = 2.0
_WAIT_POLLS = 5
"""A request waits this many times longer for a message than a poll of the index waits for the next poll."""
_LONGEST_WAIT_SECONDS = 5
"""A worker takes at most this long to notice that it is to stop. A port waits ten seconds for an answer."""
_AHEAD_SECONDS = 60.0
"""Tasks are sent at most this early. An early message delays no other, and a cancel in time saves the message."""
_CONSUMERS = 14
"""A port calls 16 functions concurrently; one is the heartbeat, and one sends to the queue."""
_LAMBDA_QUEUE = Queue("lambda", object)
_FIFO_QUEUE = Queue("lambda.fifo", object)


@dataclass(eq=False)
class QueueWorker:
    """A worker whose list is a queue, and which sends to that queue what is due. Each of the two is a slot."""

    worker: WorkerSlots
    queue: Queue[Any]
    kernel: Kernel = field(init=False)
    _counts: deque[Counts] = field(default_factory=deque[Counts])
    _total: Counts = field(default_factory=Counts)
    _sent_at: float = float("-inf")

    def __post_init__(self) -> None:
        self.kernel = self.worker.kernel()

    async def run(self) -> Counts:
        await self.kernel.run([self._consume, self._send_in_time], self.worker.heartbeat())
        return self._count()

    def _count(self) -> Counts:
        """The outcomes so far. Each message's own count is added by one slot only."""
        while self._counts:
            self._total = self._total + self._counts.popleft()
        return self._total

    async def _consume(self) -> None:
        options = self.worker.options
        longest = min(_LONGEST_WAIT_SECONDS, int(self.worker.port.traits.read_seconds / 2))
        await consume(
            self.worker.port,
            self.queue,
            self._handle,
            stop=lambda: not self.kernel.goes_on(),
            at_once=min(options.at_once, _CONSUMERS),
            visibility_seconds=max(1, int(options.lease_seconds)),
            wait_seconds=min(longest, max(1, int(_WAIT_POLLS * options.poll_seconds))),
            gate=self.worker.gate,
        )

    async def _handle(self, message: Message[Any]) -> None:
        counts = Counts()
        try:
            await handle(self.worker, message, counts)
        finally:
            self._counts.append(counts)

    async def _send_in_time(self) -> None:
        await self.kernel.repeat(self._send_when_due)

    async def _send_when_due(self) -> bool:
        port, poll = self.worker.port, self.worker.options.poll_seconds
        now = port.monotonic()
        if now >= self._sent_at + poll:
            self._sent_at = now
            await self.worker.plan()
            await send_due(self.worker.careful, self.worker.gate, self.worker.tasks, self.queue, _AHEAD_SECONDS)
        self._count()
        await port.sleep(min(_SLICE_SECONDS, poll))
        return True


async def handle(worker: WorkerSlots, message: Message[Any], counts: Counts) -> None:
    """Run the task of a message. A message that is not a pointer is logged and deleted."""
    try:
        pointer = msgspec.convert(message.body, TaskPointer)
    except msgspec.ValidationError:
        worker.port.events.emit(MessageDropped(why="it is in the tasks' queue, and not a pointer to a task"))
        return
    early = await run_pointer(worker, pointer, counts)
    if early is not None:
        raise RetryLater(early.seconds)


Functions = Mapping[str, TaskFunction[...]]


async def handle_event(
    port: Port,
    gate: Gate,
    tasks: TaskEntities,
    functions: Functions,
    watch: LeaseWatch,
    event: Mapping[str, Any],
    context: Any,
) -> dict[str, list[dict[str, str]]]:
    """The messages of a Lambda event. What is early, or comes while the table is held, is given back: it comes again
    when its visibility ends. `watch` has the leases that earlier events have shown, and the length of this function's.
    """
    options = TaskWorkerOptions(lease_seconds=watch.lease_seconds)
    worker = WorkerSlots(port, gate, tasks, functions, options, lambda: False)
    worker.watch = watch
    fifo = any(record.get("eventSourceARN", "").endswith(".fifo") for record in event["Records"])
    queue = _FIFO_QUEUE if fifo else _LAMBDA_QUEUE
    return await partial_failures(
        port, queue, lambda message: handle(worker, message, Counts()), event, _has_time(context), gate
    )


def _has_time(context: Any) -> Callable[[], bool]:
    """Whether enough of the function's time is left to begin another task."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    if left is None:
        return lambda: True
    return lambda: left() > _TIME_TO_BEGIN_SECONDS * 1000
