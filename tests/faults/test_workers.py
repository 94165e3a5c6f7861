"""Every worker against every error of the library, at one request after the other: which it outlives, which end it.

`errors.PASSING` is the one rule. What an application's own function raises ends no worker, whatever it is.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, connect, connect_async
from singletable.documents import Documents, LocalBlobs
from singletable.errors import PASSING, Conflict, SingletableError
from singletable.flow import SQS
from singletable.queues import Outgoing, Queue, consume, send
from singletable.streams import Changes, ChangeWorker
from singletable.sync import Pointer, Worker
from singletable.tasks import TaskWorker
from tests.faults.clock import Clock
from tests.streams.models import Note, noted
from tests.support.emulators import aws_emulator
from tests.support.engines import fresh
from tests.support.queue_operations import CreateQueue
from tests.support.sampling import sampled
from tests.support.shells import Shell, disguised
from tests.support.workers import change_worker, task_worker
from tests.sync.board import Project
from tests.tasks.bench import make_bench, noting, seconds

__all__ = ["aws_emulator"]

NAMES = count()
PATIENCE_SECONDS = 30.0
REQUESTS = {"streams": (1, 3, 8, 11), "tasks": (1, 3, 6), "queued_tasks": (1, 4), "queues": (1, 2)}
"""Of each worker, the requests that fail: at its beginning, in its rounds, in its work."""


def every_error() -> list[type[SingletableError]]:
    """The tree of errors.py, from its root."""

    def below(kind: type[SingletableError]) -> Iterator[type[SingletableError]]:
        yield kind
        for each in kind.__subclasses__():
            yield from below(each)

    return [kind for kind in below(SingletableError) if kind.__module__ == "singletable.errors"]


class Failing:
    """Lets one request of a port and of its ports to other services fail. Their waits are short."""

    def __init__(self, port: Any, error: SingletableError, number: int) -> None:
        self.error, self.number = error, number
        self.asked = count(1)
        self.has_failed = False
        self._wrap(port)

    def _wrap(self, port: Any) -> None:
        send_one, send_all, to, sleep = port.send, port.send_all, port.to, port.sleep
        found: dict[Any, Any] = {}

        async def send(operation: Any) -> Any:
            self._fail()
            return await send_one(operation)

        async def send_many(operations: Any) -> Any:
            self._fail()
            return await send_all(operations)

        def to_another(service: Any, url: str = "") -> Any:
            if (service, url) not in found:
                found[service, url] = to(service, url)
                self._wrap(found[service, url])
            return found[service, url]

        async def sleep_shortly(seconds: float) -> None:
            await sleep(min(seconds, 0.01))

        port.send, port.send_all, port.to, port.sleep = send, send_many, to_another, sleep_shortly

    def _fail(self) -> None:
        if next(self.asked) == self.number:
            self.has_failed = True
            raise self.error


class Stage:
    """A worker's work: it is to be done, and the error to have happened; then the worker is to stop."""

    def __init__(self, shell: Shell, work: Callable[[Stage], Awaitable[Any]]) -> None:
        self.shell, self.work = shell, work
        self.done: list[str] = []
        self.failing: Failing | None = None
        self.until = time.monotonic() + PATIENCE_SECONDS

    def stop(self) -> bool:
        has_failed = self.failing is None or self.failing.has_failed
        return (has_failed and bool(self.done)) or time.monotonic() > self.until

    async def run(self, error: SingletableError, number: int) -> SingletableError | None:
        """What the worker ended with."""
        self.failing = Failing(self.shell.port, error, number)
        try:
            await self.work(self)
        except SingletableError as raised:
            return raised
        assert self.failing.has_failed, "the worker did not send so many requests"
        assert self.done, "the worker went on, and did nothing"
        return None


async def streams(shell: Shell, emulator: str) -> Stage:
    changes = Changes(noted, name=f"worker-{next(NAMES)}")
    await shell.put(Note(id="n1"))
    stage = Stage(
        shell,
        lambda stage: change_worker(shell, changes).run(
            stop=stage.stop, signals=False, lease_seconds=0.5, poll_seconds=0.01
        ),
    )
    changes.on(Note).inserted(lambda change: stage.done.append(change.new.id))
    changes.on(Note).modified(lambda change: stage.done.append(change.new.id))
    return stage


async def tasks(shell: Shell, emulator: str) -> Stage:
    bench = make_bench("", shell, Clock(), f"work{next(NAMES)}")
    stage = Stage(
        shell,
        lambda stage: task_worker(shell, bench.tasks).run(
            stop=stage.stop, signals=False, poll_seconds=0.01, lease_seconds=0.5
        ),
    )
    bench.ran = stage.done
    await bench.add(bench.tasks.after(seconds(0), noting(bench)("a")))
    return stage


async def queued_tasks(shell: Shell, emulator: str) -> Stage:
    bench = make_bench("", shell, Clock(), f"work{next(NAMES)}")
    queue = await _queue(shell, emulator, object)
    stage = Stage(
        shell,
        lambda stage: task_worker(shell, bench.tasks).run(
            stop=stage.stop, signals=False, poll_seconds=0.1, lease_seconds=1, queue=queue
        ),
    )
    bench.ran = stage.done
    await bench.add(bench.tasks.after(seconds(0), noting(bench)("a")))
    return stage


async def queues(shell: Shell, emulator: str) -> Stage:
    queue = await _queue(shell, emulator, str)
    await shell.run(send(shell.port, queue, [Outgoing("a")]))
    options: dict[str, Any] = {"wait_seconds": 0, "visibility_seconds": 1, "at_once": 1}
    return Stage(
        shell,
        lambda stage: shell.run(
            consume(shell.port, queue, lambda message: stage.done.append(message.body), stop=stage.stop, **options)
        ),
    )


async def _queue(shell: Shell, emulator: str, type: Any) -> Queue[Any]:
    call = CreateQueue(f"q-{secrets.token_hex(6)}", {})
    return Queue(await shell.run(shell.port.to(SQS, emulator).send(call)), type)


WORKERS = {make.__name__: make for make in (streams, tasks, queued_tasks, queues)}


@pytest.fixture(params=["blocking", "awaiting"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def opened(kind: str) -> AsyncIterator[Callable[[], Shell]]:
    """Shells over one engine; each call gives one whose port is its own."""
    with fresh() as engine:
        made: list[Any] = []

        def make() -> Shell:
            target = engine.target.endpoint.url
            shell: Any = connect_async(target) if kind == "awaiting" else disguised(connect(target))
            shell.port.traits = engine.port.traits
            made.append(shell)
            return shell  # type: ignore[no-any-return]

        yield make
        for shell in made:
            await shell.close()


@pytest.mark.parametrize(("worker", "number"), sampled([(w, n) for w, numbers in REQUESTS.items() for n in numbers], 2))
async def test_what_passes_is_outlived_and_the_rest_ends_it(
    opened: Callable[[], Shell], aws_emulator: str, worker: str, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    # A conflict is the answer to a condition, and made up it would be a lie about what is stored.
    for kind in [kind for kind in every_error() if kind in PASSING or not issubclass(kind, Conflict)]:
        stage = await WORKERS[worker](opened(), aws_emulator)
        ended = await stage.run(kind("told to fail"), number)
        if issubclass(kind, PASSING):
            assert ended is None, f"{kind.__name__} ended the worker"
        elif worker in ("queues", "queued_tasks") and ended is None:
            # The error came within the handling of a message, which comes back.
            assert stage.done
        else:
            assert type(ended) is kind, f"{kind.__name__} was passed over"


@pytest.mark.parametrize("kind_of_error", every_error())
def test_a_sync_worker_is_a_consumer_of_its_queue(
    aws_emulator: str, tmp_path: Path, kind_of_error: type[SingletableError]
) -> None:
    with fresh() as db:
        url = db.run(db.port.to(SQS, aws_emulator).send(CreateQueue(f"q-{secrets.token_hex(6)}", {})))
        queue = Queue(url, Pointer)
        db.run(send(db.port, queue, [Outgoing(Pointer("nobody"))]))
        worker = Worker(Documents(db, Project, blobs=LocalBlobs(tmp_path)), authorise=lambda *_: True)
        failing = Failing(db.port, kind_of_error("told to fail"), 1)
        until = time.monotonic() + PATIENCE_SECONDS

        def stop() -> bool:
            return time.monotonic() > until or (failing.has_failed and next(failing.asked) > 8)

        if issubclass(kind_of_error, PASSING):
            worker.run(queue, stop=stop, wait_seconds=0)
            assert failing.has_failed
        else:
            with pytest.raises(kind_of_error, match="told to fail"):
                worker.run(queue, stop=stop, wait_seconds=0)


@pytest.mark.parametrize("worker", ["streams", "tasks"])
def test_what_a_function_raises_ends_no_worker(engine_of_functions: Database, worker: str) -> None:
    """Each error of the library too: a handler's `Denied` is the handler's."""
    raised = {kind.__name__: kind("the function's own") for kind in every_error()}
    begun: list[str] = []

    def fail(name: str) -> None:
        begun.append(name)
        if name in raised:
            raise raised[name]

    db = engine_of_functions
    if worker == "streams":
        changes = Changes(noted, name="functions")
        changes.on(Note).inserted(lambda change: fail(change.new.id))
        for name in [*raised, "last"]:
            db.create(Note(id=name))
        ChangeWorker(db, changes).drain(tries=1)
        assert {change.error.partition(":")[0] for change in ChangeWorker(db, changes).dead_letters()} == set(raised)
    else:
        bench = make_bench("", disguised(db), Clock())

        @bench.tasks.task(tries=1)
        def call(name: str) -> None:
            fail(name)

        with db.transaction() as tx:
            for name in [*raised, "last"]:
                tx.add(bench.tasks.after(seconds(0), call(name)))
        counts: Any = TaskWorker(db, bench.tasks).drain()
        assert (counts.done, counts.dead) == (1, len(raised))
    assert sorted(begun) == sorted([*raised, "last"])


@pytest.fixture
def engine_of_functions() -> Iterator[Database]:
    with fresh() as db:
        yield db
