"""Both ports against a scripted server: what they take for an answer, and what they make of everything else."""

from __future__ import annotations

import itertools
import socket
import threading  # noqa: TID251
import time

import pytest

from singletable import errors
from singletable.flow import Meter
from singletable.wire import FetchedCredentials, RetryPolicy, Timeouts, read_fault
from singletable.wire.credentials import Credentials
from singletable.wire.retry import RetryBudget
from tests.fakes.scripted_server import (
    Action,
    ScriptedServer,
    answers,
    answers_then_closes,
    chunked,
    cut,
    damaged,
    echoes,
    fails,
    first_time,
    hang,
    http,
    raw,
    sends,
    truncated,
)
from tests.unit.wire.conftest import Ask, Client, FakeClock

READ = Ask("GetItem")
PUT = Ask("PutItem")
ADD = Ask("UpdateItem", repeatable=False)
TRANSACTION = Ask("TransactWriteItems", b'{"ClientRequestToken":"abc"}', repeatable=False, tokened=True)
CREATE = Ask("PutItem", b'{"write":"id"}')

SHORT = Timeouts(connect=5.0, read=0.05)
LOSSES = {
    "cut": cut,
    "truncated": truncated(),
    "damaged": damaged(),
    "500": fails("InternalServerError", status=500),
    "503": fails("ServiceUnavailable", status=503),
    "html": raw(http(b"<html>down</html>", status=502)),
    "html 200": raw(http(b"<html>hello</html>", extra="X: y\r\n").replace(b"X-Amz-Crc32", b"X-Other")),
    "not http": raw(b"SSH-2.0-OpenSSH\r\n\r\n", stay=False),
    "half a head": raw(b"HTTP/1.1 200 OK\r\nX-A: b\r\n", stay=False),
}


async def test_an_answer_comes_back_whole(client: Client, server: ScriptedServer) -> None:
    server.plan(answers(b'{"Item":{}}'))
    response = await client.run(client.port().send(READ))
    assert (response.status, response.body, response.unsettled) == (200, b'{"Item":{}}', False)
    assert response.request_id == "REQUEST-ID"
    request = server.received[0]
    assert request.body == READ.body
    assert request.headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
    assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")


@pytest.mark.parametrize(
    ("action", "body"),
    [
        (chunked(b'{"a":', b"1}"), b'{"a":1}'),
        (raw(b"HTTP/1.1 100 Continue\r\n\r\n" + http(b'{"b":2}')), b'{"b":2}'),
        (raw(b'HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n{"c":3}', stay=False), b'{"c":3}'),
        (answers(b'{"d":"' + b"x" * 1_000_000 + b'"}'), b'{"d":"' + b"x" * 1_000_000 + b'"}'),
    ],
    ids=["chunked", "100-continue", "until-close", "a-megabyte"],
)
async def test_every_way_of_framing(client: Client, server: ScriptedServer, action: object, body: bytes) -> None:
    server.plan(action)  # type: ignore[arg-type]
    assert (await client.run(client.port().send(ADD))).body == body


async def test_a_connection_is_used_again(client: Client, server: ScriptedServer) -> None:
    port = client.port()
    for _ in range(5):
        await client.run(port.send(READ))
    assert [request.connection for request in server.received] == [1] * 5


async def test_connection_close_is_honoured(client: Client, server: ScriptedServer) -> None:
    server.plan(raw(http(extra="Connection: close\r\n"), stay=False))
    port = client.port()
    await client.run(port.send(ADD))
    await client.run(port.send(ADD))
    assert [request.connection for request in server.received] == [1, 2]


async def test_a_connection_that_sent_too_much_is_not_trusted_again(client: Client, server: ScriptedServer) -> None:
    server.plan(raw(http(b'{"a":1}') + http(b'{"b":2}')))
    port = client.port()
    assert (await client.run(port.send(READ))).body == b'{"a":1}'
    assert (await client.run(port.send(READ))).body == b"{}"
    assert [request.connection for request in server.received] == [1, 2]


async def test_what_comes_unasked_is_never_the_next_answer(client: Client, server: ScriptedServer) -> None:
    for surplus in (b"x", http(b'{"un":"asked"}'), http(b'{"un":"asked"}')[:30]):
        for pieces in ((http(b'{"a":1}'), surplus), (http(b'{"a":1}') + surplus,)):
            sent = threading.Event()
            port = client.port()
            server.plan(sends(sent, *pieces))
            assert (await client.run(port.send(ADD))).body == b'{"a":1}'
            assert sent.wait(10)
            assert (await client.run(port.send(ADD))).body == b"{}"


async def test_an_idle_connection_that_was_closed_is_found_out(client: Client, server: ScriptedServer) -> None:
    server.plan(answers_then_closes)
    port = client.port()
    await client.run(port.send(ADD))
    server.wait_for_close()
    assert (await client.run(port.send(ADD))).status == 200
    assert [request.connection for request in server.received] == [1, 2]


@pytest.mark.parametrize(
    ("operation", "idle_seconds", "connection"),
    [(READ, 16, 1), (ADD, 14, 1), (ADD, 16, 2), (TRANSACTION, 16, 1), (READ, 51, 2)],
)
async def test_a_write_that_cannot_be_repeated_wants_a_fresh_connection(
    client: Client, server: ScriptedServer, clock: FakeClock, operation: Ask, idle_seconds: float, connection: int
) -> None:
    port = client.port()
    await client.run(port.send(READ))
    clock.time += idle_seconds
    await client.run(port.send(operation))
    assert server.received[-1].connection == connection


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_lost_answer_of_a_repeatable_request_is_asked_for_again(
    client: Client, server: ScriptedServer, loss: str
) -> None:
    for operation in (READ, PUT, TRANSACTION):
        server.received.clear()
        server.plan(LOSSES[loss], LOSSES[loss], answers(b'{"a":1}'))
        response = await client.run(client.port().send(operation))
        assert (response.status, response.body, response.unsettled) == (200, b'{"a":1}', True)
        assert [request.body for request in server.received] == [operation.body] * 3


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_lost_answer_of_any_other_write_is_of_unknown_outcome(
    client: Client, server: ScriptedServer, loss: str
) -> None:
    server.plan(LOSSES[loss])
    with pytest.raises(errors.OutcomeUnknown) as raised:
        await client.run(client.port().send(ADD))
    assert server.operations == ["UpdateItem"]
    assert (raised.value.operation, raised.value.table) == ("UpdateItem", "t")


async def test_a_connection_reused_then_cut_is_not_sent_again(client: Client, server: ScriptedServer) -> None:
    port = client.port()
    await client.run(port.send(READ))
    server.plan(cut)
    with pytest.raises(errors.OutcomeUnknown):
        await client.run(port.send(ADD))
    assert server.operations == ["GetItem", "UpdateItem"]


async def test_a_server_that_hangs(client: Client, server: ScriptedServer) -> None:
    server.plan(hang)
    assert (await client.run(client.port(timeouts=SHORT).send(READ))).unsettled
    server.plan(hang)
    with pytest.raises(errors.OutcomeUnknown):
        await client.run(client.port(timeouts=SHORT).send(ADD))
    assert server.operations == ["GetItem", "GetItem", "UpdateItem"]


async def test_a_retry_after_no_answer_costs_more_than_one_after_a_cut(client: Client, server: ScriptedServer) -> None:
    """What waits for long loads a service that fails, and its clients, the most."""
    spent = list[float]()
    for trouble in (cut, hang):
        port = client.port(timeouts=SHORT)
        server.plan(trouble, trouble)
        await client.run(port.send(READ))
        spent.append(RetryBudget.CAPACITY - port._delivery.budget.left)
    assert spent == [RetryBudget.RETRY, RetryBudget.TIMEOUT_RETRY]  # each twice, and the last one given back


async def test_a_trickle_does_not_outlast_the_patience(client: Client, server: ScriptedServer) -> None:
    def trickle(asked: ScriptedServer, connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not asked.ended.wait(0.01):
            connection.sendall(b"x")
        return False

    server.plan(trickle)
    with pytest.raises(errors.OutcomeUnknown, match="no whole answer"):
        await client.run(client.port(timeouts=SHORT, monotonic=time.monotonic).send(ADD))


async def test_a_conditional_put_recognises_its_own_first_try(client: Client, server: ScriptedServer) -> None:
    server.plan(cut, fails("ConditionalCheckFailedException", message="The conditional request failed"))
    response = await client.run(client.port().send(CREATE))
    assert (response.status, response.unsettled) == (400, True)


async def test_throttling_waits_and_tries_again_even_what_cannot_be_repeated(
    client: Client, server: ScriptedServer, clock: FakeClock
) -> None:
    server.plan(*[fails("ProvisionedThroughputExceededException")] * 3)
    response = await client.run(client.port().send(ADD))
    assert (response.status, response.unsettled) == (200, False)
    assert clock.slept == [0.0125, 0.025, 0.05]


def named_in_header(code: str, body: bytes = b"{}", status: int = 400) -> Action:
    return raw(http(body, status=status, extra=f"X-Amzn-ErrorType: {code}\r\n"))


@pytest.mark.parametrize("body", [b"{}", b"", b'{"message":"m"}', b'{ "__type" : "" }'])
@pytest.mark.parametrize("code", ["ThrottlingException", "a.b#ThrottlingException:http://internal.example/coral/"])
async def test_an_error_that_only_a_header_names(
    client: Client, server: ScriptedServer, body: bytes, code: str
) -> None:
    server.plan(named_in_header(code, body))
    response = await client.run(client.port().send(ADD))
    assert (response.status, response.unsettled, len(server.received)) == (200, False, 2)


async def test_the_operation_sees_the_code_that_only_a_header_names(client: Client, server: ScriptedServer) -> None:
    for body in (b"{}", b"", b'{"message":"m"}'):
        server.plan(named_in_header("ConditionalCheckFailedException", body))
        response = await client.run(client.port().send(ADD))
        fault = read_fault(response.body)
        assert fault is not None
        assert (response.status, fault.code) == (400, "ConditionalCheckFailedException")


async def test_a_header_does_not_make_an_answer_of_what_is_damaged(client: Client, server: ScriptedServer) -> None:
    for action in (named_in_header("AccessDenied", b"<html>"), named_in_header("an ill-made name", b"")):
        server.plan(action)
        with pytest.raises(errors.OutcomeUnknown):
            await client.run(client.port().send(ADD))


async def test_throttled_for_good(client: Client, server: ScriptedServer) -> None:
    server.always(fails("ThrottlingException", message="Index by-owner is over its limit"))
    with pytest.raises(errors.Throttled, match=r"by-owner.*10 tries"):
        await client.run(client.port().send(ADD))
    assert len(server.received) == 10


async def test_the_deadline_ends_it_before_a_wait_that_would_pass_it(
    client: Client, server: ScriptedServer, clock: FakeClock
) -> None:
    started = clock.time
    server.always(fails("ThrottlingException"))
    policy = RetryPolicy(attempts=1000, base_seconds=4.0, deadline_seconds=30.0)
    with pytest.raises(errors.Throttled):
        await client.run(client.port(policy=policy).send(READ))
    assert clock.time - started <= 30.0
    assert len(server.received) > 10


async def test_a_tokened_transaction_is_retried_until_its_deadline(
    client: Client, server: ScriptedServer, clock: FakeClock
) -> None:
    started = clock.time
    server.always(fails("TransactionInProgressException"))
    policy = RetryPolicy(attempts=1000, transaction_deadline_seconds=200.0)
    with pytest.raises(errors.OutcomeUnknown):
        await client.run(client.port(policy=policy).send(TRANSACTION))
    assert 150.0 < clock.time - started <= 200.0
    assert len({request.body for request in server.received}) == 1


@pytest.mark.parametrize(
    ("operation", "expected"),
    [(READ, errors.Unavailable), (PUT, errors.OutcomeUnknown), (TRANSACTION, errors.OutcomeUnknown)],
)
async def test_lost_for_good(
    client: Client, server: ScriptedServer, operation: Ask, expected: type[errors.SingletableError]
) -> None:
    server.always(cut)
    with pytest.raises(errors.SingletableError) as raised:
        await client.run(client.port().send(operation))
    assert type(raised.value) is expected


async def test_lost_once_then_throttled_for_good_is_still_unknown(client: Client, server: ScriptedServer) -> None:
    server.plan(cut)
    server.always(fails("ThrottlingException"))
    with pytest.raises(errors.OutcomeUnknown):
        await client.run(client.port().send(PUT))


async def test_conflicts_end_as_conflicts(client: Client, server: ScriptedServer) -> None:
    reasons = [{"Code": "None"}, {"Code": "TransactionConflict", "Message": "..."}]
    server.always(fails("TransactionCanceledException", CancellationReasons=reasons))
    with pytest.raises(errors.TransactionConflict):
        await client.run(client.port().send(TRANSACTION))
    assert len(server.received) == 10


async def test_real_reasons_are_the_operations(client: Client, server: ScriptedServer) -> None:
    reasons = [{"Code": "ConditionalCheckFailed"}, {"Code": "TransactionConflict"}]
    server.plan(fails("TransactionCanceledException", CancellationReasons=reasons))
    assert (await client.run(client.port().send(TRANSACTION))).status == 400
    assert len(server.received) == 1


@pytest.mark.parametrize("operation", [READ, PUT, ADD, TRANSACTION])
async def test_no_server_listens(client: Client, clock: FakeClock, operation: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
    with pytest.raises(errors.Unavailable, match="Could not connect"):
        await client.run(client.port(url).send(operation))
    assert len(clock.slept) == 9


async def test_denied(client: Client, server: ScriptedServer) -> None:
    server.plan(fails("AccessDeniedException", Message="User x may not\nThe canonical string: token"))
    with pytest.raises(errors.Denied, match="User x may not") as raised:
        await client.run(client.port().send(READ))
    assert "canonical" not in str(raised.value)
    assert len(server.received) == 1


async def test_expired_credentials_are_fetched_once(client: Client, server: ScriptedServer) -> None:
    keys = iter(["FIRST", "SECOND", "THIRD"])
    source = FetchedCredentials(lambda: Credentials(next(keys), "secret"))
    port = client.port(credentials=source)
    server.plan(fails("ExpiredTokenException"))
    assert (await client.run(port.send(ADD))).status == 200
    signed_by = [request.headers["authorization"].partition("=")[2].partition("/")[0] for request in server.received]
    assert signed_by == ["FIRST", "SECOND"]
    server.plan(fails("ExpiredTokenException"), fails("ExpiredTokenException"))
    with pytest.raises(errors.Denied):
        await client.run(port.send(ADD))


async def test_expired_credentials_that_stay_the_same_are_denied(client: Client, server: ScriptedServer) -> None:
    server.plan(fails("ExpiredTokenException"))
    with pytest.raises(errors.Denied, match="ExpiredToken"):
        await client.run(client.port().send(ADD))
    assert len(server.received) == 1


async def test_many_requests_with_the_same_expired_credentials(client: Client, server: ScriptedServer) -> None:
    names = itertools.count()
    port = client.port(credentials=FetchedCredentials(lambda: Credentials(f"KEY{next(names)}", "secret")))
    asks = [Ask("UpdateItem", b'{"n":%d}' % n, repeatable=False) for n in range(8)]
    server.always(first_time(fails("ExpiredTokenException"), *(ask.body for ask in asks)))
    responses = await client.run(port.send_all(asks))
    assert [response.status for response in responses] == [200] * 8


async def test_checksums_can_be_left_unchecked(client: Client, server: ScriptedServer) -> None:
    server.plan(damaged())
    assert (await client.run(client.port(checksum=False).send(ADD))).body == b'{"a":1}'


async def test_send_all_keeps_the_order(client: Client, server: ScriptedServer) -> None:
    server.always(echoes)
    asks = [Ask(body=b'{"n":%d}' % n) for n in range(50)]
    with Meter() as meter:
        responses = await client.run(client.port().send_all(asks))
    assert [response.body for response in responses] == [ask.body for ask in asks]
    assert (meter.requests, meter.round_trips) == (50, 4)
    assert server.connections <= 16


@pytest.mark.parametrize(("requests", "waves"), [(1, 1), (2, 1), (16, 1), (17, 2), (32, 2), (33, 3), (1000, 63)])
async def test_what_is_sent_together_goes_out_in_waves_of_sixteen(
    client: Client, server: ScriptedServer, requests: int, waves: int
) -> None:
    """Each request's answer waits until 16 have come, or all that are left: fewer at a time would wait for ever."""
    waiting = threading.Condition()
    left, held, most = requests, 0, 0

    def answer(asked: ScriptedServer, connection: socket.socket) -> bool:
        nonlocal left, held, most
        with waiting:
            held += 1
            most = max(most, held)
            waiting.notify_all()
            assert waiting.wait_for(lambda: most >= min(16, requests), 30)
            held -= 1
            left -= 1
        return answers()(asked, connection)

    server.always(answer)
    with Meter() as meter:
        await client.run(client.port().send_all([READ] * requests))
    assert (meter.requests, meter.round_trips) == (requests, waves)
    assert (most, left) == (min(16, requests), 0)


async def test_send_all_of_nothing(client: Client) -> None:
    assert await client.run(client.port().send_all([])) == []


async def test_send_all_raises_the_first_error_when_all_have_come_back(client: Client, server: ScriptedServer) -> None:
    server.always(fails("AccessDeniedException"))
    asks = [Ask("GetItem"), Ask("UpdateItem", repeatable=False), Ask("Query")]
    with pytest.raises(errors.Denied) as raised:
        await client.run(client.port().send_all(asks))
    assert raised.value.operation == "GetItem"
    assert sorted(server.operations) == ["GetItem", "Query", "UpdateItem"]


async def test_send_all_retries_what_failed(client: Client, server: ScriptedServer) -> None:
    asks = [Ask(body=b'{"n":%d}' % n) for n in range(8)]
    server.always(first_time(fails("ThrottlingException"), asks[0].body, asks[3].body, asks[7].body))
    with Meter() as meter:
        responses = await client.run(client.port().send_all(asks))
    assert [response.status for response in responses] == [200] * 8
    assert (meter.requests, meter.retries, meter.round_trips) == (11, 3, 2)


async def test_meters_count_every_try(client: Client, server: ScriptedServer) -> None:
    port = client.port()
    with Meter() as outer:
        await client.run(port.send(READ))
        with Meter() as inner:
            server.plan(fails("ThrottlingException"))
            await client.run(port.send(PUT))
    assert (inner.requests, inner.retries, inner.throttles, inner.round_trips) == (2, 1, 1, 2)
    assert (outer.requests, outer.retries, outer.round_trips) == (3, 1, 3)
    assert (outer.read_units, outer.write_units) == (1.0, 2.0)
    assert outer.by_operation["PutItem"].retries == 1
    assert outer.by_operation["PutItem"].throttles == 1
    assert outer.bytes_out > 3 * len(READ.body)
    assert outer.bytes_in > 3 * 100


async def test_a_closed_port_says_so(client: Client, server: ScriptedServer) -> None:
    port = client.port()
    await client.run(port.send(READ))
    await client.close()
    with pytest.raises(errors.InvalidRequest, match="closed"):
        await client.run(port.send(READ))


async def test_tokens_are_fresh(client: Client) -> None:
    port = client.port()
    tokens = {port.token() for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {22}
