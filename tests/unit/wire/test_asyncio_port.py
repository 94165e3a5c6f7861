"""What only the asyncio port must hold: several loops, cancellation, a limit of connections."""

from __future__ import annotations

import asyncio  # noqa: TID251
import gc
import threading  # noqa: TID251
from typing import Any

import pytest

from singletable import errors
from singletable.flow import Meter
from singletable.wire import Connections, PortOptions, RetryPolicy, StaticCredentials, Timeouts, endpoint_for
from singletable.wire.asyncio_port import AwaitingPort
from singletable.wire.exchange import Undelivered
from singletable.wire.waiting_line import WaitingLine
from tests.fakes.scripted_server import ScriptedServer, hang
from tests.unit.wire.conftest import SOME_CREDENTIALS, Ask


def port_to(server: ScriptedServer, *, in_use: int = 100, **options: Any) -> AwaitingPort:
    endpoint, credentials = endpoint_for(server.url, environ={}), StaticCredentials(SOME_CREDENTIALS)
    return AwaitingPort(endpoint, credentials, PortOptions(connections=Connections(in_use=in_use), **options))


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0)


def test_one_loop_after_another(server: ScriptedServer) -> None:
    port = port_to(server)

    async def twice() -> list[int]:
        return [(await port.send(Ask())).status for _ in range(2)]

    for _ in range(3):
        assert asyncio.run(twice()) == [200, 200]
    assert [request.connection for request in server.received] == [1, 1, 2, 2, 3, 3]
    # A connection that was left open would warn here, and warnings are errors.
    gc.collect()


def test_loops_in_several_threads(server: ScriptedServer) -> None:
    port = port_to(server)
    done: list[int] = []

    async def work() -> None:
        for _ in range(50):
            done.append((await port.send(Ask())).status)

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [200] * 200


async def test_a_cancelled_request_takes_its_connection_with_it(server: ScriptedServer) -> None:
    async with port_to(server) as port:
        server.plan(hang)
        task = asyncio.create_task(port.send(Ask("Cancelled")))
        await until(lambda: server.received)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await port.send(Ask("Next"))).status == 200
    assert [(request.operation, request.connection) for request in server.received] == [("Cancelled", 1), ("Next", 2)]


async def test_a_limit_of_connections_makes_the_others_wait(server: ScriptedServer) -> None:
    async with port_to(server, in_use=4) as port:
        responses = await port.send_all([Ask()] * 100)
    assert len(responses) == 100
    assert server.connections == 4


async def test_waiting_for_a_connection_has_a_limit(server: ScriptedServer) -> None:
    server.plan(hang)
    policy, timeouts = RetryPolicy(attempts=1), Timeouts(read=1.0)
    async with port_to(server, in_use=1, policy=policy, timeouts=timeouts) as port:
        first = asyncio.create_task(port.send(Ask("First", repeatable=False)))
        await until(lambda: server.received)
        port._delivery._first_timeout = 0.01
        with pytest.raises(errors.Unavailable, match="busy"):
            await port.send(Ask("Second"))
        with pytest.raises(errors.OutcomeUnknown):
            await first
        port._delivery._first_timeout = 5.0
        assert (await port.send(Ask("Third"))).status == 200


async def test_the_line_has_one_timer_and_each_call_its_own_limit(server: ScriptedServer) -> None:
    loop = asyncio.get_running_loop()
    line = WaitingLine(loop, 0)
    slow, quick, cancelled, last = (asyncio.create_task(line.wait(limit)) for limit in (60.0, 0.01, 60.0, 0.02))
    await asyncio.sleep(0)
    timer = line._timer
    assert timer is not None
    assert timer.when() - loop.time() <= 0.01
    cancelled.cancel()
    for waiting, limit in ((quick, 0.01), (last, 0.02)):
        with pytest.raises(Undelivered, match=f"busy for {limit:g} s"):
            await waiting
    assert timer.when() < (line._timer or timer).when()
    late = asyncio.create_task(line.wait(60.0))
    await asyncio.sleep(0)
    line.leave()
    await slow
    assert not late.done()
    line.leave()
    await late
    line.leave()
    assert line.free == 1


@pytest.mark.parametrize("has_place", [True, False])
async def test_a_call_cancelled_in_its_turn_hands_its_place_on(has_place: bool) -> None:
    line = WaitingLine(asyncio.get_running_loop(), 0)
    first = asyncio.create_task(line.wait(60.0 if has_place else 0.0))
    await asyncio.sleep(0)
    line.leave() if has_place else line._look()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert line.free == int(has_place)


async def test_a_port_that_closes_stops_the_timer_of_its_line(server: ScriptedServer) -> None:
    async with port_to(server, in_use=1) as port:
        await port.send_all([Ask()] * 4)
        line = port._pools.current()._line
        assert line._timer is not None
    assert line._timer is None


async def test_one_cancelled_in_line_does_not_stop_the_line(server: ScriptedServer) -> None:
    async with port_to(server, in_use=1) as port:
        server.plan(hang)
        first = asyncio.create_task(port.send(Ask("First")))
        await until(lambda: server.received)
        second, third = (asyncio.create_task(port.send(Ask(name))) for name in ("Second", "Third"))
        await asyncio.sleep(0)
        second.cancel()
        first.cancel()
        assert (await third).status == 200
        await asyncio.gather(first, second, return_exceptions=True)
    assert [request.operation for request in server.received] == ["First", "Third"]


async def test_a_cancelled_send_all_cancels_all_of_it(server: ScriptedServer) -> None:
    server.always(hang)
    async with port_to(server) as port:
        with Meter() as meter:
            task = asyncio.create_task(port.send_all([Ask()] * 5))
            await until(lambda: len(server.received) == 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert meter.requests == 5


async def test_closing_twice_and_without_use(server: ScriptedServer) -> None:
    port = port_to(server)
    await port.close()
    with pytest.raises(errors.InvalidRequest, match="closed"):
        await port.send(Ask())
    await port.close()
