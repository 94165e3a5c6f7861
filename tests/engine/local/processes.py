"""Other processes for these tests: children that use an engine, and the wait until a process is gone."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from singletable.wire.unix_sockets import open_unix
from singletable_local import UnixEndpoint
from singletable_local.polling import wait_until
from tools.distributions import PYTHONPATH

LONG_SECONDS = 20.0

_children: list[subprocess.Popen[str]] = []


def child_python(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """A Python that runs `code` with the library at hand, its standard input and output in our hands."""
    child = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )
    _children.append(child)
    return child


def line_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    line = child.stdout.readline().strip()
    assert line, f"the child said nothing and ended with {child.poll()}"
    return line


def ask(endpoint: UnixEndpoint, operation: str, body: bytes) -> tuple[int, bytes]:
    """A request over a handed-out connection, with any signature."""
    connection, _ = open_unix(endpoint, LONG_SECONDS)
    with connection:
        return post(connection, operation, body)


def epoch_of(engine: UnixEndpoint) -> str:
    with engine.request_connection() as client:
        client.settimeout(LONG_SECONDS)
        connection, epoch = engine.receive_connection(client)
    connection.close()
    return epoch


def call(engine: UnixEndpoint, operation: str, body: dict[str, Any]) -> dict[str, Any]:
    status, text = ask(engine, operation, json.dumps(body).encode())
    assert status == 200, text
    result: dict[str, Any] = json.loads(text)
    return result


def create_table(engine: UnixEndpoint, name: str) -> None:
    key = {"AttributeName": "pk", "KeyType": "HASH"}
    definition = {"AttributeName": "pk", "AttributeType": "S"}
    call(
        engine,
        "CreateTable",
        {
            "TableName": name,
            "KeySchema": [key],
            "AttributeDefinitions": [definition],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )


def post(connection: socket.socket, operation: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    """A request over a connection that stands: its status and body."""
    connection.settimeout(LONG_SECONDS)
    connection.sendall(request(operation, body, **headers))
    return answer_of(connection)


def request(operation: str, body: bytes, **headers: str) -> bytes:
    """As bytes, signed with anything."""
    fields = {
        "Host": "localhost",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": "AWS4-HMAC-SHA256 Credential=a/20200101/local/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=0",
        "X-Amz-Date": "20200101T000000Z",
        "Content-Length": str(len(body)),
        **headers,
    }
    return b"POST / HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()).encode() + b"\r\n" + body


def answer_of(connection: socket.socket) -> tuple[int, bytes]:
    with http.client.HTTPResponse(connection) as answer:
        answer.begin()
        return answer.status, answer.read()


def end(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.communicate()


def end_all() -> None:
    """Also what a failed test left behind, with its pipes."""
    while _children:
        child = _children.pop()
        if child.stdin is not None and not child.stdin.closed:
            end(child)


def runs(pid: int) -> bool:
    """Whether the process runs: not gone, and not a body that nobody has collected. A killed process whose first thread
    has ended runs on, with its sockets, while another of its threads does."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return any(_runs(Path(f"/proc/{pid}/task/{thread}/stat")) for thread in threads)


def _runs(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int) -> bool:
    return bool(wait_until(lambda: not runs(pid), LONG_SECONDS))


def processes_of_session(session: int) -> list[int]:
    """The running processes whose session is `session`: a supervisor and its engine."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if runs(pid) and _session(pid) == session]


def session_of(pid: int) -> int:
    return os.getsid(pid)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0
