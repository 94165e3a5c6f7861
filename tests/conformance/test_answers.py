"""What a caller sees of each raw answer, for a read, for a write that can't be repeated, and for a transaction."""

from __future__ import annotations

import pytest

from singletable.errors import (
    Denied,
    OutcomeUnknown,
    SingletableError,
    Throttled,
    TransactionConflict,
    Unavailable,
)
from singletable.flow import Response
from singletable.wire import RetryPolicy, read_fault
from tests.conformance.answers import ANSWERS, CONFLICT, DENIED, LOST, OK, THROTTLED, RawAnswer
from tests.fakes.scripted_server import ScriptedServer, raw
from tests.unit.wire.conftest import Ask, Client, client as client, clock as clock, server as server

TRIES = 3
KEYED = b'{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"S":"a"}}}'
READ, WRITE = Ask("GetItem", KEYED), Ask("UpdateItem", KEYED, repeatable=False)
TRANSACTION = Ask(
    "TransactWriteItems",
    b'{"ClientRequestToken":"t","TransactItems":[{"Delete":%s}]}' % KEYED,
    repeatable=False,
    tokened=True,
)
OUTCOMES: dict[str, tuple[type[SingletableError], type[SingletableError], type[SingletableError]]] = {
    LOST: (Unavailable, OutcomeUnknown, OutcomeUnknown),
    THROTTLED: (Throttled, Throttled, Throttled),
    CONFLICT: (TransactionConflict, TransactionConflict, TransactionConflict),
    DENIED: (Denied, Denied, Denied),
}
"""For a read, a write and a transaction."""


async def outcome(client: Client, server: ScriptedServer, answer: RawAnswer, ask: Ask) -> object:
    """The answer, or the class of the error that is raised."""
    server.always(raw(answer.data, stay=not answer.closes))
    port = client.port(policy=RetryPolicy(attempts=TRIES))
    try:
        return await client.run(port.send(ask))
    except SingletableError as error:
        return type(error)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.name)
async def test_each_answer_for_a_read_a_write_and_a_transaction(
    client: Client, server: ScriptedServer, answer: RawAnswer
) -> None:
    for number, ask in enumerate((READ, WRITE, TRANSACTION)):
        got = await outcome(client, server, answer, ask)
        if answer.means in OUTCOMES:
            assert got is OUTCOMES[answer.means][number], ask.operation
            continue
        assert isinstance(got, Response), got
        assert (got.status == 200) is (answer.means == OK)
        if answer.means != OK:
            fault = read_fault(got.body)
            assert fault is not None
            assert fault.code == answer.means


@pytest.mark.parametrize("answer", [a for a in ANSWERS if a.means in OUTCOMES], ids=lambda answer: answer.name)
async def test_what_may_have_been_written_is_not_written_again(
    client: Client, server: ScriptedServer, answer: RawAnswer
) -> None:
    """A lost write is sent once; what certainly was not applied is retried, unless a retry can't help."""
    await outcome(client, server, answer, WRITE)
    wanted = {LOST: {1}, THROTTLED: {TRIES}, CONFLICT: {TRIES}, DENIED: {1, 2}}[answer.means]
    assert len(server.operations) in wanted


def test_answers_have_names_of_their_own() -> None:
    assert len({answer.name for answer in ANSWERS}) == len(ANSWERS)
