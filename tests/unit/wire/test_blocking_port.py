"""What only the blocking port must hold: driving, threads, forks."""

from __future__ import annotations

import asyncio  # noqa: TID251
import subprocess
import sys
import threading  # noqa: TID251

import pytest

from singletable.flow import DECLARED, FlowSuspended, Request, TableNames, drive
from singletable.wire import BlockingPort, StaticCredentials, endpoint_for
from tests.fakes.scripted_server import ScriptedServer, hang
from tests.unit.wire.conftest import SOME_CREDENTIALS, Ask


def port_to(server: ScriptedServer) -> BlockingPort:
    return BlockingPort(endpoint_for(server.url, environ={}), StaticCredentials(SOME_CREDENTIALS))


def test_a_flow_that_awaits_something_else_is_named() -> None:
    cleaned_up = []

    async def flow() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            cleaned_up.append(True)

    with pytest.raises(FlowSuspended, match=r"port\.send_all"):
        drive(flow())
    assert cleaned_up == [True]


def test_a_flow_returns_its_value_and_raises_its_errors() -> None:
    async def flow(value: int) -> int:
        return 12 // value

    assert drive(flow(4)) == 3
    with pytest.raises(ZeroDivisionError):
        drive(flow(0))


def test_threads_share_a_port(server: ScriptedServer) -> None:
    done: list[int] = []

    def work(port: BlockingPort) -> None:
        for _ in range(50):
            done.append(drive(port.send(Ask())).status)
            done.extend(response.status for response in drive(port.send_all([Ask(), Ask()])))

    with port_to(server) as port:
        threads = [threading.Thread(target=work, args=(port,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert done == [200] * (8 * 150)
    assert server.connections <= 16


def test_an_interrupted_send_all_closes_its_connections(server: ScriptedServer) -> None:
    class Interrupting(Ask):
        def request(self, names: TableNames = DECLARED) -> Request:
            raise KeyboardInterrupt

    server.always(hang)
    with port_to(server) as port, pytest.raises(KeyboardInterrupt):
        drive(port.send_all([Ask(), Ask(), Interrupting()]))
    assert list(port._pool._open) == []


FORKING = """
import os, sys
from singletable.flow import drive
from singletable.wire import BlockingPort, StaticCredentials, endpoint_for
from tests.unit.wire.conftest import Ask, SOME_CREDENTIALS
with BlockingPort(endpoint_for(sys.argv[1], environ={}), StaticCredentials(SOME_CREDENTIALS)) as port:
    drive(port.send(Ask("BeforeFork")))
    child = os.fork()
    if child == 0:
        drive(port.send(Ask("InChild")))
        drive(port.send_all([Ask("InChild")] * 2))
        port.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    drive(port.send(Ask("InParent")))
"""


def test_a_forked_child_opens_connections_of_its_own(server: ScriptedServer) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKING, server.url],
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
        capture_output=True,
        timeout=60,
    )
    assert (run.returncode, run.stderr) == (0, b"")
    connections: dict[str, set[int]] = {}
    for request in server.received:
        connections.setdefault(request.operation, set()).add(request.connection)
    assert connections["BeforeFork"] == connections["InParent"] == {1}
    assert 1 not in connections["InChild"]
