"""The application's functions, side by side, in both ports; and the ports to other services."""

from __future__ import annotations

import asyncio  # noqa: TID251
import threading  # noqa: TID251
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from singletable import Meter
from singletable.flow import DYNAMODB_STREAMS, SQS, FlowSuspended, drive
from singletable.flow.meter import ACTIVE
from singletable.wire import BlockingPort, Credentials, StaticCredentials, endpoint_for
from singletable.wire.asyncio_port import AwaitingPort

CREDENTIALS = StaticCredentials(Credentials("id", "secret"))
ENDPOINT = endpoint_for("http://127.0.0.1:1", environ={})


@pytest.fixture
def port() -> Iterator[BlockingPort]:
    with BlockingPort(ENDPOINT, CREDENTIALS) as port:
        yield port


def test_functions_run_at_the_same_time_and_answer_in_order(port: BlockingPort) -> None:
    together = threading.Barrier(3, timeout=10)

    def call(number: int) -> int:
        together.wait()  # breaks unless all three are here at once
        return number

    assert drive(port.call_all([lambda: call(1), lambda: call(2), lambda: call(3)])) == [1, 2, 3]


def test_the_first_error_comes_when_all_are_done(port: BlockingPort) -> None:
    done: list[int] = []

    def fail(text: str) -> None:
        raise ValueError(text)

    with pytest.raises(ValueError, match="one"):
        drive(port.call_all([lambda: fail("one"), lambda: fail("two"), lambda: done.append(3)]))
    assert done == [3]


def test_a_thread_has_its_callers_meters(port: BlockingPort) -> None:
    with Meter() as meter:
        found = drive(port.call_all([ACTIVE.get, ACTIVE.get]))
    assert found == [(meter,), (meter,)]


@pytest.mark.parametrize("times", [1, 2])
def test_flows_run_beside_each_other_in_the_blocking_shell(port: BlockingPort, times: int) -> None:
    async def flow() -> int:
        await port.sleep(0)
        return 1

    flows: list[Callable[[], Any]] = [flow] * times
    assert drive(port.call_all(flows)) == [1] * times


def test_what_needs_an_event_loop_is_refused_by_the_blocking_shell(port: BlockingPort) -> None:
    async def call() -> None:
        await asyncio.sleep(0)

    calls: list[Callable[[], Any]] = [call]
    with pytest.raises(FlowSuspended, match="port"):
        drive(port.call_all(calls))


async def test_the_loop_takes_plain_and_async_functions() -> None:
    main = threading.get_ident()

    async def inside() -> bool:
        return threading.get_ident() == main

    async with AwaitingPort(ENDPOINT, CREDENTIALS) as port:
        calls: list[Callable[[], Any]] = [inside, lambda: threading.get_ident() == main]
        assert await port.call_all(calls) == [True, False]
        assert isinstance((await port.call_all([lambda: ValueError("given, not raised")]))[0], ValueError)
        with pytest.raises(ZeroDivisionError):
            await port.call_all([*calls, lambda: 1 // 0])


def test_another_service_is_at_the_same_address_unless_it_has_its_own(port: BlockingPort) -> None:
    assert port.to(DYNAMODB_STREAMS) is port.to(DYNAMODB_STREAMS)
    assert port.to(DYNAMODB_STREAMS)._delivery.endpoint == ENDPOINT
    queue = port.to(SQS, "https://sqs.eu-west-1.amazonaws.com/123456789012/work")
    assert (queue._delivery.endpoint.url, queue._delivery.endpoint.region) == (
        "https://sqs.eu-west-1.amazonaws.com",
        "eu-west-1",
    )


async def test_other_services_close_with_their_port() -> None:
    blocking = BlockingPort(ENDPOINT, CREDENTIALS)
    other = blocking.to(SQS)
    blocking.close()
    assert other._pool._closed
    awaiting = AwaitingPort(ENDPOINT, CREDENTIALS)
    beside = awaiting.to(SQS)
    await awaiting.close()
    assert beside._pools._closed
