"""Flows side by side: what they send at the same step goes out together, so that several reads are one round trip.

Each flow runs until it sends. What all of them send is then one `send_all`, in both shells, without a thread or a task;
each goes on with its own values. A flow that is done waits for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, TypeVar

from singletable.flow.driver import FlowSuspended
from singletable.flow.port import Operation, Port, WrappedPort

T = TypeVar("T")
Flow = Coroutine[Any, Any, Any]


class _Step:
    """Suspends a flow: until its operations are answered, and for some seconds."""

    def __init__(self, operations: Sequence[Operation[Any]], seconds: float = 0.0) -> None:
        self.operations, self.seconds = operations, seconds

    def __await__(self) -> Generator[_Step, list[Any], list[Any]]:
        return (yield self)


class _StepPort(WrappedPort):
    """The port of flows that run side by side."""

    async def send(self, operation: Operation[T]) -> T:
        value: T = (await _Step((operation,)))[0]
        return value

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        return await _Step(operations)

    async def sleep(self, seconds: float) -> None:
        await _Step((), seconds)


async def side_by_side(port: Port, flows: Sequence[Callable[[Port], Flow]]) -> list[Any]:
    """The results in order. The first error ends all of them, after the requests that are under way have ended.

    The tables of the flows are ready. They await their port's `send`, `send_all` and `sleep` alone.
    """
    steps = _StepPort(port)
    running = [flow(steps) for flow in flows]
    results: dict[int, Any] = {}
    answers: dict[int, list[Any] | None] = dict.fromkeys(range(len(running)))
    try:
        while answers:
            waiting = {n: step for n, given in answers.items() if (step := _go_on(running[n], given, results, n))}
            answers = await _answered(port, waiting)
    finally:
        for flow in running:
            flow.close()
    return [results[n] for n in range(len(running))]


def _go_on(flow: Flow, given: list[Any] | None, results: dict[int, Any], number: int) -> _Step | None:
    """Run a flow to its next step; None at its end, with its result."""
    try:
        step = flow.send(given)
    except StopIteration as done:
        results[number] = done.value
        return None
    if not isinstance(step, _Step):
        raise FlowSuspended(
            "A flow side by side with others awaited something that is not its port",
            hint="Await only port.send, port.send_all and port.sleep.",
        )
    return step


async def _answered(port: Port, waiting: dict[int, _Step]) -> dict[int, list[Any] | None]:
    """The values of each flow's operations, all sent together."""
    if pause := max((step.seconds for step in waiting.values()), default=0.0):
        await port.sleep(pause)
    operations = [operation for step in waiting.values() for operation in step.operations]
    values = iter(await port.send_all(operations) if operations else ())
    return {n: [next(values) for _ in step.operations] for n, step in waiting.items()}
