"""Connections between requests: how many are kept, for how long, and which are used again."""

from __future__ import annotations

import asyncio  # noqa: TID251
import socket
import threading  # noqa: TID251
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from singletable import connect, connect_async, errors
from singletable.flow import drive
from singletable.wire import Connections, PortOptions, StaticCredentials, endpoint_for
from singletable.wire.asyncio_port import AwaitingPort
from singletable.wire.idle_connections import IdleConnections
from tests.fakes.scripted_server import Action, ScriptedServer, answers, half_closes
from tests.unit.wire.conftest import SOME_CREDENTIALS, Ask, Client, FakeClock

READ = Ask()


def together(count: int) -> Action:
    """Answers when `count` requests wait, each on a connection of its own."""
    waiting = threading.Barrier(count, timeout=30)

    def act(server: ScriptedServer, connection: socket.socket) -> bool:
        waiting.wait()
        return answers()(server, connection)

    return act


async def test_a_second_burst_opens_no_connection(client: Client, server: ScriptedServer) -> None:
    size = 100
    server.always(together(size))
    port = client.port()
    for _ in range(2):
        if client.kind == "awaiting":
            await asyncio.gather(*(port.send(READ) for _ in range(size)))
        else:
            with ThreadPoolExecutor(size) as threads:
                list(threads.map(lambda _: drive(port.send(READ)), range(size)))
    assert server.connections == size


@pytest.mark.parametrize(("connections", "opened"), [(Connections(idle=1), 7), (Connections(idle=0), 8)])
async def test_as_many_are_kept_as_is_said(
    client: Client, server: ScriptedServer, connections: Connections, opened: int
) -> None:
    server.always(together(4))
    port = client.port(connections=connections)
    for _ in range(2):
        await client.run(port.send_all([READ] * 4))
    assert server.connections == opened


def test_as_many_idle_as_may_be_in_use() -> None:
    assert [Connections(in_use=7).kept, Connections(in_use=7, idle=9).kept, Connections().kept] == [7, 9, 100]


@pytest.mark.parametrize(("counts", "named"), [({"in_use": 0}, "in_use=0"), ({"idle": -1}, "idle=-1")])
def test_a_count_that_none_can_follow(counts: dict[str, int], named: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=named):
        Connections(**counts)


async def test_connect_takes_the_counts(server: ScriptedServer) -> None:
    async with connect_async(server.url, connections=Connections(in_use=2), environ={}) as awaiting:
        await asyncio.gather(*(awaiting.port.send(READ) for _ in range(8)))
        assert server.connections == 2
    with connect(server.url, connections=Connections(idle=1), environ={}) as blocking:
        server.always(together(4))
        for _ in range(2):
            drive(blocking.port.send_all([READ] * 4))
    assert server.connections == 2 + 7


async def test_a_call_closes_all_that_were_idle_for_too_long(
    client: Client, server: ScriptedServer, clock: FakeClock
) -> None:
    server.plan(*[together(4)] * 4)
    port = client.port()
    await client.run(port.send_all([READ] * 4))
    for _ in range(2):
        clock.time += 30
        await client.run(port.send(READ))
    for _ in range(3):
        await asyncio.to_thread(server.wait_for_close)
    assert server.connections == 4


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock a test moves."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped


def test_a_loop_closes_them_when_no_call_comes(server: ScriptedServer, clock: FakeClock) -> None:
    loop = SkippingLoop()
    options = PortOptions(monotonic=clock.monotonic)

    async def closes(count: int, port: AwaitingPort) -> None:
        for _ in range(6):
            loop.skipped += 10
            clock.time += 10
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        for _ in range(count):
            await asyncio.to_thread(server.wait_for_close)
        assert len(port._pools.current()._idle) == 0
        assert port._pools.current()._sweeper is None

    async def main() -> None:
        endpoint = endpoint_for(server.url, environ={})
        async with AwaitingPort(endpoint, StaticCredentials(SOME_CREDENTIALS), options) as port:
            for count in (4, 2):
                server.plan(*[together(count)] * count)
                await port.send_all([READ] * count)
                await closes(count, port)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())
    assert server.connections == 6


@pytest.mark.parametrize("repeatable", [True, False])
async def test_a_connection_that_the_server_half_closed_is_not_used(
    client: Client, server: ScriptedServer, repeatable: bool
) -> None:
    half_closed = threading.Event()
    server.plan(half_closes(half_closed))
    port = client.port()
    await client.run(port.send(READ))
    assert half_closed.wait(10)
    assert not (await client.run(port.send(Ask(repeatable=repeatable)))).unsettled
    assert [request.connection for request in server.received] == [1, 2]


def test_a_connection_that_another_thread_takes_at_once() -> None:
    class TakenAtOnce(deque[Any]):
        def append(self, value: Any, /) -> None:
            super().append(value)
            self.pop()

    class Idle:
        idle_since = 0.0

        def is_quiet(self) -> bool:
            return True

        def close(self) -> None:
            raise AssertionError("it is another's")

    kept: IdleConnections[Idle] = IdleConnections(4, lambda: 1.0)
    kept._idle = TakenAtOnce()
    kept.put(Idle())
    assert len(kept) == 0
