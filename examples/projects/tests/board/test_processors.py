"""The board behind a FIFO queue: the server stores what is pushed, a worker or a Lambda function applies it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import httpx
import pytest

from examples.projects.tests.board.pushing import Client
from examples.projects.tests.board.serving import Server, served, until
from examples_shared.testing.commandline import environ
from examples_shared.testing.databases import fresh
from projects.board.processors import lambda_processor
from projects.service import Service
from singletable import connect
from singletable.documents import LocalBlobs
from singletable.flow.request import SQS
from singletable.operations.queue import ReceiveMessage
from tests.support.emulators import aws_emulator as aws_emulator
from tests.support.queue_operations import CreateQueue

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


@pytest.fixture
def queue_url(aws_emulator: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with fresh() as db:
        port: Any = db.port
        created: str = db.run(_create(port.to(SQS, aws_emulator)))
    return created


async def _create(port: Any) -> str:
    url: str = await port.send(CreateQueue(f"boards-{token_hex(6)}.fifo", {"FifoQueue": "true"}))
    return url


@contextmanager
def worker(server: Server, queue_url: str) -> Generator[subprocess.Popen[bytes], None, None]:
    stores = ["--db", server.target, "--blobs", str(server.blobs)]
    command = [sys.executable, "-m", "projects", *stores, "work", "--queue-url", queue_url]
    process = subprocess.Popen(command, env=environ(), stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def version_of(server: Server, project: str) -> int:
    found: int = httpx.get(f"{server.url}/api/projects/{project}").raise_for_status().json()["version"]
    return found


async def test_a_worker_applies_what_the_server_stores(tmp_path: Path, queue_url: str) -> None:
    with served(tmp_path, "--processor", "queue", "--queue-url", queue_url, boards=["b1"]) as server:
        async with httpx.AsyncClient(base_url=server.url) as http:
            client = Client(http, "b1")
            assert (await client.push(("rename", {"name": "Queued"}))).json() == {}
            assert version_of(server, "b1") == 0  # nobody has applied it
            with worker(server, queue_url) as running:
                until(lambda: version_of(server, "b1") == 1)
                await client.push(("put_shape", {"id": "s1", "shape": {"x": 1}}))
                until(lambda: version_of(server, "b1") == 2)
                running.send_signal(signal.SIGTERM)
                assert running.wait(60) == 0
            assert await client.view() == {"project": {"name": "Queued", "description": ""}, "shapes/s1": {"x": 1}}
        assert server.stop() == 0


async def test_a_lambda_function_applies_it_too(tmp_path: Path, queue_url: str) -> None:
    with served(tmp_path, "--processor", "queue", "--queue-url", queue_url, boards=["b1"]) as server:
        async with httpx.AsyncClient(base_url=server.url) as http:
            await Client(http, "b1").push(("rename", {"name": "Queued"}))
            until(lambda: httpx.get(f"{server.url}/api/projects/b1").is_success)
        with connect(server.target) as db:
            port: Any = db.port
            found = db.run(_received(port.to(SQS, queue_url), queue_url))
            handler = lambda_processor(Service(db, LocalBlobs(server.blobs)), queue_url)
            assert handler({"Records": [_as_event(each) for each in found]}, None) == {"batchItemFailures": []}
        assert version_of(server, "b1") == 1


async def _received(port: Any, url: str) -> list[Any]:
    found: list[Any] = []
    while not found:
        found = list(await port.send(ReceiveMessage(url, 10, 1, 30)))
    return found


def _as_event(message: Any) -> dict[str, Any]:
    """A message as Lambda gets it."""
    return {
        "messageId": message.message_id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": message.attributes,
        "eventSource": "aws:sqs",
    }


def test_a_queue_has_to_be_named() -> None:
    command = [sys.executable, "-m", "projects", "--db", "local", "serve", "--processor", "queue"]
    done = subprocess.run(command, env=environ(), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "--queue-url" in done.stderr
