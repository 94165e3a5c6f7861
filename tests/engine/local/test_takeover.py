"""Processes that share a data file: none of them notices when another one ends, and an engine that died comes back."""

from __future__ import annotations

import asyncio  # noqa: TID251  (the async shell under test)
import contextlib
import http.client
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, OutcomeUnknown, Table, Unavailable, attr, connect, connect_async
from singletable.wire import RetryPolicy
from singletable.wire.exchange import AnswerLost
from singletable_local import Engine, control, is_healthy
from singletable_local.lock import is_locked, published_address
from singletable_local.polling import wait_until
from tests.engine.local.processes import LONG_SECONDS, ask, child_python, end, ends, epoch_of, line_of, runs
from tests.support import shells

TAKEOVER_SECONDS = 1.0
KINDS = ("blocking", "async")

counts = Table("counts")


class Count(Entity, table=counts, type="count"):
    name: str
    n: int = 0

    @counts.key
    @staticmethod
    def by_name(name: str) -> Key:
        return f"count#{name}", "count"


OWNER = """
import sys
from singletable import connect
db = connect(sys.argv[1])
print(db.target.engine.pid, db.target.engine.owned, flush=True)
sys.stdin.read()
"""


class Writes:
    """Writes one after the other, and how long the longest took."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.acknowledged = 0
        self.longest_seconds = 0.0

    def run(self, kind: str, count: int, at: dict[int, Callable[[], None]]) -> None:
        """`count` writes in a shell, and what is to happen before which of them."""
        if kind == "blocking":
            with connect(self.target) as db:
                for number in range(count):
                    at.get(number, _nothing)()
                    began = time.monotonic()
                    db.put(Count(name=f"c{number}", n=number))
                    self._note(began)
        else:
            asyncio.run(self._run(count, at))

    async def _run(self, count: int, at: dict[int, Callable[[], None]]) -> None:
        async with connect_async(self.target) as db:
            for number in range(count):
                at.get(number, _nothing)()
                began = time.monotonic()
                await db.put(Count(name=f"c{number}", n=number))
                self._note(began)

    def _note(self, began: float) -> None:
        self.acknowledged += 1
        self.longest_seconds = max(self.longest_seconds, time.monotonic() - began)

    def check(self) -> None:
        with connect(self.target) as db:
            found = [db.get(Count.by_name(f"c{number}")) for number in range(self.acknowledged)]
        assert [count.n for count in found if count is not None] == list(range(self.acknowledged))


def _nothing() -> None:
    """Nothing happens before most writes."""


@pytest.fixture
def target(tmp_path: Path) -> str:
    return f"local:{tmp_path}/data/app.db"


@pytest.fixture
def path(target: str) -> Path:
    return Path(target.removeprefix("local:"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_engine_outlives_the_process_that_started_it(target: str, kind: str, how: signal.Signals) -> None:
    owner = child_python(OWNER, target)
    assert line_of(owner).endswith("True")
    writes = Writes(target)
    writes.run(kind, 200, {100: lambda: owner.send_signal(how)})
    assert writes.acknowledged == 200
    assert writes.longest_seconds < TAKEOVER_SECONDS
    assert owner.wait(LONG_SECONDS) == -how
    writes.check()


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_command_disturbs_no_other_process(target: str, kind: str) -> None:
    def run_a_command() -> None:
        command = child_python(OWNER, target)
        assert line_of(command).endswith("False")
        command.communicate()
        assert command.returncode == 0

    writes = Writes(target)
    writes.run(kind, 60, {20: run_a_command, 40: run_a_command})
    assert writes.longest_seconds < TAKEOVER_SECONDS
    writes.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("victim", ["engine", "supervisor", "both"])
def test_whatever_is_killed_the_next_write_brings_it_back(target: str, path: Path, kind: str, victim: str) -> None:
    def kill() -> None:
        address = published_address(path)
        assert address is not None
        with Engine.start(path) as engine:
            pid = engine.pid
        if victim == "both":
            os.killpg(address.pid, signal.SIGKILL)
        else:
            os.kill(pid if victim == "engine" else address.pid, signal.SIGKILL)

    writes = Writes(target)
    writes.run(kind, 90, {20: kill, 40: kill, 60: kill})
    assert writes.acknowledged == 90
    assert writes.longest_seconds < TAKEOVER_SECONDS
    writes.check()
    assert not is_locked(path)


def test_of_many_who_lose_the_engine_one_starts_it_and_all_go_on(target: str, path: Path) -> None:
    code = """
import sys
from singletable import connect
from tests.engine.local.test_takeover import Count
db = connect(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    db.put(Count(name=sys.argv[2] + line.strip(), n=1))
    print(db.target.engine.pid, flush=True)
"""
    children = [child_python(code, target, f"p{number}-") for number in range(4)]
    assert {line_of(child) for child in children} == {"ready"}
    pids: list[set[str]] = []
    for number in range(3):
        for child in children:
            assert child.stdin is not None
            child.stdin.write(f"{number}\n")
            child.stdin.flush()
        pids.append({line_of(child) for child in children})
        address = published_address(path)
        assert address is not None
        os.killpg(address.pid, signal.SIGKILL)
    assert [len(each) for each in pids] == [1, 1, 1]
    assert len(set.union(*pids)) == 3
    for child in children:
        end(child)
    with connect(target) as db:
        for process in range(4):
            for number in range(3):
                assert db.get(Count.by_name(f"p{process}-{number}")) is not None


def test_an_engine_that_was_stopped_comes_back_for_who_goes_on(target: str, path: Path) -> None:
    with connect(target) as db:
        db.put(Count(name="a", n=1))
        assert control.stop(path)
        assert db.get(Count.by_name("a")) == Count(name="a", n=1)
    assert not is_locked(path)


def test_nothing_comes_back_for_who_has_closed(target: str, path: Path) -> None:
    engine = Engine.start(path)
    engine.stop()
    assert not is_healthy(engine)
    with pytest.raises(OSError, match="the engine has ended"):
        engine.restart(1.0)
    assert not is_locked(path)


def test_a_forked_child_goes_on_when_its_parent_is_killed(target: str) -> None:
    parent = child_python(
        """
import os, sys
from singletable import connect
from tests.engine.local.test_takeover import Count
db = connect(sys.argv[1])
db.put(Count(name="parents", n=1))
child = os.fork()
if child == 0:
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    print(db.get(Count.by_name("parents")).n, flush=True)
    os._exit(0)
os.waitpid(child, 0)
""",
        target,
    )
    child = int(line_of(parent))
    parent.kill()
    parent.wait(LONG_SECONDS)
    assert parent.stdin is not None
    parent.stdin.write("go on\n")
    parent.stdin.flush()
    assert line_of(parent) == "1"
    assert ends(child)


# --- what a hostile request can do ------------------------------------------------------------------------------------
DEEP = 100_000
HOSTILE = {
    "deep lists": b'{"TableName": "counts", "Item": {"pk": ' + b'{"L": [' * DEEP + b"]}" * DEEP + b"}}",
    "deep JSON": b'{"TableName": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep condition": b'{"TableName": "counts", "ConditionExpression": "' + b"(" * DEEP + b")" * DEEP + b'"}',
    "endless": b'{"TableName": "' + b"a" * (17 << 20) + b'"}',
    "not JSON": b"\0\xff" * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_disturbs_no_other_process(name: str) -> None:
    """Whether the engine refuses it or ends of it."""
    with connect("local") as db:
        db.put(Count(name="a", n=1))
        with contextlib.suppress(OSError, http.client.HTTPException):
            assert ask(engine_of(db), "PutItem", HOSTILE[name])[0] >= 400
        db.put(Count(name="b", n=2))
        assert db.get(Count.by_name("a")) == Count(name="a", n=1)


@pytest.mark.parametrize("of", ["file", "private"])
def test_the_data_survive_an_engine_that_aborts(target: str, of: str) -> None:
    with connect(target if of == "file" else "local") as db:
        db.put(Count(name="a", n=1))
        pid = engine_of(db).pid
        os.kill(pid, signal.SIGABRT)
        assert ends(pid)
        assert db.get(Count.by_name("a")) == Count(name="a", n=1)


def test_a_private_engine_whose_supervisor_was_killed_is_gone_and_says_so() -> None:
    with connect("local", retry=RetryPolicy(attempts=2)) as db:
        db.put(Count(name="a", n=1))
        os.killpg(os.getsid(engine_of(db).pid), signal.SIGKILL)
        with pytest.raises(Unavailable, match="the engine has ended"):
            db.get(Count.by_name("a"))


@pytest.mark.parametrize("kind", shells.KINDS)
async def test_a_transaction_whose_answer_died_with_the_engine_is_not_sent_to_the_next_one(
    target: str, kind: str
) -> None:
    """Its token is forgotten there: it would count twice."""
    async with shells.opened(kind, target) as shell:
        await shell.create(Count(name="a"))
        port: Any = shell.port
        name = "_alone" if hasattr(port, "_alone") else "_exchange"
        inner = getattr(port, name).exchange
        with Engine.start(target.removeprefix("local:")) as engine:

            async def lose_the_first(message: bytes, *rest: Any) -> Any:
                answer = await inner(message, *rest)
                if b"TransactWriteItems" not in message or not runs(engine.pid):
                    return answer
                lost = AnswerLost("the connection was closed")
                lost.epoch = epoch_of(engine)
                os.kill(engine.pid, signal.SIGKILL)
                wait_until(lambda: epoch_of(engine) != lost.epoch, LONG_SECONDS)
                raise lost

            getattr(port, name).exchange = lose_the_first
            with pytest.raises(OutcomeUnknown, match="forgotten its token"):
                await shell.update(Count.by_name("a"), attr(Count.n).add(1), exactly_once=True)
        assert await shell.get(Count.by_name("a")) == Count(name="a", n=1)


def engine_of(db: Database) -> Engine:
    engine = db.target.engine
    assert isinstance(engine, Engine)
    return engine
