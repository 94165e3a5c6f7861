"""Each action of the harness does what it says, through the proxy and under a port, in both shells."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from singletable import OutcomeUnknown, attr
from singletable.errors import Throttled, TransactionConflict
from singletable.wire import RetryPolicy, Timeouts
from singletable.wire.exchange import AnswerLost
from singletable.wire.retry import RetryBudget
from tests.faults.actions import (
    LOSSES,
    Action,
    ApplyThen500ThenLateDuplicate,
    ApplyThenHang,
    CancelTransaction,
    Conflict,
    Delay,
    DropBefore,
    IndexLag,
    NotThereYet,
    PartialPage,
    Refuse,
    StaleRead,
    Throttle,
    TransactionInProgress,
    Unprocessed,
)
from tests.faults.carrying import Carrier
from tests.faults.clock import Clock
from tests.faults.opening import PATIENT, SHORT, opened_at
from tests.faults.port import make_faulty
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.support.models import Membership, User, app, membership
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada", age=36, phone="12")
KEY = User.by_email(ADA.email)
STRONG = KEY.consistent()


@pytest.fixture(params=["proxy", "port"])
def way(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def timeouts() -> Timeouts:
    return PATIENT


@pytest.fixture
async def carried(
    way: str, kind: str, engine_url: str, proxy: FaultProxy, faults: Faults, clock: Clock, timeouts: Timeouts
) -> AsyncIterator[tuple[Shell, Carrier]]:
    url = proxy.url if way == "proxy" else engine_url
    async with opened_at(kind, url, clock=clock, timeouts=timeouts, tables=(app,)) as made:
        carrier = proxy.carrier if way == "proxy" else make_faulty(made.port, faults)
        faults.forget()
        yield made, carrier


@pytest.fixture
def shell(carried: tuple[Shell, Carrier]) -> Shell:
    return carried[0]


def once(faults: Faults, action: Action, operation: str | None = None) -> None:
    faults.add(Rule(Match(operation, nth=1), action))


@pytest.mark.parametrize("timeouts", [SHORT], ids=["short"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
async def test_after_a_loss_a_repeatable_request_is_sent_again(shell: Shell, faults: Faults, loss: Action) -> None:
    once(faults, loss, "PutItem")
    await shell.put(ADA)
    assert await shell.get(STRONG) == ADA
    assert (faults.seen["PutItem"], faults.actions) == (2, [loss])


@pytest.mark.parametrize("timeouts", [SHORT], ids=["short"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
async def test_after_a_loss_a_sum_is_of_unknown_outcome(shell: Shell, faults: Faults, loss: Action) -> None:
    await shell.put(replace(ADA, phone=None, tags=["x"]))
    once(faults, loss, "UpdateItem")
    with pytest.raises(OutcomeUnknown):
        await shell.update(KEY, attr(User.tags).append("y"))
    found = await shell.get(STRONG)
    assert found is not None
    assert found.tags == (["x"] if isinstance(loss, DropBefore) else ["x", "y"])
    assert faults.seen["UpdateItem"] == 1


async def test_a_late_duplicate_comes_after_the_retry(carried: tuple[Shell, Carrier], faults: Faults) -> None:
    shell, carrier = carried
    once(faults, ApplyThen500ThenLateDuplicate(after=2), "PutItem")
    await shell.put(ADA)
    assert carrier.repeated == []
    await shell.put(replace(ADA, name="later"))
    assert [call.operation for call in carrier.repeated] == ["PutItem"]
    assert await shell.get(STRONG) == ADA


async def test_a_throttled_request_was_not_applied(shell: Shell, faults: Faults, clock: Clock) -> None:
    once(faults, Throttle(), "PutItem")
    await shell.put(ADA)
    assert (faults.seen["PutItem"], len(clock.slept)) == (2, 1)
    faults.clear()
    faults.add(Rule(Match("PutItem"), Throttle("ThrottlingException", "Rate exceeded")))
    with pytest.raises(Throttled, match="ThrottlingException: Rate exceeded"):
        await shell.put(replace(ADA, name="never"))
    assert await shell.get(STRONG) == ADA


async def test_a_batch_is_left_undone_in_part_or_whole(shell: Shell, faults: Faults) -> None:
    faults.add(
        Rule(Match("BatchWriteItem", nth=1), Unprocessed(3)),
        Rule(Match("BatchWriteItem", nth=1), Unprocessed()),
    )
    many = [membership(n) for n in range(10)]
    await shell.write_many(puts=many)
    sizes = [len(body["RequestItems"]["app"]) for body in _bodies(faults, "BatchWriteItem")]
    assert sizes == [10, 3, 3]
    once(faults, Unprocessed(4), "BatchGetItem")
    assert await shell.get_many([Membership.of_user(ADA.email, m.org_id) for m in many]) == many
    assert [len(body["RequestItems"]["app"]["Keys"]) for body in _bodies(faults, "BatchGetItem")] == [10, 4]


async def test_a_page_ends_early(shell: Shell, faults: Faults) -> None:
    many = [membership(n) for n in range(5)]
    await shell.write_many(puts=many)
    faults.add(Rule(Match("Query"), PartialPage(2)))
    assert await shell.all(Membership.of_user(ADA.email)) == many
    assert faults.seen["Query"] == 3


async def test_a_transaction_is_cancelled_held_up_or_in_conflict(shell: Shell, faults: Faults) -> None:
    faults.add(
        Rule(Match("TransactWriteItems", nth=1), CancelTransaction(("None", "TransactionConflict"))),
        Rule(Match("TransactWriteItems", nth=1), TransactionInProgress()),
        Rule(Match("TransactWriteItems", nth=1), Conflict()),
    )
    async with shell.transaction() as tx:
        tx.create(ADA)
        tx.create(membership(1))
    assert faults.seen["TransactWriteItems"] == 4
    assert len(set(faults.bodies("TransactWriteItems"))) == 1
    once(faults, Conflict(), "PutItem")
    await shell.put(ADA)
    assert faults.seen["PutItem"] == 2


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_lasting_conflict_is_raised_as_one(shell: Shell, faults: Faults, elsewhere: bool) -> None:
    faults.add(Rule(Match("PutItem"), Conflict(elsewhere)))
    with pytest.raises(TransactionConflict):
        await shell.put(ADA)


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_conflict_that_passes_is_nothing_to_its_caller(shell: Shell, faults: Faults, elsewhere: bool) -> None:
    """Even of a write that is sent once only: it was refused, so it was not applied."""
    await shell.put(ADA)
    faults.add(Rule(Match("UpdateItem", nth=(1, 2)), Conflict(elsewhere)))
    await shell.update(KEY, attr(User.age).add(1))
    assert (faults.seen["UpdateItem"], await shell.get(STRONG)) == (3, replace(ADA, age=ADA.age + 1))


async def test_a_stale_read_answers_older_images(shell: Shell, faults: Faults) -> None:
    read = ("GetItem", "BatchGetItem")
    faults.add(Rule(Match("GetItem", nth=(1, 2)), StaleRead(1)), Rule(Match(read), StaleRead(2)))
    for age in (1, 2, 3):
        await shell.put(replace(ADA, age=age))
    assert await shell.get(KEY) == replace(ADA, age=2)
    assert await shell.get(STRONG) == replace(ADA, age=3)
    assert await shell.get(KEY) == replace(ADA, age=1)
    assert await shell.get_many([KEY]) == [replace(ADA, age=1)]
    faults.clear()
    faults.add(Rule(Match(read), StaleRead(9, even_consistent=True)))
    assert (await shell.get(STRONG), await shell.get_many([KEY], consistent=True)) == (None, [])


async def test_an_index_lags_behind_the_last_writes(shell: Shell, faults: Faults) -> None:
    faults.add(Rule(Match("Query"), IndexLag(1)))
    await shell.put(ADA)
    assert await shell.all(User.by_phone("12")) == []
    await shell.put(replace(ADA, name="second"))
    assert await shell.all(User.by_phone("12")) == [ADA]
    await shell.put(membership(1))
    assert await shell.all(User.by_phone("12")) == [replace(ADA, name="second")]
    await shell.update(KEY, attr(User.phone).set("34"))
    assert await shell.all(User.by_phone("34")) == []


async def test_a_read_that_is_not_consistent_finds_nothing_yet(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    await shell.put(membership(1))
    faults.add(Rule(Match(), NotThereYet()))
    memberships = Membership.of_user(ADA.email)
    assert (await shell.get(KEY), await shell.get_many([KEY]), await shell.all(memberships)) == (None, [], [])
    assert await shell.get(STRONG) == ADA
    assert await shell.get_many([KEY], consistent=True) == [ADA]
    assert await shell.all(memberships.consistent()) == [membership(1)]
    assert await shell.all(User.by_phone("12")) == [ADA], "an index is another fault's"


async def test_a_delay_is_only_a_delay(shell: Shell, faults: Faults) -> None:
    once(faults, Delay(0.01), "PutItem")
    await shell.put(ADA)
    assert (faults.seen["PutItem"], await shell.get(STRONG)) == (1, ADA)


async def test_any_error_can_be_answered(shell: Shell, faults: Faults) -> None:
    once(faults, Refuse("ServiceUnavailable", status=503), "PutItem")
    await shell.put(ADA)
    assert faults.seen["PutItem"] == 2


async def test_a_match_names_operation_table_key_and_turn(shell: Shell, faults: Faults) -> None:
    faults.add(
        Rule(Match("PutItem", table="another"), Throttle()),
        Rule(Match(key="eve@"), Throttle()),
        Rule(Match("PutItem", table="app", key="ada@", nth=2), Throttle()),
    )
    await shell.put(ADA)
    assert faults.actions == []
    await shell.put(ADA)
    assert faults.actions == [Throttle()]


async def test_the_same_seed_brings_the_same_faults(kind: str, engine_url: str) -> None:
    async def run(seed: int) -> list[bool]:
        faults = Faults(seed)
        async with opened_at(kind, engine_url, tables=(app,), retry=RetryPolicy(attempts=30)) as shell:
            make_faulty(shell.port, faults)
            shell.port._delivery.budget.left = 100 * RetryBudget.CAPACITY
            faults.add(Rule(Match(probability=0.4), Throttle()))
            for n in range(30):
                await shell.put(membership(n))
        return [each.action is not None for each in faults.happened]

    first, second, other = await run(1), await run(1), await run(2)
    assert first == second
    assert first != other
    assert 0.2 < sum(first) / len(first) < 0.6


async def test_a_hang_under_a_port_takes_no_time(kind: str, engine_url: str, faults: Faults, clock: Clock) -> None:
    async with opened_at(kind, engine_url, clock=clock, tables=(app,)) as shell:
        make_faulty(shell.port, faults)
        faults.add(Rule(Match("GetItem"), ApplyThenHang()))
        with pytest.raises(Exception, match="no answer within") as caught:
            await shell.get(KEY)
    assert isinstance(caught.value.__cause__, AnswerLost)


def _bodies(faults: Faults, operation: str) -> list[dict[str, dict[str, dict[str, list[object]]]]]:
    return [each.call.json for each in faults.happened if each.call.operation == operation]
