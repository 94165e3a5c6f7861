"""A smoke test of both ports against a real engine, where it is installed."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from singletable.flow import Meter
from tests.fakes.scripted_server import ScriptedServer
from tests.unit.wire.conftest import Ask, Client, FakeClock

pytestmark = pytest.mark.embedded("it starts the engine by its program")
DYNOXIDE = Path(__file__).parents[3] / "node_modules/@dynoxide/linux-x64/dynoxide"
TABLE = {
    "TableName": "smoke",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as response:
            return b"healthy" in response.read()
    except OSError:
        return False


@pytest.fixture
def engine() -> Iterator[str]:
    if not DYNOXIDE.exists():
        pytest.skip("the engine is not installed: npm install")
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    command = [str(DYNOXIDE), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            patience = time.monotonic() + 20
            while not is_ready(url):
                assert process.poll() is None
                assert time.monotonic() < patience
            yield url
        finally:
            process.kill()


def ask(operation: str, **body: object) -> Ask:
    return Ask(operation, json.dumps({"TableName": "smoke", **body}).encode())


async def test_put_and_get_many(client: Client, engine: str, server: ScriptedServer, clock: FakeClock) -> None:
    port = client.port(engine)
    assert (await client.run(port.send(ask("CreateTable", **TABLE)))).status == 200
    puts = [ask("PutItem", Item={"pk": {"S": f"é{n}"}, "text": {"S": "x" * n * 500}}) for n in range(40)]
    with Meter() as meter:
        assert {response.status for response in await client.run(port.send_all(puts))} == {200}
        gets = [ask("GetItem", Key={"pk": {"S": f"é{n}"}}) for n in range(40)]
        found = [json.loads(response.body) for response in await client.run(port.send_all(gets))]
    assert [len(item["Item"]["text"]["S"]) for item in found] == [n * 500 for n in range(40)]
    assert (meter.requests, meter.round_trips, meter.retries) == (80, 6, 0)


async def test_its_errors_are_answers(client: Client, engine: str) -> None:
    port = client.port(engine)
    missing = await client.run(port.send(ask("GetItem", Key={"pk": {"S": "a"}})))
    assert (missing.status, b"ResourceNotFoundException" in missing.body) == (400, True)
