"""Providers that fail, never answer, or may have taken a message."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from examples.manhunt.tests.support import DOMAIN, World
from manhunt.check import check
from manhunt.errors import Rejected, Unanswered, Undeliverable
from manhunt.escalation import MESSAGE_TRIES
from manhunt.model import Delivery, Kind, SearchAttempt, Status, tasks
from manhunt.notifiers import Message
from manhunt.output import search_json
from manhunt.views import search_view
from singletable import attr
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker


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
            TaskWorker(world.db, tasks).drain(at_once=1, lease_seconds=0.2)
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
