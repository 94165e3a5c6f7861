"""A program whose output is looked at: real parts over the local engine, with time and chance of the test's own.

    with running(url) as program:
        program.run(situation(program))
    program.lines      # what it printed, from INFO up

It believes to be on AWS: `_Service` answers for the service there, with its Date, its check of signatures and the
faults of `tests/faults`, and leaves the rest to the local engine. Waits take no time (`tests/support/virtual_time.py`),
a request takes `LATENCY_SECONDS`, and its chance has a seed: so the same program prints the same each time.
"""

from __future__ import annotations

import asyncio  # noqa: TID251
import logging
import random
import re
import traceback
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import formatdate
from typing import Any, TypeVar

from msgspec.structs import replace

from singletable import AsyncDatabase, Database
from singletable.connection import find_target
from singletable.events import Event, Listeners
from singletable.target import Options
from singletable.wire import Credentials, CredentialSource, PortOptions, StaticCredentials
from singletable.wire.asyncio_port import AwaitingPort
from singletable.wire.exchange import Exchange, HttpResponse
from tests.faults.carrying import Carrier
from tests.faults.clock import NOON
from tests.faults.messages import Reply
from tests.faults.port import FaultyExchange
from tests.faults.rules import Faults
from tests.support.ports import wrap_exchanges
from tests.support.virtual_time import VirtualLoop

T = TypeVar("T")

LATENCY_SECONDS = 0.004
REGION = "eu-central-1"
CREDENTIALS = StaticCredentials(Credentials("AKIAIOSFODNN7EXAMPLE", "a-secret-of-an-example"))
_SIGNED_AT = re.compile(rb"^x-amz-date: *(\d{8}T\d{6}Z)", re.IGNORECASE | re.MULTILINE)
_SIGNATURE_SECONDS = 300.0


@dataclass
class Program:
    """The processes of one program, and what they print."""

    engine: Database
    loop: VirtualLoop
    faults: Faults = field(default_factory=Faults)
    lines: list[str] = field(default_factory=list[str])
    records: list[logging.LogRecord] = field(default_factory=list[logging.LogRecord])
    latency: float = LATENCY_SECONDS
    is_over: bool = False
    """What is printed from now on is not shown: the program is looked at while it runs."""
    _ports: list[AwaitingPort] = field(default_factory=list[AwaitingPort])
    _running: list[asyncio.Future[None]] = field(default_factory=list[Any])
    _services: dict[int, _Service] = field(default_factory=dict[int, Any])

    def __post_init__(self) -> None:
        self._traits = replace(self.engine.port.traits, creates_tables=False)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run what a program does, to its end. An error that leaves it is printed, as the interpreter prints it."""
        self.loop.run_until_complete(self._to_its_end(work))

    async def _to_its_end(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self.print_error(error)
        finally:
            self.is_over = True
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            for port in self._ports:
                await port.close()

    async def work_for(self, seconds: float, *workers: Coroutine[Any, Any, None]) -> None:
        """Let workers run for some seconds, and on until the program ends."""
        self._running += [asyncio.ensure_future(worker) for worker in workers]
        await asyncio.sleep(seconds)
        for worker in self._running:
            if worker.done():
                worker.result()

    def print_error(self, error: Exception) -> None:
        self.lines += "".join(traceback.format_exception_only(error)).splitlines()

    def now(self) -> float:
        """The service's time."""
        return NOON + self.loop.time()

    def open(
        self,
        target: str = "aws",
        *,
        region: str = REGION,
        wall_is_ahead: float = 0.0,
        credentials: CredentialSource = CREDENTIALS,
        listeners: tuple[Callable[[Event], object], ...] = (),
    ) -> AsyncDatabase:
        """A process's own database. `wall_is_ahead`: the seconds that its machine's clock is wrong."""
        place = find_target(target, Options(region=region, credentials=credentials), {})
        options = PortOptions(
            traits=self._traits,
            wall=lambda: self.now() + wall_is_ahead,
            monotonic=self.loop.time,
            random=random.Random(len(self._ports)).random,
            locate=place.locate,
            events=_Listeners(listeners, len(self._ports) // 2 + 1),
        )
        port = AwaitingPort(place.endpoint, place.credentials, options)
        behind = port
        if target == "aws":
            behind = AwaitingPort(self.engine.target.endpoint, place.credentials, replace(options, locate=None))
        self._ports += [port, behind]
        self._services[id(port)] = _Service(self, behind._exchange, region)
        self._lead(port, self._services[id(port)])
        return AsyncDatabase(port, replace(place, traits=self._traits))

    def kill(self, db: AsyncDatabase) -> None:
        """End the process of a database: it waits for ever where it is, and nothing of it is seen any more."""
        self._services[id(db.port)].is_dead = True

    def _lead(self, port: Any, service: _Service) -> None:
        """Lead what a port sends, and what it sends to other services, to the engine."""
        open_other = port._open

        def open_led(*place: Any) -> Any:
            other = open_other(*place)
            self._lead(other, service)
            return other

        wrap_exchanges(port, lambda _: service)
        port._open = open_led


class _Listeners(Listeners):
    """Those of a process whose host and id are the same each time."""

    def __init__(self, listeners: tuple[Callable[[Event], object], ...], number: int) -> None:
        super().__init__(listeners, b"situations")
        self._number = number

    @property
    def process(self) -> str:
        return f"host-{self._number}, process {100 + self._number}"


class _Service:
    """The service of a region, as an exchange: an engine in one region, nothing in the others."""

    def __init__(self, program: Program, engine: Exchange, region: str) -> None:
        self._program, self._region = program, region
        self._faulty = FaultyExchange(engine, Carrier(program.faults))
        self._number = 0
        self.is_dead = False

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        await asyncio.sleep(self._program.latency)
        if self.is_dead:
            await asyncio.get_running_loop().create_future()
        with self._program.loop.working():
            answer = await self._answer(message, timeout, max_idle_seconds)
        self._number += 1
        headers = {**answer.headers, b"date": formatdate(self._program.now(), usegmt=True).encode()}
        return replace(answer, request_id=f"REQUEST{self._number:04}", headers=headers)

    async def _answer(self, message: bytes, timeout: float, max_idle_seconds: float) -> HttpResponse:
        signed = _SIGNED_AT.search(message)
        at = datetime.strptime(signed[1].decode(), "%Y%m%dT%H%M%SZ") if signed else datetime.max
        if abs(at.replace(tzinfo=timezone.utc).timestamp() - self._program.now()) > _SIGNATURE_SECONDS:
            return _refusal("InvalidSignatureException", "Signature expired: it is not of these five minutes.")
        if self._region != REGION:
            return _refusal("ResourceNotFoundException", "Requested resource not found")
        return await self._faulty.exchange(message, timeout, max_idle_seconds)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return work()


def _refusal(code: str, text: str) -> HttpResponse:
    answer = Reply.error(code, text)
    return HttpResponse(answer.status, answer.body, answer.checksum, "", len(answer.message))


@contextmanager
def running(engine: Database) -> Generator[Program, None, None]:
    """A program over an engine. Its log is configured as a program does: from INFO up, in one format."""
    program = Program(engine, VirtualLoop())
    logger, root = logging.getLogger("singletable"), logging.getLogger()
    handler, level = _Noting(program), logger.level
    handler.addFilter(lambda record: record.name.startswith(("singletable", "shop")))
    root.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield program
    finally:
        root.removeHandler(handler)
        logger.setLevel(level)
        program.loop.close()


class _Noting(logging.Handler):
    """The lines of a log: time, level, logger, message; of a traceback the first line and the last ones."""

    def __init__(self, program: Program) -> None:
        super().__init__(logging.INFO)
        self._program = program

    def emit(self, record: logging.LogRecord) -> None:
        if self._program.is_over:
            return
        at = datetime.fromtimestamp(self._program.now(), timezone.utc)
        self._program.records.append(record)
        self._program.lines.append(f"{at:%H:%M:%S} {record.levelname} {record.name}: {record.getMessage()}")
        if record.exc_info and record.exc_info[1] is not None:
            last = traceback.format_exception_only(record.exc_info[1])
            self._program.lines += ["Traceback (most recent call last):", "  ...", *"".join(last).splitlines()]
