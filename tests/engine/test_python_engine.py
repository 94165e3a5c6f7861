"""The engine in Python: what it promises as the binary does, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, attr, connect, connect_async
from singletable.errors import NotConfigured, Unavailable
from singletable.flow import Meter
from singletable.pytest_plugin import UnitsDiffer, metered
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.wire import RetryPolicy
from singletable_local import EngineTimeouts
from singletable_local.polling import wait_until
from singletable_local.python_engine import PythonEngine
from tests.support.python_engine import EMULATOR, python_engine as python_engine
from tools.distributions import PYTHONPATH, ROOT

pytestmark = [pytest.mark.embedded("it is another engine"), pytest.mark.usefixtures("python_engine")]
LONG_SECONDS = 20.0
counters = Table("counters", stream="new")


class Counter(Entity, table=counters, type="counter"):
    name: str
    count: int = 0

    @counters.key
    @staticmethod
    def of(name: str) -> Key:
        return f"counter#{name}", "counter"


def pid_of(db: Database) -> int:
    assert isinstance(db.target.engine, PythonEngine)
    return db.target.engine.pid


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def posted(url: str, body: bytes, head: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """The answer to a request on a connection of its own, with these headers only."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), LONG_SECONDS) as connection:
        fields = {"Host": f"{host}:{port}", "Content-Length": str(len(body)), **head}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection.sendall(f"POST / HTTP/1.1\r\n{lines}\r\n".encode() + body)
        answer = connection.recv(1 << 16)
    status, _, rest = answer.partition(b"\r\n")
    return int(status.split()[1]), json.loads(rest.partition(b"\r\n\r\n")[2])


def test_it_is_in_memory_and_ends_with_its_database() -> None:
    with connect("local") as db:
        db.create(Counter(name="a"))
        assert db.get(Counter.of("a")) == Counter(name="a")
        pid = pid_of(db)
        assert runs(pid)
        assert db.target.place == db.target.endpoint.url
    assert not runs(pid)
    with connect("local") as db:
        assert db.get(Counter.of("a")) is None


async def test_asyncio_has_one_too() -> None:
    async with connect_async("local") as db:
        await db.create(Counter(name="a"))
        assert await db.get(Counter.of("a")) == Counter(name="a")


def test_it_ends_with_a_program_that_is_killed() -> None:
    code = "from singletable import connect; db = connect('local'); print(db.target.engine.pid, flush=True); input()"
    environ = {**os.environ, "PYTHONPATH": PYTHONPATH}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        assert runs(pid)
        program.send_signal(signal.SIGKILL)
    assert wait_until(lambda: not runs(pid), LONG_SECONDS)


def test_a_forked_child_uses_it_and_does_not_end_it() -> None:
    with connect("local") as db:
        db.create(Counter(name="a"))
        child = os.fork()
        if child == 0:
            there = db.get(Counter.of("a")) is not None
            db.close()
            os._exit(0 if there else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert db.get(Counter.of("a")) is not None


FORKS = """
import os
from singletable import connect
db = connect("local")
child = os.fork()
if child == 0:
    os.read(0, 1)
    os._exit(0)
print(db.target.engine.pid, child, flush=True)
os.read(0, 1)
"""


def test_a_forked_child_does_not_keep_it() -> None:
    environ = {**os.environ, "PYTHONPATH": PYTHONPATH}
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        pid, child = map(int, program.stdout.readline().split())
        program.kill()
        try:
            assert wait_until(lambda: not runs(pid), LONG_SECONDS)
            assert runs(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_an_update_is_not_lost_to_another() -> None:
    with connect("local") as db, ThreadPoolExecutor(8) as threads:
        db.create(Counter(name="a"))
        list(threads.map(lambda _: db.update(Counter.of("a"), attr(Counter.count).add(1)), range(101)))
        counter = db.get(Counter.of("a"))
    assert counter is not None
    assert counter.count == 101


def test_a_transaction_that_is_repeated_is_applied_once() -> None:
    with connect("local") as db:
        db.create(Counter(name="a"))
        update = {
            "TableName": "counters",
            "Key": {"pk": {"S": "counter#a"}, "sk": {"S": "counter"}},
            "UpdateExpression": "ADD #count :one",
            "ExpressionAttributeNames": {"#count": "count"},
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        body = json.dumps({"ClientRequestToken": "a-token", "TransactItems": [{"Update": update}]}).encode()
        head = {"X-Amz-Target": "DynamoDB_20120810.TransactWriteItems"}
        for _ in range(2):
            assert posted(db.target.endpoint.url, body, head)[0] == 200
        counter = db.get(Counter.of("a"))
    assert counter is not None
    assert counter.count == 1


def test_a_worker_goes_on_from_its_checkpoint() -> None:
    handled: list[str] = []
    changes = Changes(counters, name="names")

    @changes.on(Counter).inserted
    def add(change: Inserted[Counter]) -> None:
        handled.append(change.new.name)

    with connect("local") as db:
        for name in ("first", "second"):
            db.create(Counter(name=name))
            ChangeWorker(db, changes).drain()
    assert handled == ["first", "second"]


WORKER = """
from singletable import connect
from tests.engine.test_python_engine import Counter
import sys
with connect(sys.argv[1]) as db:
    print(db.get(Counter.of("a")))
connect("local").close()
"""


def test_of_several_processes_each_is_told_how_to_share_one() -> None:
    environ = {**os.environ, "PYTHONPATH": f"{PYTHONPATH}{os.pathsep}{ROOT}", "WEB_CONCURRENCY": "2"}
    with connect("local") as db:
        db.create(Counter(name="a"))
        command = [sys.executable, "-c", WORKER, db.target.endpoint.url]
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=100)
    assert ran.stdout == "Counter(name='a', count=0)\n"
    assert 'which they share: connect("http://127.0.0.1:<port>")' in ran.stderr
    assert "data/app.db" not in ran.stderr


def test_a_file_is_refused_and_what_to_install_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match=r"is in memory, and keeps no file\. Install the binary, `npm install "):
        connect(f"local:{tmp_path / 'app.db'}")
    assert list(tmp_path.iterdir()) == []


def test_a_meter_and_a_budget_say_that_units_differ() -> None:
    with connect("local") as db:
        db.create(Counter(name="a"))
        warned = pytest.warns(UnitsDiffer, match="not those of AWS: the engine in Python counts half a unit")
        with warned, metered(read_units=1) as meter:
            db.get(Counter.of("a").consistent())
        assert list(meter.estimated) == ["GetItem"]
        with metered(requests=1):  # a warning would fail the test
            db.get(Counter.of("a"))


@pytest.mark.parametrize(
    "head", [{"Origin": "http://127.0.0.1"}, {"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example:80"}]
)
def test_a_web_page_is_refused(head: dict[str, str]) -> None:
    with PythonEngine.start(EMULATOR, os.environ) as engine:
        status, answer = posted(engine.url, b"{}", {"X-Amz-Target": "DynamoDB_20120810.ListTables", **head})
        assert (status, answer["message"]) == (403, "a web page may not use the local engine")
        for proxied in ("localhost", "127.0.0.1:8000"):
            assert (
                posted(engine.url, b"{}", {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Host": proxied})[0] == 200
            )


@pytest.mark.parametrize(
    ("head", "body", "status"),
    [
        ({}, b"{}", 400),
        ({"X-Amz-Target": "DynamoDB_20120810.Nothing"}, b"{}", 400),
        ({"X-Amz-Target": "DynamoDBStreams_20120810.GetShardIterator"}, b"no JSON", 500),
        ({"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Length": "99999999"}, b"", 413),
        (
            {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Length": "0", "Transfer-Encoding": "chunked"},
            b"2\r\n{}\r\n0\r\n\r\n",
            400,
        ),
    ],
)
def test_what_it_does_not_understand_is_answered_and_the_next_request_too(
    head: dict[str, str], body: bytes, status: int
) -> None:
    with PythonEngine.start(EMULATOR, os.environ) as engine:
        assert posted(engine.url, body, head)[0] == status
        assert posted(engine.url, b"{}", {"X-Amz-Target": "DynamoDB_20120810.ListTables"})[0] == 200


REAPED = """
import json
import threading
import time

_lock = threading.Lock()
deletions, is_deleting = 0, False


def _delete():
    global deletions, is_deleting
    while True:
        with _lock:
            deletions, is_deleting = deletions + 1, True
            time.sleep(0.01)
            is_deleting = False
        time.sleep(0.001)


def _begin():
    threading.Thread(target=_delete, daemon=True).start()


async def handle_request(*_):
    return 200, {}, json.dumps({"deletions": deletions, "is_deleting": is_deleting}).encode()


threading.Timer(0.2, _begin).start()
"""


def test_no_request_meets_a_deletion_of_what_has_expired(tmp_path: Path) -> None:
    """ministack deletes it in a thread, under a lock that its requests don't take."""
    services = tmp_path / "ministack" / "services"
    services.mkdir(parents=True)
    (services / "dynamodb.py").write_text(REAPED)
    (services / "dynamodb_streams.py").write_text("from ministack.services.dynamodb import handle_request\n")
    with PythonEngine.start(tmp_path, os.environ) as engine:
        head = {"X-Amz-Target": "DynamoDB_20120810.ListTables"}
        assert wait_until(lambda: posted(engine.url, b"{}", head)[1]["deletions"] > 0, LONG_SECONDS)
        asked = [posted(engine.url, b"{}", head)[1]["is_deleting"] for _ in range(101)]
    assert not any(asked)


def test_the_lock_is_the_one_of_the_emulator() -> None:
    source = (EMULATOR / "ministack" / "services" / "dynamodb.py").read_text()
    assert "        time.sleep(60)\n        now = time.time()\n        try:\n            with _lock:\n" in source


def test_an_item_near_the_limit_goes_through() -> None:
    with connect("local") as db:
        large = Counter(name="n" * 900 + "\U0001f600" * 20)
        db.create(large)
        assert db.get(Counter.of(large.name)) == large


def test_one_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "ministack").mkdir()
    with pytest.raises(Unavailable, match=r"did not start\. (?s:.*)ModuleNotFoundError.*ministack\.services"):
        PythonEngine.start(tmp_path, os.environ)


def test_one_that_does_not_listen_in_time_is_ended(tmp_path: Path) -> None:
    services = tmp_path / "ministack" / "services"
    services.mkdir(parents=True)
    (services / "dynamodb.py").write_text("import time\ntime.sleep(60)\n")
    with pytest.raises(Unavailable, match="did not start"):
        PythonEngine.start(tmp_path, os.environ, EngineTimeouts(ready_seconds=0.2, stop_seconds=0.2))


def test_the_next_request_after_its_end_says_so() -> None:
    with connect("local", retry=RetryPolicy(attempts=1)) as db:
        os.kill(pid_of(db), signal.SIGKILL)
        with pytest.raises(Unavailable):
            db.get(Counter.of("a"))


def test_a_meter_of_another_engine_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SINGLETABLE_ENGINE")
    with connect("local") as db, Meter() as meter:
        db.get(Counter.of("a"))
    assert meter.estimated == {}
