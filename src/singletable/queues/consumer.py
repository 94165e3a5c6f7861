"""Consumes messages: they are handled, then deleted. A message whose handler fails is received again.

Messages of one group are handled one after the other; after a failure, the rest of the group waits. A message stays
invisible to other consumers while it is handled. A message is handled at least once.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from singletable.errors import PASSING, InvalidRequest
from singletable.events import MessageFailed, TraceContext
from singletable.failure_text import Caught
from singletable.flow import SQS, UNGATED, Gate, Heartbeat, Kernel, Port, Stop, Trouble
from singletable.operations import (
    MAX_BATCH_MESSAGES,
    MAX_VISIBILITY_SECONDS,
    MAX_WAIT_SECONDS,
    ChangeMessageVisibility,
    DeleteMessageBatch,
    Received,
    ReceiveMessage,
)
from singletable.queues.message_context import CONTEXT_ATTRIBUTES, contexts_of, contexts_of_record
from singletable.queues.queue import Message, Queue, message_of, message_of_record, receives_in

T = TypeVar("T")

Handle = Callable[[Message[T]], Awaitable[object] | object]
"""Handles a message: the application's function, or a flow. If it raises, the message is returned to the queue."""

MAX_AT_ONCE = 15


class RetryLater(Exception):
    """Raised by a handler to return the message to the queue. It is received again after some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        return f"not for {self.seconds:g} s"


@dataclass(eq=False)
class _Receipt:
    """A message that this consumer keeps invisible."""

    handle: str
    renewed_at: float
    """Seconds of the monotonic clock."""
    is_lost: bool = False


@dataclass(eq=False)
class _Consumer(Generic[T]):
    port: Port
    there: Port
    queue: Queue[T]
    handle: Handle[T]
    kernel: Kernel
    visibility_seconds: int
    wait_seconds: int
    _receipts: dict[str, _Receipt] = field(default_factory=dict[str, _Receipt])
    """The messages that are being handled, by their receipt handles."""

    async def run(self, at_once: int) -> int:
        heartbeat = Heartbeat(self.visibility_seconds, lambda: list(self._receipts.copy().values()), self._keep)
        return sum(await self.kernel.run([self._slot] * at_once, heartbeat))

    async def _slot(self) -> int:
        handled = 0

        async def step() -> bool:
            nonlocal handled
            handled += await self._receive_and_handle()
            return True

        await self.kernel.repeat(step)
        return handled

    async def _receive_and_handle(self) -> int:
        """Handle the messages of one request, those of a group in order. Each is kept invisible; handled ones are
        deleted together."""
        most = 1 if self.kernel.trouble.failures else MAX_BATCH_MESSAGES
        names = () if self.port.events.carrier is None else CONTEXT_ATTRIBUTES
        ask = ReceiveMessage(self.queue.url, most, self.wait_seconds, self.visibility_seconds, names)
        received = await self.there.send(ask)
        now = self.port.monotonic()
        self._receipts |= {message.receipt_handle: _Receipt(message.receipt_handle, now) for message in received}
        done: list[str] = []
        stopped: set[str] = set()
        try:
            for message in received:
                group = message.attributes.get("MessageGroupId", "") if self.queue.is_fifo else message.message_id
                if group in stopped or not self.kernel.goes_on() or await self.kernel.gate.is_held():
                    stopped.add(group)
                    await self._give_back(message.receipt_handle, 0)
                elif await self._handle_one(message):
                    done.append(message.receipt_handle)
                else:
                    stopped.add(group)
        finally:
            for message in received:
                self._receipts.pop(message.receipt_handle, None)
            if done:
                await self.there.send(DeleteMessageBatch(self.queue.url, done))
                self.kernel.trouble.ease()
        return len(done)

    async def _handle_one(self, received: Received) -> bool:
        """Handle one message; returns whether it succeeded. A failed one is received again when its visibility ends, or
        after the seconds of RetryLater. A service that refuses the handler's requests has the worker pause."""
        make = partial(message_of, self.queue, received)
        error = await handled(self.port, self.queue, self.handle, make, contexts_of(received))
        if error is None:
            return True
        if isinstance(error, RetryLater):
            await self._give_back(received.receipt_handle, error.seconds)
        elif isinstance(error, PASSING):
            self.kernel.trouble.fail()
            self.kernel.note("the message is received again", error)
        else:
            _tell(self.port, self.queue, received.message_id, received.attributes, error)
        return False

    async def _give_back(self, receipt: str, seconds: float) -> None:
        self._receipts.pop(receipt, None)
        whole = min(MAX_VISIBILITY_SECONDS, max(0, -int(-seconds // 1)))
        await self.there.send(ChangeMessageVisibility(self.queue.url, receipt, whole))

    async def _keep(self, receipt: _Receipt) -> None:
        """Extend a message's invisibility. The heartbeat calls it."""
        began = self.port.monotonic()
        await self.there.send(ChangeMessageVisibility(self.queue.url, receipt.handle, self.visibility_seconds))
        receipt.renewed_at = began


async def consume(
    port: Port,
    queue: Queue[T],
    handle: Handle[T],
    *,
    stop: Stop,
    at_once: int = 4,
    visibility_seconds: int = 30,
    wait_seconds: int = 5,
    gate: Gate = UNGATED,
) -> int:
    """Handle the messages of a queue until `stop`; returns the number handled and deleted.

    `at_once` slots receive up to ten messages each and handle them one after the other. If a handler raises, or a
    message is not JSON of the queue's type, the message is received again when its visibility ends, until the queue's
    own dead-letter policy removes it. `wait_seconds` of a long poll must be below the read timeout.

    With the `gate` of a table, `Hold(db, table).gate()`, nothing is received while that table is held, and what was
    received goes back.
    """
    if not 1 <= at_once <= MAX_AT_ONCE or not 0 <= wait_seconds <= MAX_WAIT_SECONDS or visibility_seconds < 1:
        raise InvalidRequest(
            f"at_once is 1 to {MAX_AT_ONCE}, wait_seconds 0 to {MAX_WAIT_SECONDS}, visibility_seconds 1 or more"
        )
    there = port.to(SQS, queue.url)
    if wait_seconds >= there.traits.read_seconds:
        raise InvalidRequest(
            f"wait_seconds={wait_seconds} is not below the read timeout of {there.traits.read_seconds:g} s: a poll "
            "that finds nothing would never be answered in time",
            operation="consume",
            hint=f"Wait for less, or connect(..., timeouts=Timeouts(read={wait_seconds + 5})).",
        )
    kernel = Kernel(port, gate, stop, f"the consumer of {queue.name}", Trouble(port))
    return await _Consumer(port, there, queue, handle, kernel, visibility_seconds, wait_seconds).run(at_once)


async def partial_failures(
    port: Port,
    queue: Queue[T],
    handle: Handle[T],
    event: Mapping[str, Any],
    has_time: Callable[[], bool] = lambda: True,
    gate: Gate = UNGATED,
) -> dict[str, list[dict[str, str]]]:
    """Handle the messages of a Lambda event. Returns the failed ones in the form of ReportBatchItemFailures.

    Messages of different groups are handled concurrently, those of one group in order. After a failure, the failed
    message and the rest of its group are returned to the queue. No message is begun once `has_time` returns False, nor
    while the table of the `gate` is held: then all are returned.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for record in event["Records"]:
        attributes = record.get("attributes", {})
        group = attributes.get("MessageGroupId", "") if queue.is_fifo else record["messageId"]
        groups.setdefault(group, []).append(record)

    async def succeeds(record: Mapping[str, Any]) -> bool:
        make = partial(message_of_record, queue, record)
        error = await handled(port, queue, handle, make, contexts_of_record(record))
        if error is not None and not isinstance(error, RetryLater):
            _tell(port, queue, record["messageId"], record.get("attributes", {}), error)
        return error is None

    async def run(records: Sequence[Mapping[str, Any]]) -> list[str]:
        for number, record in enumerate(records):
            if not has_time() or await gate.is_held() or not await succeeds(record):
                return [left["messageId"] for left in records[number:]]
        return []

    if len(groups) > 1:  # for all of them, before each of them asks
        await gate.is_held()
    failed: list[list[str]] = await port.call_all([partial(run, records) for records in groups.values()])
    return {"batchItemFailures": [{"itemIdentifier": id} for ids in failed for id in ids]}


async def handled(
    port: Port,
    queue: Queue[T],
    handle: Handle[T],
    make: Callable[[], Message[T]],
    contexts: tuple[TraceContext, ...],
) -> BaseException | None:
    """Handle one message; returns the error that it raised, or None."""
    error: BaseException | None
    with port.events.handling("message", queue.name, queue.name, contexts=contexts, expected=(RetryLater,)) as work:
        try:
            (error,) = await port.call_all([_attempt(handle, make())])
        except Exception as unreadable:
            error = unreadable
        work.error = error
    return error


def _tell(port: Port, queue: Queue[Any], id: str, attributes: Mapping[str, str], error: BaseException) -> None:
    port.events.emit(MessageFailed(queue=queue.name, error=error, message=id, attempt=receives_in(attributes)))


def _attempt(handle: Handle[T], message: Message[T]) -> Callable[[], Any]:
    """A call that returns the handler's error as a value: a SystemExit that left a thread would end the loop too."""

    async def settle(result: Awaitable[object]) -> BaseException | None:
        with Caught() as caught:
            await result
        return caught.error

    def call() -> Any:
        result: object = None
        with Caught() as caught:
            result = handle(message)
        return settle(result) if inspect.isawaitable(result) else caught.error

    async def call_in_loop() -> BaseException | None:
        outcome: Any = call()
        error: BaseException | None = await outcome if inspect.isawaitable(outcome) else outcome
        return error

    return call_in_loop if inspect.iscoroutinefunction(handle) else call
