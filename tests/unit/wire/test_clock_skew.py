"""A clock that is wrong: the service's is followed, of its answer's Date, and the request goes out once more."""

from __future__ import annotations

import calendar
import logging
import socket
import time
from email.utils import formatdate

import pytest

from singletable import errors
from singletable.flow import DYNAMODB_STREAMS
from singletable.wire import Credentials, FetchedCredentials
from tests.fakes.scripted_server import ScriptedServer, fails, http, raw
from tests.unit.wire.conftest import Ask, Client, FakeClock

ADD = Ask("UpdateItem", repeatable=False)
CODES = ["InvalidSignatureException", "SignatureDoesNotMatch", "RequestTimeTooSkewed", "RequestExpired"]


class StrictClock:
    """Takes what was signed within five minutes of its own time, as the service does."""

    def __init__(self, time: float, code: str = "InvalidSignatureException") -> None:
        self.time, self.code = time, code
        self.date: str | None = formatdate(time, usegmt=True)

    def __call__(self, server: ScriptedServer, connection: socket.socket) -> bool:
        signed = server.last_on(connection).headers["x-amz-date"]
        if abs(calendar.timegm(time.strptime(signed, "%Y%m%dT%H%M%SZ")) - self.time) <= 300:
            connection.sendall(http())
        else:
            extra = f"Date: {self.date}\r\n" if self.date is not None else ""
            connection.sendall(http(b'{"__type":"x#%s"}' % self.code.encode(), status=403, extra=extra))
        return True


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("off", [-86_400.0, -900.0, -301.0, 900.0, 40_000_000.0])
async def test_a_wrong_clock_is_corrected_once(
    client: Client, server: ScriptedServer, clock: FakeClock, off: float, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.always(StrictClock(clock.time - off, code))
    port = client.port()
    for _ in range(3):
        response = await client.run(port.send(ADD))
        assert (response.status, response.unsettled) == (200, False)
    assert len(server.received) == 4
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert (clock.slept, len(warnings)) == ([0.0], 1)
    assert [vars(record)["singletable_ahead_seconds"] for record in warnings] == [off]
    assert ("ahead of" if off > 0 else "behind") in warnings[0].getMessage()


async def test_each_of_many_requests_at_once_is_repeated_once(
    client: Client, server: ScriptedServer, clock: FakeClock
) -> None:
    server.always(StrictClock(clock.time + 900))
    responses = await client.run(client.port().send_all([ADD] * 40))
    assert [response.status for response in responses] == [200] * 40
    assert len(server.received) <= 40 + 16


async def test_the_right_clock_is_not_the_reason(client: Client, server: ScriptedServer, clock: FakeClock) -> None:
    for off in (0.0, 200.0, -200.0):
        date = f"Date: {formatdate(clock.time + off, usegmt=True)}\r\n"
        server.plan(raw(http(b'{"__type":"InvalidSignatureException"}', status=400, extra=date)))
        with pytest.raises(errors.Denied):
            await client.run(client.port().send(ADD))
    assert len(server.received) == 3


@pytest.mark.parametrize("date", [None, "", "yesterday", "Mon, 99 Foo 2026 00:00:00 GMT", "\xff"])
async def test_without_a_date_it_is_denied(
    client: Client, server: ScriptedServer, clock: FakeClock, date: str | None
) -> None:
    strict = StrictClock(clock.time + 900)
    strict.date = date
    server.always(strict)
    with pytest.raises(errors.Denied, match="clock"):
        await client.run(client.port().send(ADD))
    assert len(server.received) == 1


async def test_a_service_that_refuses_every_clock_ends_it(
    client: Client, server: ScriptedServer, clock: FakeClock
) -> None:
    for hours in (1, 2, 3):
        date = f"Date: {formatdate(clock.time + hours * 3600, usegmt=True)}\r\n"
        server.plan(raw(http(b'{"__type":"RequestExpired"}', status=400, extra=date)))
    with pytest.raises(errors.Denied, match="clock"):
        await client.run(client.port().send(ADD))
    assert len(server.received) == 2


async def test_credentials_expire_by_the_corrected_clock(
    client: Client, server: ScriptedServer, clock: FakeClock
) -> None:
    """They last an hour, and were fetched by a clock that is two hours slow: they have expired, and are fetched."""
    service = clock.time + 7200
    keys = iter([Credentials("OLD", "s", None, clock.time + 3600), Credentials("NEW", "s", None, service + 3600)])
    server.always(StrictClock(service))
    await client.run(client.port(credentials=FetchedCredentials(lambda: next(keys))).send(ADD))
    assert [request.headers["authorization"].split("=")[1][:3] for request in server.received] == ["OLD", "NEW"]


async def test_each_endpoint_has_its_own_clock(client: Client, server: ScriptedServer, clock: FakeClock) -> None:
    port = client.port()
    server.always(StrictClock(clock.time + 900))
    await client.run(port.send(ADD))
    server.always(StrictClock(clock.time))
    await client.run(port.to(DYNAMODB_STREAMS).send(ADD))
    assert len(server.received) == 3


async def test_other_refusals_do_not_move_the_clock(client: Client, server: ScriptedServer) -> None:
    server.plan(fails("AccessDeniedException"))
    with pytest.raises(errors.Denied):
        await client.run(client.port().send(ADD))
    assert len(server.received) == 1
