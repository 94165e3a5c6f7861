"""When to try again, how long after, and the error at the end; without a socket or a clock."""

from __future__ import annotations

import pytest

from singletable import errors
from singletable.flow import Request
from singletable.wire import RetryPolicy
from singletable.wire.error_answers import Verdict
from singletable.wire.retry import FailedTry, RetryBudget, RetryState

READ = Request("Query", b"{}", "t")
PUT = Request("PutItem", b"{}", "t")
ADD = Request("UpdateItem", b"{}", "t", repeatable=False)
TRANSACTION = Request("TransactWriteItems", b"{}", "a,b", repeatable=False, tokened=True)
GIVE_UP_AT_ONCE = RetryPolicy(attempts=1, deadline_seconds=0.0, transaction_deadline_seconds=0.0)


def failed(verdict: Verdict, *, timed_out: bool = False) -> FailedTry:
    return FailedTry(verdict, "It went wrong", timed_out, "REQUEST-ID")


def persist(request: Request, policy: RetryPolicy | None = None, budget: RetryBudget | None = None) -> RetryState:
    return RetryState(request, policy or RetryPolicy(), budget or RetryBudget(), lambda: 1.0, started=100.0)


def test_waits_double_up_to_the_cap_and_are_drawn_from_nothing_up() -> None:
    policy = RetryPolicy()
    assert [policy.wait(retry, 1.0) for retry in (1, 2, 3)] == [0.025, 0.05, 0.1]
    assert policy.wait(9, 1.0) == 5.0
    assert policy.wait(10_000, 1.0) == 5.0
    assert policy.wait(9, 0.0) == 0.0


def test_a_transaction_may_not_outlive_its_token() -> None:
    RetryPolicy(transaction_deadline_seconds=300.0)
    with pytest.raises(errors.InvalidRequest, match="token"):
        RetryPolicy(transaction_deadline_seconds=301.0)


ENDS = [
    (Verdict.THROTTLED, READ, errors.Throttled),
    (Verdict.THROTTLED, ADD, errors.Throttled),
    (Verdict.CONFLICT, TRANSACTION, errors.TransactionConflict),
    (Verdict.IN_PROGRESS, TRANSACTION, errors.OutcomeUnknown),
    (Verdict.LOST, READ, errors.Unavailable),
    (Verdict.LOST, PUT, errors.OutcomeUnknown),
    (Verdict.LOST, ADD, errors.OutcomeUnknown),
    (Verdict.LOST, TRANSACTION, errors.OutcomeUnknown),
    (Verdict.UNDELIVERED, ADD, errors.Unavailable),
    (Verdict.UNTRUSTED, ADD, errors.Unavailable),
    (Verdict.DENIED, ADD, errors.Denied),
]


@pytest.mark.parametrize(("verdict", "request_", "expected"), ENDS)
def test_how_it_ends(verdict: Verdict, request_: Request, expected: type[errors.SingletableError]) -> None:
    with pytest.raises(errors.SingletableError) as raised:
        persist(request_, GIVE_UP_AT_ONCE).wait_after(failed(verdict), 100.0)
    assert type(raised.value) is expected
    assert (raised.value.operation, raised.value.table) == (request_.operation, request_.table)
    assert "AWS request id: REQUEST-ID" in raised.value.__notes__
    assert raised.value.hint


@pytest.mark.parametrize("last", [Verdict.THROTTLED, Verdict.CONFLICT, Verdict.UNDELIVERED, Verdict.DENIED])
def test_one_lost_try_of_a_write_makes_every_end_unknown(last: Verdict) -> None:
    state = persist(PUT, RetryPolicy(attempts=2))
    state.wait_after(failed(Verdict.LOST), 100.0)
    with pytest.raises(errors.OutcomeUnknown):
        state.wait_after(failed(last), 100.0)


def test_what_cannot_be_repeated_is_not_repeated_after_a_loss_but_after_a_refusal() -> None:
    state = persist(ADD)
    for verdict in (Verdict.THROTTLED, Verdict.CONFLICT, Verdict.UNDELIVERED):
        assert state.wait_after(failed(verdict), 100.0) > 0
    with pytest.raises(errors.OutcomeUnknown):
        state.wait_after(failed(Verdict.LOST), 100.0)


def test_credentials_are_renewed_once() -> None:
    state = persist(ADD)
    assert state.wait_after(failed(Verdict.REFRESH), 100.0) == 0.0
    with pytest.raises(errors.Denied):
        state.wait_after(failed(Verdict.REFRESH), 100.0)


def test_an_open_transaction_goes_on_to_its_deadline() -> None:
    policy = RetryPolicy(attempts=2, transaction_deadline_seconds=60.0)
    for request, seconds in ((TRANSACTION, 60.0), (PUT, 0.0)):
        state, now = persist(request, policy), 100.0
        end: errors.SingletableError | None = None
        while end is None:
            try:
                now += state.wait_after(failed(Verdict.LOST), now)
            except errors.OutcomeUnknown as raised:
                end = raised
        assert seconds - 5.0 <= now - 100.0 <= seconds + 0.1


def test_the_deadline_counts_the_wait() -> None:
    state = persist(READ)
    state.wait_after(failed(Verdict.THROTTLED), 129.9)
    with pytest.raises(errors.Throttled):
        state.wait_after(failed(Verdict.THROTTLED), 129.96)


def test_no_try_outlasts_the_deadline() -> None:
    state = persist(READ)
    assert state.timeout(100.0, 10.0) == 10.0
    assert state.timeout(128.0, 10.0) == 2.0


def test_the_budget_runs_dry_and_comes_back() -> None:
    budget = RetryBudget()
    for _ in range(100):
        persist(READ, budget=budget).wait_after(failed(Verdict.THROTTLED), 100.0)
    with pytest.raises(errors.Throttled, match="budget"):
        persist(READ, budget=budget).wait_after(failed(Verdict.THROTTLED), 100.0)
    budget.refill(RetryBudget.RETRY)
    again = persist(READ, budget=budget)
    again.wait_after(failed(Verdict.THROTTLED), 100.0)
    assert budget.left == 0.0
    again.succeeded()
    assert budget.left == RetryBudget.RETRY


def test_a_timeout_costs_twice_as_much_and_the_bucket_does_not_overflow() -> None:
    budget = RetryBudget()
    persist(READ, budget=budget).wait_after(failed(Verdict.LOST, timed_out=True), 100.0)
    assert budget.left == 490.0
    budget.refill(1000.0)
    assert budget.left == 500.0
