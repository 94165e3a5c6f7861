"""Workers behind a queue: a process that receives, and a Lambda function that is called."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from singletable.errors import PASSING
from singletable.flow.port import Port
from singletable.flow.stop import Stop
from singletable.queues import Later, Message, Queue, consume, partial_failures
from singletable.tasks.calls import TaskFunction
from singletable.tasks.dispatch import Pointer, run_pointer, send_due
from singletable.tasks.items import TaskEntities
from singletable.tasks.worker import Settings, Tally, Worker

_SLICE_SECONDS = 0.2
_TIME_TO_BEGIN_SECONDS = 2.0
_WAIT_POLLS = 5
"""A request waits so many times longer for a message than a look at the index waits for the next."""
_LONGEST_WAIT_SECONDS = 5
"""So long may a worker take to hear that it is to stop; and a port gives an answer up after ten."""
_AHEAD_SECONDS = 60.0
"""So a message that is told of early holds nobody up, and a cancel in time costs no message."""
_CONSUMERS = 14
"""Of a port's 16 functions side by side, one extends leases and one tells the queue."""
_LAMBDA_QUEUE = Queue("lambda", object)
_FIFO_QUEUE = Queue("lambda.fifo", object)

log = logging.getLogger("singletable.tasks")


@dataclass(eq=False)
class QueueWorker:
    """A worker whose list is a queue, and who tells that queue what is due."""

    worker: Worker
    queue: Queue[Any]
    stop: Stop
    _counts: deque[Tally] = field(default_factory=deque[Tally])
    _total: Tally = field(default_factory=Tally)
    _broken: bool = False

    async def run(self) -> Tally:
        self.worker.lanes.add(0)
        lanes: list[Callable[[], Any]] = [self.worker.beat, self._consume, self._relay]
        await self.worker.port.call_all(lanes)
        return self._count()

    def _count(self) -> Tally:
        """What has ended so far; each message's own count is taken up by one lane only."""
        while self._counts:
            self._total = self._total + self._counts.popleft()
        return self._total

    def _is_over(self) -> bool:
        return self._broken or self.worker.is_broken or self.stop()

    async def _consume(self) -> Tally:
        settings = self.worker.settings
        visible = max(1, int(settings.lease_seconds))
        at_once = min(settings.at_once, _CONSUMERS)
        longest = min(_LONGEST_WAIT_SECONDS, int(self.worker.port.traits.read_seconds / 2))
        try:
            await consume(
                self.worker.port,
                self.queue,
                self._handle,
                stop=self._is_over,
                at_once=at_once,
                visibility_seconds=visible,
                wait_seconds=min(longest, max(1, int(_WAIT_POLLS * settings.poll_seconds))),
            )
        finally:
            self._broken = True
            self.worker.lanes.clear()
        return Tally()

    async def _handle(self, message: Message[Any]) -> None:
        tally = Tally()
        try:
            await handle(self.worker, message, tally)
        finally:
            self._counts.append(tally)

    async def _relay(self) -> Tally:
        port, poll = self.worker.port, self.worker.settings.poll_seconds
        at = float("-inf")
        try:
            while not self._is_over():
                now = port.monotonic()
                if now >= at + poll:
                    at = now
                    await self._send_due()
                self._count()
                await port.sleep(min(_SLICE_SECONDS, poll))
        finally:
            self._broken = True
        return Tally()

    async def _send_due(self) -> None:
        try:
            await send_due(self.worker.port, self.worker.tasks, self.queue, _AHEAD_SECONDS)
        except PASSING as error:
            log.warning("the queue was not told what is due: %s", type(error).__name__)


async def handle(worker: Worker, message: Message[Any], tally: Tally) -> None:
    """Run what a message points to; what points to nothing is passed over."""
    try:
        pointer = msgspec.convert(message.body, Pointer)
    except msgspec.ValidationError:
        log.error("a message of the tasks' queue points to no task")
        return
    early = await run_pointer(worker, pointer, tally)
    if early is not None:
        raise Later(early.seconds)


Functions = Mapping[str, TaskFunction[...]]


async def handle_event(
    port: Port, tasks: TaskEntities, functions: Functions, lease_seconds: float, event: Mapping[str, Any], context: Any
) -> dict[str, list[dict[str, str]]]:
    """The messages of a Lambda event. What is early is given back, and comes again when its visibility ends."""
    worker = Worker(port, tasks, functions, Settings(lease_seconds=lease_seconds), lambda: False)
    fifo = any(record.get("eventSourceARN", "").endswith(".fifo") for record in event["Records"])
    queue = _FIFO_QUEUE if fifo else _LAMBDA_QUEUE
    return await partial_failures(
        port, queue, lambda message: handle(worker, message, Tally()), event, _has_time(context)
    )


def _has_time(context: Any) -> Callable[[], bool]:
    """Whether enough of the function's time is left to begin another task."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    if left is None:
        return lambda: True
    return lambda: left() > _TIME_TO_BEGIN_SECONDS * 1000
