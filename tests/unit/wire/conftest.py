"""One suite for both transports: `client` sends through either port, with a clock that only sleep moves."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
import trustme

from singletable.flow import DECLARED, Consumed, Request, Response, TableNames, drive
from singletable.wire import BlockingPort, Credentials, PortOptions, StaticCredentials, Timeouts, endpoint_for
from singletable.wire.asyncio_port import AwaitingPort
from singletable.wire.tls import Tls
from tests.fakes.scripted_server import ScriptedServer

T = TypeVar("T")
SOME_CREDENTIALS = Credentials("AKIDEXAMPLE", "secret")


@dataclass(frozen=True)
class Ask:
    """An operation that hands its response back as it is."""

    operation: str = "GetItem"
    body: bytes = b'{"TableName":"t"}'
    repeatable: bool = True
    tokened: bool = False

    def request(self, names: TableNames = DECLARED) -> Request:
        return Request(self.operation, self.body, "t", self.repeatable, self.tokened)

    def answer(self, response: Response) -> tuple[Response, Consumed]:
        return response, Consumed(0.5, 1.0)


@dataclass
class FakeClock:
    time: float = 1_790_000_000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    async def sleep_awaited(self, seconds: float) -> None:
        self.sleep(seconds)


class Client:
    """A port of either kind."""

    def __init__(self, kind: str, server: ScriptedServer, clock: FakeClock) -> None:
        self.kind = kind
        self.server = server
        self.clock = clock
        self.ports: list[Any] = []

    def port(self, url: str | None = None, **options: Any) -> Any:
        defaults: dict[str, Any] = {
            "now": self.clock.now,
            "monotonic": self.clock.monotonic,
            "random": lambda: 0.5,
            "timeouts": Timeouts(connect=5.0, read=5.0),
        }
        endpoint = options.pop("endpoint", None) or endpoint_for(url or self.server.url, environ={})
        credentials = options.pop("credentials", StaticCredentials(SOME_CREDENTIALS))
        usual = self.clock.sleep if self.kind == "blocking" else self.clock.sleep_awaited
        sleep = options.pop("sleep", usual)
        given = PortOptions(**defaults | options)
        if self.kind == "blocking":
            port: Any = BlockingPort(endpoint, credentials, given, sleep=sleep)
        else:
            port = AwaitingPort(endpoint, credentials, given, sleep=sleep)
        self.ports.append(port)
        return port

    async def run(self, flow: Coroutine[Any, Any, T]) -> T:
        return drive(flow) if self.kind == "blocking" else await flow

    async def close(self) -> None:
        for port in self.ports:
            if self.kind == "blocking":
                port.close()
            else:
                await port.close()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tls, ssl.SSLContext]:
    authority, path = trustme.CA(), tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.num_tickets = 0
    certificate: Any = authority.issue_cert("127.0.0.1")
    certificate.configure_cert(served)
    return Tls(str(path)), served


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["blocking", "awaiting"])
async def client(request: pytest.FixtureRequest, server: ScriptedServer, clock: FakeClock) -> AsyncIterator[Client]:
    made = Client(request.param, server, clock)
    yield made
    await made.close()
