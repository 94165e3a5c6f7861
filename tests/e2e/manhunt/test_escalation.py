"""Methods are tried in order with the right waits, and the search ends once, whoever is faster."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from examples.manhunt.check import check
from examples.manhunt.errors import AlreadyEnded, NoSuchAttempt, Refused, Rejected, Unanswered, Undeliverable
from examples.manhunt.escalation import MESSAGE_TRIES
from examples.manhunt.model import Delivery, Kind, Search, SearchAttempt, Status, tasks
from examples.manhunt.notifiers import Message
from examples.manhunt.output import search_json
from examples.manhunt.searches import NO_ANSWER, NO_METHOD
from examples.manhunt.views import search_view
from singletable import attr, present
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker
from tests.e2e.manhunt.support import DOMAIN, USUAL, World, contact_with


# --- waits ------------------------------------------------------------------------------------------------------------
def test_mail_and_text_at_once_a_call_ten_minutes_later_and_then_ten_minutes_for_an_answer(world: World) -> None:
    search = world.open(*USUAL)
    world.drain()
    assert sorted(world.outbox.steps) == [0, 1]
    world.later(599)
    assert sorted(world.outbox.steps) == [0, 1]
    world.later(1)
    assert world.outbox.sent[-1].step == 2
    world.later(599)
    assert world.now(search).status is Status.ACTIVE
    world.later(1)
    ended = world.now(search)
    assert (ended.status, ended.ended_step) == (Status.FAILED, 3)
    assert ended.resolution is not None
    assert (ended.resolution.by, ended.resolution.how) == ("manhunt", NO_ANSWER)
    assert ended.ended_at == search.started_at + timedelta(seconds=1200)


def test_a_wait_counts_from_the_attempt_before_however_late_that_was(world: World) -> None:
    search = world.open((Kind.EMAIL, 5), (Kind.SMS, 60), (Kind.VOICE, 0), (Kind.WEBHOOK, 7))
    world.later(4.9)
    assert world.outbox.sent == []
    world.later(100)
    world.later(59.9)
    assert world.outbox.steps == [0]
    world.later(0.1)
    assert sorted(world.outbox.steps) == [0, 1, 2]
    world.later(7)
    assert world.outbox.steps[-1] == 3
    seconds = [(attempt.attempted_at - search.started_at).total_seconds() for attempt in world.attempts(search)]
    assert seconds == pytest.approx([104.9, 164.9, 164.9, 171.9], abs=1e-5)
    world.later(600)
    assert world.now(search).status is Status.FAILED


def test_no_enabled_method_fails_at_once_and_says_so(world: World) -> None:
    contact = contact_with(world.app, (Kind.EMAIL, 0))
    (method,) = world.app.contact_with_methods(DOMAIN, contact.contact_id).methods
    world.app.change_method(DOMAIN, contact.contact_id, method.method_id, enabled=False)
    search = world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    assert search.status is Status.FAILED
    assert search.resolution is not None
    assert search.resolution.how == NO_METHOD
    world.drain()
    assert world.now(search) == search
    assert world.outbox.sent == []


def test_no_time_for_an_answer_fails_after_the_last_method(world: World) -> None:
    search = world.open((Kind.EMAIL, 0), answer_seconds=0)
    world.drain()
    assert world.now(search).status is Status.FAILED


def test_the_plan_is_a_copy(world: World) -> None:
    """The published handler reads the contact after the insert: an edit in between leaks in. Here it doesn't."""
    contact = contact_with(world.app, *USUAL)
    search = world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    methods = world.app.contact_with_methods(DOMAIN, contact.contact_id).methods
    for method in methods:
        if method.order == 0:
            world.app.change_method(DOMAIN, contact.contact_id, method.method_id, destination="eve@example.org")
        else:
            world.app.delete_method(DOMAIN, contact.contact_id, method.method_id)
    world.drain()
    world.app.delete_contact(DOMAIN, contact.contact_id)
    world.later(600)
    assert sorted((m.step, m.destination) for m in world.outbox.sent) == [
        (0, "ada@example.org"),
        (1, "+15551234567"),
        (2, "+15551234567"),
    ]
    assert [a.method for a in world.attempts(search)] == world.now(search).plan


def test_methods_of_equal_order_have_one_order_too(world: World) -> None:
    contact = world.app.create_contact(DOMAIN, "Ada")
    for number in range(5):
        world.app.add_method(DOMAIN, contact.contact_id, Kind.SMS, f"+1555000000{number}", wait_seconds=60)
    plans = [world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"}).plan for _ in range(2)]
    assert plans[0] == plans[1]
    assert [m.method_id for m in plans[0]] == sorted(m.method_id for m in plans[0])


def test_forty_methods_at_once(world: World) -> None:
    contact = world.app.create_contact(DOMAIN, "Ada")
    for number in range(40):
        world.app.add_method(DOMAIN, contact.contact_id, Kind.SMS, f"+1555000{number:04}", order=number)
    with pytest.raises(Refused, match="40 methods"):
        world.app.add_method(DOMAIN, contact.contact_id, Kind.SMS, "+15551234567")
    search = world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    world.drain()
    assert sorted(world.outbox.steps) == list(range(40))
    world.app.answer(search.search_id, 39, how="link")


# --- ends -------------------------------------------------------------------------------------------------------------
def test_an_answer_between_two_attempts_stops_the_third(world: World) -> None:
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 60), (Kind.VOICE, 60))
    world.drain()
    world.later(60)
    world.later(30)
    ended = world.app.answer(search.search_id, 1, how="link", said="on my way")
    assert (ended.status, ended.ended_step) == (Status.ANSWERED, 2)
    world.later(3600)
    assert world.outbox.steps == [0, 1]
    attempts = world.attempts(search)
    assert [(a.answered_at is not None, a.answer) for a in attempts] == [(False, ""), (True, "link: on my way")]
    assert world.now(search) == ended


def test_what_has_ended_stays_as_it_ended(world: World) -> None:
    search = world.open(*USUAL)
    world.drain()
    ended = world.app.cancel(DOMAIN, search.search_id, by="grace", reason="false alarm")
    with pytest.raises(AlreadyEnded) as refused:
        world.app.answer(search.search_id, 0, how="link")
    assert (refused.value.status, refused.value.by) == ("cancelled", "grace")
    with pytest.raises(AlreadyEnded):
        world.app.cancel(DOMAIN, search.search_id, by="eve")
    world.later(3600)
    assert world.now(search) == ended
    assert all(attempt.answered_at is None for attempt in world.attempts(search))


def test_a_search_is_cancelled_before_its_worker_knew_of_it(world: World) -> None:
    search = world.open(*USUAL)
    world.app.cancel(DOMAIN, search.search_id, by="grace")
    world.drain()
    assert world.attempts(search) == []


def test_only_an_attempt_that_was_made_can_be_answered(world: World) -> None:
    search = world.open(*USUAL)
    for step in (0, 1, 2, -1, 99):
        with pytest.raises(NoSuchAttempt):
            world.app.answer(search.search_id, step, how="link")
    world.drain()
    with pytest.raises(NoSuchAttempt):
        world.app.answer(search.search_id, 2, how="link")


def test_a_reply_answers_the_last_text_to_its_number(world: World) -> None:
    first, second = world.open((Kind.SMS, 0)), world.open((Kind.SMS, 0))
    world.drain()
    assert world.app.answer_from("+15551234567", how="text", said="yes").search_id in (
        first.search_id,
        second.search_id,
    )
    assert {world.now(s).status for s in (first, second)} == {Status.ANSWERED, Status.ACTIVE}
    with pytest.raises(AlreadyEnded):
        world.app.answer_from("+15551234567", how="text", said="yes")


# --- what runs twice --------------------------------------------------------------------------------------------------
def test_a_beginning_that_is_told_twice_is_one(world: World) -> None:
    search = world.open(*USUAL)
    begun: list[Search] = []
    world.escalation.changes.on(Search).inserted(lambda change: world.escalation.begin(change.new))
    world.escalation.changes.on(Search).inserted(lambda change: begun.append(change.new))
    world.drain()
    assert len(begun) == 1
    assert sorted(world.outbox.steps) == [0, 1]
    assert world.now(search).step == 2


def test_searches_that_the_stream_lost_are_found(world: World) -> None:
    """A worker that was away for longer than the stream holds: a gap, and no search is missed."""
    begun = world.open(*USUAL)
    world.drain()
    lost = world.open(*USUAL)
    world.later(25 * 3600)
    assert world.escalation.changes.gaps == 1
    assert world.now(lost).begun_at is not None
    assert [attempt.step for attempt in world.attempts(lost)] == [0, 1]
    assert world.now(begun).step == 3


def test_a_step_and_a_message_that_run_twice_do_their_work_once(world: World) -> None:
    search = world.open(*USUAL)
    world.drain()
    with world.db.transaction() as tx:
        for step in (0, 1, 2, 3):
            tx.add(tasks.after(timedelta(0), world.escalation.wake(search.search_id, step)))
        for step in (0, 1):
            tx.add(tasks.after(timedelta(0), world.escalation.send(search.search_id, step)))
    world.drain()
    assert sorted(world.outbox.steps) == [0, 1]
    assert world.now(search).step == 2
    world.later(600)
    assert sorted(world.outbox.steps) == [0, 1, 2]


# --- an answer at every moment ----------------------------------------------------------------------------------------
class Meddled:
    """The port of a worker, with something that happens just before its n-th request from when it is set."""

    def __init__(self, world: World) -> None:
        port: Any = world.db.port
        self._send, self._send_all = port.send, port.send_all
        self.count, self.at = 0, -1
        self.hook: Callable[[], object] = lambda: None
        port.send, port.send_all = self.send, self.send_all

    async def send(self, operation: Any) -> Any:
        self._before()
        return await self._send(operation)

    async def send_all(self, operations: Any) -> Any:
        self._before()
        return await self._send_all(operations)

    def _before(self) -> None:
        at, self.count = self.count, self.count + 1
        if at == self.at:
            hook, self.hook = self.hook, lambda: None
            self.at = -1
            hook()


def answer_or_cancel(world: World, search: Search, how: str) -> Callable[[], object]:
    def end() -> None:
        ways = {
            "answered": lambda: world.app.answer(search.search_id, 0, how="link"),
            "cancelled": lambda: world.app.cancel(DOMAIN, search.search_id, by="grace"),
        }
        try:
            ways[how]()
        except (AlreadyEnded, NoSuchAttempt):
            return

    return end


@pytest.mark.parametrize("how", ["answered", "cancelled"])
@pytest.mark.parametrize("steps", ["the first", "the second", "the last"])
def test_an_end_at_any_request_of_the_worker_is_the_only_one(world: World, how: str, steps: str) -> None:
    """Between every two requests of the worker that takes a step: exactly one end, nothing taken after it."""
    methods = ((Kind.EMAIL, 0), (Kind.SMS, 60))
    meddled, at, seen = Meddled(world), 0, set[Status]()
    while True:
        search = world.open(*methods, answer_seconds=30)
        for seconds in {"the first": [], "the second": [0], "the last": [0, 60]}[steps]:
            world.later(seconds)
        world.clock.forward({"the first": 0, "the second": 60, "the last": 30}[steps])
        meddled.count, meddled.at, meddled.hook = 0, at, answer_or_cancel(world, search, how)
        world.drain()
        if meddled.at >= 0:
            break  # the worker was through before that request
        at += 1
        _check_end(world, search, seen)
    assert at > 10
    assert Status(how) in seen


def _check_end(world: World, search: Search, seen: set[Status]) -> None:
    now = world.now(search)
    sent = [message.step for message in world.outbox.sent if message.search_id == search.search_id]
    for _ in range(3):
        world.later(60)
    final = world.now(search)
    assert final.status is not Status.ACTIVE
    if now.status is not Status.ACTIVE:
        assert final == now
        after = [message.step for message in world.outbox.sent if message.search_id == search.search_id]
        assert after == sent, "a message was claimed after the end"
        assert all(a.delivery is not Delivery.WAITING for a in world.attempts(search))
    assert len(world.attempts(search)) == final.ended_step == final.step
    assert check(world.db, drained=True) == []
    seen.add(final.status)


def test_a_step_at_any_request_of_an_answer_gives_one_end(world: World) -> None:
    """The other way round: the worker takes its step, or gives up, just before each request of whoever answers."""
    meddled, at, ended_by = Meddled(world), 0, set[Status]()
    for due, seconds in (("a step", 60), ("the end", 30)):
        for at in range(6):
            search = world.open((Kind.EMAIL, 0), (Kind.SMS, 60), answer_seconds=30)
            world.drain()
            if due == "the end":
                world.later(60)
            world.clock.forward(seconds)
            meddled.count, meddled.at, meddled.hook = 0, at, world.drain
            try:
                world.app.answer(search.search_id, 0, how="link")
            except AlreadyEnded:
                assert due == "the end"
            meddled.at = -1
            final = world.now(search)
            ended_by.add(final.status)
            world.later(3600)
            assert world.now(search) == final
            assert final.ended_step == len(world.attempts(search))
    assert ended_by == {Status.ANSWERED, Status.FAILED}


# --- providers --------------------------------------------------------------------------------------------------------
def fails(times: int, error: Exception) -> Callable[[Message], None]:
    left = [times]

    def before(message: Message) -> None:
        if message.step == 0 and left[0]:
            left[0] -= 1
            raise error

    return before


class Raising:
    """Raises each time, and counts."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error, self.count = error, 0

    def __call__(self, message: Message) -> None:
        self.count += 1
        raise self.error


def test_a_provider_that_fails_is_asked_again_and_the_search_goes_on(world: World) -> None:
    world.outbox.before = fails(3, Undeliverable("no answer from the mail server"))
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 10))
    world.drain()
    (attempt,) = world.attempts(search)
    assert (attempt.delivery, attempt.problem) == (Delivery.WAITING, "no answer from the mail server")
    world.later(10)
    assert world.outbox.steps[-1] == 1
    for _ in range(5):
        world.later(20)
    attempt = world.attempts(search)[0]
    assert (attempt.delivery, attempt.tries) == (Delivery.SENT, 4)
    assert {m.idempotency_key for m in world.outbox.sent if m.step == 0} == {f"{search.search_id}-0"}


def test_a_provider_that_never_answers_is_given_up_and_the_search_is_not(world: World) -> None:
    world.outbox.before = fails(10**6, Undeliverable("timed out"))
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 600), answer_seconds=600)
    world.drain()
    for _ in range(10):
        world.later(60)
    attempt = world.attempts(search)[0]
    assert (attempt.delivery, attempt.tries, attempt.problem) == (Delivery.REFUSED, 8, "timed out")
    assert world.outbox.steps == [1]
    assert TaskWorker(world.db, tasks).dead_letters() == [], "the attempt says it"
    world.later(600)
    assert world.now(search).status is Status.FAILED


def test_what_a_provider_refuses_for_good_is_not_sent_again(world: World) -> None:
    world.outbox.before = fails(1, Rejected("the mail server answered with code 550"))
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 10))
    world.drain()
    (attempt,) = world.attempts(search)
    assert (attempt.delivery, attempt.tries) == (Delivery.REFUSED, 1)
    assert TaskWorker(world.db, tasks).dead_letters() == []
    world.later(10)
    assert world.outbox.steps == [1]


def test_a_message_that_was_not_claimed_before_the_end_is_withheld(world: World) -> None:
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 0))
    calls: list[int] = []

    def end(message: Message) -> None:
        calls.append(message.step)
        world.app.cancel(DOMAIN, search.search_id, by="grace")
        raise Undeliverable("out of order")

    world.outbox.before = end
    ChangeWorker(world.db, world.escalation.changes).drain()
    TaskWorker(world.db, tasks).drain(at_once=1)
    world.later(3600)
    assert len(calls) == 1
    states = {attempt.step: attempt.delivery for attempt in world.attempts(search)}
    assert states[calls[0]] is states[1 - calls[0]] is Delivery.WITHHELD


class Killed(BaseException):
    """The worker's process ends here."""


@pytest.mark.parametrize("ends", ["answered", "cancelled", "goes on"])
def test_a_message_whose_worker_died_with_it_does_not_stay_claimed(world: World, ends: str) -> None:
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 6000))
    ChangeWorker(world.db, world.escalation.changes).drain()
    world.outbox.before = dies = Raising(Killed)
    with pytest.raises(Killed):
        TaskWorker(world.db, tasks).drain(at_once=1)
    assert world.attempts(search)[0].delivery is Delivery.CLAIMED
    world.outbox.before = lambda message: None
    if ends == "answered":
        world.app.answer(search.search_id, 0, how="link")
    elif ends == "cancelled":
        world.app.cancel(DOMAIN, search.search_id, by="grace")
    world.later(120)
    attempt = world.attempts(search)[0]
    assert dies.count == 1
    assert attempt.delivery is (Delivery.SENT if ends == "goes on" else Delivery.UNKNOWN)
    assert attempt.in_doubt == (ends == "goes on")
    view = search_view(world.app.search_with_attempts(DOMAIN, search.search_id)).steps[0]
    if ends == "cancelled":
        assert (view.look, view.said) == ("unknown", "unknown whether it left")
        assert (
            search_json(world.app.search_with_attempts(DOMAIN, search.search_id))["attempts"][0]["delivery"]
            == "unknown"
        )


def test_a_message_whose_worker_dies_each_time_ends_unknown(world: World) -> None:
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 100_000))
    ChangeWorker(world.db, world.escalation.changes).drain()
    world.outbox.before = dies = Raising(Killed)
    for _ in range(MESSAGE_TRIES):
        with pytest.raises(Killed):
            TaskWorker(world.db, tasks).drain(at_once=1)
        world.clock.forward(120)
    TaskWorker(world.db, tasks).drain()
    assert dies.count == MESSAGE_TRIES
    assert world.attempts(search)[0].delivery is Delivery.UNKNOWN
    assert world.outbox.sent == []


@pytest.mark.parametrize(
    "error", [Unanswered("no answer from example.org: TimeoutError"), ValueError("a fault of ours")]
)
def test_a_provider_that_may_have_taken_it_leaves_it_unknown(world: World, error: Exception) -> None:
    world.outbox.before = fails(10**6, error)
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 100_000))
    world.drain()
    assert world.attempts(search)[0].delivery is Delivery.WAITING
    for _ in range(10):
        world.later(60)
    attempt = world.attempts(search)[0]
    assert (attempt.delivery, attempt.tries, attempt.in_doubt) == (Delivery.UNKNOWN, MESSAGE_TRIES, True)
    assert "a fault of ours" not in attempt.problem
    said = search_view(world.app.search_with_attempts(DOMAIN, search.search_id)).steps[0].said
    assert said == f"unknown whether it left: {attempt.problem}"


@pytest.mark.parametrize("last", [Undeliverable("busy"), Rejected("never")])
def test_what_was_in_doubt_once_stays_in_doubt(world: World, last: Exception) -> None:
    world.outbox.before = fails(1, Unanswered("no answer"))
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 100_000))
    world.drain()
    world.outbox.before = fails(10**6, last)
    for _ in range(10):
        world.later(60)
    attempt = world.attempts(search)[0]
    assert (attempt.delivery, attempt.problem) == (Delivery.UNKNOWN, str(last))


def test_the_check_sees_a_message_that_stays_claimed_after_the_end(world: World) -> None:
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 600))
    world.drain()
    world.app.cancel(DOMAIN, search.search_id, by="grace")
    key = SearchAttempt.of_search(search.search_id, 0)
    world.db.update(key, attr(SearchAttempt.delivery).set(Delivery.CLAIMED))
    assert check(world.db) == [f"{search.search_id}: nothing will send the message of step 0, or say what became of it"]
    world.db.update(key, attr(SearchAttempt.delivery).set(Delivery.UNKNOWN))
    assert check(world.db) == []


# --- what the check sees ----------------------------------------------------------------------------------------------
def test_the_check_sees_what_is_wrong(world: World) -> None:
    search = world.open(*USUAL)
    db = world.db
    assert check(db) == []
    assert "nothing will begin it" in check(db, drained=True)[0]
    world.drain()
    key, due = Search.by_id(search.search_id), present(world.now(search).wake_at)
    wake = f"wake-{search.search_id}-2"
    with db.transaction() as tx:
        tx.add(tasks.cancel(wake))
    assert check(db) == [f"{search.search_id}: active at step 2, and nothing will wake it"]
    with db.transaction() as tx:
        tx.add(tasks.at(due, world.escalation.wake(search.search_id, 2), key=wake))
    db.update(SearchAttempt.of_search(search.search_id, 1), attr(SearchAttempt.attempted_at).set(search.started_at))
    assert check(db) == []
    db.update(key, attr(Search.step).set(1))
    assert len(check(db)) == 2
    db.update(key, attr(Search.step).set(2))
    early = search.started_at - timedelta(seconds=1)
    db.update(SearchAttempt.of_search(search.search_id, 0), attr(SearchAttempt.attempted_at).set(early))
    assert check(db) == [f"{search.search_id}: attempt 0 came before its time"]
    db.update(SearchAttempt.of_search(search.search_id, 0), attr(SearchAttempt.attempted_at).set(search.started_at))
    assert check(db) == []
