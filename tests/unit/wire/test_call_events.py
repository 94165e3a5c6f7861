"""The events of requests, over both transports: one a try and one a call, whoever listens."""

from __future__ import annotations

import asyncio  # noqa: TID251
import logging
import socket
from typing import Any

import pytest

from singletable import Meter, errors
from singletable.events import CredentialsFetched, Event, FirstAnswered, Listeners, RequestEnded, RequestTried
from singletable.flow import OperationFacts, Response
from singletable.wire import Credentials, FetchedCredentials, RetryPolicy
from tests.fakes.scripted_server import Action, ScriptedServer, answers, cut, fails, hang
from tests.unit.wire.conftest import SOME_CREDENTIALS, Ask, Client, FakeClock

THROTTLED = fails("ProvisionedThroughputExceededException")


class Heard(list[Any]):
    """Events, as a listener hears them."""

    @property
    def tries(self) -> list[RequestTried]:
        return [event for event in self if isinstance(event, RequestTried)]

    @property
    def firsts(self) -> list[FirstAnswered]:
        return [event for event in self if isinstance(event, FirstAnswered)]

    @property
    def ends(self) -> list[RequestEnded]:
        return [event for event in self if isinstance(event, RequestEnded)]


class Asked(Ask):
    def facts(self, value: Response | None) -> OperationFacts:
        return OperationFacts(("Order.of_customer",), 0 if value is None else 3, "gsi1")


def heard_by(client: Client, **options: Any) -> tuple[Any, Heard]:
    heard = Heard()
    return client.port(events=Listeners([heard.append]), **options), heard


async def test_a_call_that_succeeds_at_once(client: Client, server: ScriptedServer) -> None:
    port, heard = heard_by(client)
    server.plan(answers(b'{"Item":{}}'))
    await client.run(port.send(Asked()))
    (tried,), (ended,), (first,) = heard.tries, heard.ends, heard.firsts
    assert heard == [tried, first, ended]
    assert (tried.operation, tried.table, tried.called, tried.region) == ("GetItem", "t", "t", "us-east-1")
    assert (tried.endpoint, tried.request_id, tried.outcome) == (server.url, "REQUEST-ID", "ok")
    assert (tried.attempt, tried.waited, tried.retry_in, tried.bytes_out, tried.bytes_in) == (1, 0.0, None, 17, 11)
    assert (ended.operation, ended.table, ended.endpoint, ended.region) == ("GetItem", "t", server.url, "us-east-1")
    assert (ended.patterns, ended.items, ended.index) == (("Order.of_customer",), 3, "gsi1")
    assert (ended.read_units, ended.write_units, ended.attempts, ended.outcome) == (0.5, 1.0, 1, "ok")
    assert (ended.bytes_out, ended.bytes_in, ended.request_id) == (17, 11, "REQUEST-ID")


async def test_each_try_is_told_with_its_wait(client: Client, server: ScriptedServer, clock: FakeClock) -> None:
    port, heard = heard_by(client)
    server.plan(THROTTLED, cut, answers())
    await client.run(port.send(Ask()))
    assert [tried.outcome for tried in heard.tries] == ["throttled", "lost", "ok"]
    assert [tried.attempt for tried in heard.tries] == [1, 2, 3]
    assert [tried.retry_in for tried in heard.tries] == [*clock.slept, None]
    assert [tried.waited for tried in heard.tries] == [0.0, *clock.slept]
    (ended,) = heard.ends
    assert (ended.attempts, ended.waited, ended.outcome) == (3, sum(clock.slept), "ok")
    assert ended.bytes_out == 3 * 17
    assert ended.milliseconds == pytest.approx(1000 * sum(clock.slept), abs=0.01), "the clock moves by waits alone"
    assert "ProvisionedThroughputExceededException" in heard.tries[0].why


async def test_a_call_that_gives_up(client: Client, server: ScriptedServer) -> None:
    port, heard = heard_by(client, policy=RetryPolicy(attempts=2))
    server.always(THROTTLED)
    with pytest.raises(errors.Throttled):
        await client.run(port.send(Asked()))
    assert [tried.retry_in is None for tried in heard.tries] == [False, True]
    (ended,) = heard.ends
    assert (ended.outcome, ended.attempts, ended.items) == ("unavailable.throttled", 2, 0)
    assert "2 tries" in ended.why


async def test_an_error_of_the_service_is_an_answer(client: Client, server: ScriptedServer) -> None:
    class Refused(Ask):
        def answer(self, response: Response) -> Any:
            raise errors.NotFound("there is no such item")

    port, heard = heard_by(client)
    server.plan(fails("ConditionalCheckFailedException"))
    with pytest.raises(errors.NotFound):
        await client.run(port.send(Refused()))
    assert [tried.outcome for tried in heard.tries] == ["error"]
    assert [ended.outcome for ended in heard.ends] == ["conflict.not-found"]


async def test_an_error_of_a_classs_own_code_ends_the_call(client: Client) -> None:
    class Broken(Ask):
        def answer(self, response: Response) -> Any:
            raise KeyError("a class's own")

    port, heard = heard_by(client)
    with pytest.raises(KeyError):
        await client.run(port.send(Broken()))
    assert [ended.outcome for ended in heard.ends] == ["failed"]


async def test_what_sends_nothing_tells_nothing(client: Client) -> None:
    class Unsent(Ask):
        def request(self, names: Any = None) -> Any:
            raise errors.TooLarge("over 400 KB")

    port, heard = heard_by(client)
    with pytest.raises(errors.TooLarge):
        await client.run(port.send(Unsent()))
    assert heard == []


@pytest.mark.parametrize("tries", [1, 2])
async def test_a_cancelled_call_ends(server: ScriptedServer, clock: FakeClock, tries: int) -> None:
    client = Client("awaiting", server, clock)
    port, heard = heard_by(client)
    server.plan(*[fails("ThrottlingException")] * (tries - 1), hang)
    with Meter() as meter:
        sending = asyncio.ensure_future(port.send(Ask()))
        while len(server.received) < tries:
            await asyncio.sleep(0.001)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
    assert [tried.outcome for tried in heard.tries] == ["throttled", "cancelled"][-tries:]
    assert [(ended.outcome, ended.attempts) for ended in heard.ends] == [("cancelled", tries)]
    assert heard.tries[-1].retry_in is None
    assert (meter.requests, heard.ends[0].bytes_out) == (tries, tries * 17), "the tries that a meter counts"
    await client.close()


async def test_calls_that_are_sent_together_are_told_apart(client: Client, server: ScriptedServer) -> None:
    port, heard = heard_by(client)
    server.plan(THROTTLED)
    await client.run(port.send_all([Ask(body=b'{"n":%d}' % number) for number in range(101)]))
    assert (len(heard.tries), len(heard.ends)) == (102, 101)
    assert sum(ended.attempts for ended in heard.ends) == 102
    assert max(ended.attempts for ended in heard.ends) == 2


async def test_a_listener_that_raises_changes_nothing(client: Client, server: ScriptedServer) -> None:
    def fails_always(event: Event) -> None:
        raise RuntimeError("broken")

    port = client.port(events=Listeners([fails_always]))
    server.plan(THROTTLED, answers(b'{"a":1}'))
    response = await client.run(port.send(Ask()))
    assert (response.body, len(server.received)) == (b'{"a":1}', 2)


# --- the log ----------------------------------------------------------------------------------------------------------
def shown(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in caplog.records]


async def test_a_retry_is_at_info_and_the_end_of_all_at_warning(
    client: Client, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "singletable.requests")
    server.always(THROTTLED)
    port = client.port(policy=RetryPolicy(attempts=3))
    with pytest.raises(errors.Throttled):
        await client.run(port.send(Asked()))
    (info, retry), (warning, end) = shown(caplog)
    assert (info, warning) == ("INFO", "WARNING"), "the second retry has the cause of the first"
    assert retry.startswith("GetItem of t: try 1, throttled, 0.0 ms: The service answered Provisioned")
    place = f"GetItem of t (Order.of_customer) in us-east-1 at {server.url}"
    assert end.startswith(f"{place} gave up: The service answered")


async def test_a_level_that_is_set_later_counts_from_the_next_request_on(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    port = client.port()
    for name in ("", "singletable", "singletable.requests"):
        caplog.clear()
        await client.run(port.send(Ask()))
        assert shown(caplog) == []
        caplog.set_level(logging.DEBUG, name)
        await client.run(port.send(Ask()))
        assert [level for level, _ in shown(caplog)] == ["DEBUG", "DEBUG"]
        caplog.set_level(logging.WARNING, name)
    caplog.set_level(logging.DEBUG, "singletable.requests")
    logging.disable(logging.DEBUG)
    try:
        caplog.clear()
        await client.run(port.send(Ask()))
        assert shown(caplog) == []
    finally:
        logging.disable(logging.NOTSET)


async def test_a_logger_with_a_level_of_its_own_decides(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "")
    caplog.set_level(logging.INFO, "singletable.requests")
    await client.run(client.port().send(Ask()))
    assert shown(caplog) == []


# --- what is slow -----------------------------------------------------------------------------------------------------
def takes(clock: FakeClock, seconds: float) -> Action:
    """An answer after some seconds of the test's clock."""

    def act(server: ScriptedServer, connection: socket.socket) -> bool:
        clock.time += seconds
        return answers()(server, connection)

    return act


@pytest.mark.parametrize(
    ("seconds", "operation", "lines"), [(0.999, "Query", 0), (1.0, "Query", 1), (20.0, "ReceiveMessage", 0)]
)
async def test_an_answer_that_takes_over_a_second_is_told_at_info(
    client: Client,
    server: ScriptedServer,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
    seconds: float,
    operation: str,
    lines: int,
) -> None:
    caplog.set_level(logging.INFO, "singletable.requests")
    port = client.port()
    server.plan(answers(), takes(clock, seconds))
    for _ in range(2):
        await client.run(port.send(Ask(operation)))
    assert (
        shown(caplog)
        == [("INFO", "Query of t: try 1, ok, 1000.0 ms (slow: from signing the request to the whole answer)")] * lines
    )


@pytest.mark.parametrize("level", [logging.DEBUG, logging.WARNING])
async def test_an_answer_that_takes_long_is_told_once(
    client: Client, server: ScriptedServer, clock: FakeClock, caplog: pytest.LogCaptureFixture, level: int
) -> None:
    caplog.set_level(level, "singletable.requests")
    port = client.port()
    server.plan(answers(), takes(clock, 2.0))
    for _ in range(2):
        await client.run(port.send(Ask()))
    assert sum("(slow: " in line for _, line in shown(caplog)) == (level == logging.DEBUG)


@pytest.mark.parametrize(("seconds", "level"), [(0.125, logging.DEBUG), (0.25, logging.INFO)])
async def test_the_first_answer_is_told_once(
    client: Client, server: ScriptedServer, clock: FakeClock, seconds: float, level: int
) -> None:
    def fetch() -> Credentials:
        clock.time += seconds / 4
        return SOME_CREDENTIALS

    port, heard = heard_by(client, credentials=FetchedCredentials(fetch))
    clock.time += 5.0
    server.plan(takes(clock, seconds * 3 / 4))
    for _ in range(2):
        await client.run(port.send(Ask()))
    (first,) = heard.firsts
    assert (first.operation, first.endpoint, first.level) == ("GetItem", server.url, level)
    assert first.milliseconds == pytest.approx(1000 * seconds, abs=0.01)
    assert first.credentials_milliseconds == pytest.approx(250 * seconds, abs=0.01)
    assert first.since_connect == pytest.approx(5.0 + seconds, abs=0.01)


async def test_a_first_request_that_is_retried_is_no_cold_start(client: Client, server: ScriptedServer) -> None:
    port, heard = heard_by(client)
    server.plan(THROTTLED, answers(), answers())
    await client.run(port.send(Ask()))
    await client.run(port.send(Ask()))
    assert (heard.firsts, len(heard.ends)) == ([], 2)


class Expiring(FetchedCredentials):
    """Which the service calls expired once."""


@pytest.mark.parametrize("seconds", [0.2, 1.5])
async def test_a_wait_for_credentials_is_told(
    client: Client, server: ScriptedServer, clock: FakeClock, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "singletable")
    given = iter(range(10))

    def fetch() -> Credentials:
        clock.time += seconds
        return Credentials(f"id-{next(given)}", "the-secret")

    port, heard = heard_by(client, credentials=Expiring(fetch))
    server.plan(answers(), fails("ExpiredTokenException"), answers(), answers())
    for _ in range(3):
        await client.run(port.send(Ask()))
    fetches = [event for event in heard if isinstance(event, CredentialsFetched)]
    assert [(event.source, event.is_renewal) for event in fetches] == [("Expiring", False), ("Expiring", True)]
    assert {round(event.milliseconds) for event in fetches} == {1000 * seconds}
    assert [event.level for event in fetches] == [logging.INFO if seconds > 1 else logging.DEBUG, logging.INFO]
    assert ", as the service called those before expired" in caplog.text
    assert not [event for event in heard if "id-" in repr(event) or "the-secret" in repr(event)]
