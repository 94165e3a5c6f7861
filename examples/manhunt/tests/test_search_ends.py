"""A search ends once: by an answer or a cancellation, at every request of its worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from examples.manhunt.tests.support import DOMAIN, USUAL, World
from examples_shared.testing.sampling import strides
from manhunt.errors import AlreadyEnded, NoSuchAttempt
from manhunt.model import Delivery, Kind, Search, Status


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


def answer_or_cancel(world: World, search: Search, how: str) -> Callable[[], bool]:
    """Whether it ended the search."""

    def end() -> bool:
        ways = {
            "answered": lambda: world.app.answer(search.search_id, 0, how="link"),
            "cancelled": lambda: world.app.cancel(DOMAIN, search.search_id, by="grace"),
        }
        try:
            ways[how]()
        except (AlreadyEnded, NoSuchAttempt):
            return False
        return True

    return end


WAYS = [(steps, how) for steps in ("the first", "the second", "the last") for how in ("answered", "cancelled")]


@strides(7)
@pytest.mark.parametrize(("steps", "how"), WAYS)
def test_an_end_at_any_request_of_the_worker_is_the_only_one(world: World, how: str, steps: str, stride: int) -> None:
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
        at += stride
        _check_end(world, search, seen)
    assert at > 10
    assert Status(how) in seen


@pytest.mark.parametrize(("one", "other"), [("answered", "cancelled"), ("cancelled", "answered")])
def test_of_two_who_end_a_search_at_once_one_does(world: World, one: str, other: str) -> None:
    """The other comes just before each request of the one: who is later is told so, and changes nothing."""
    meddled, at, ended_by = Meddled(world), 0, set[str]()
    while True:
        search = world.open(*USUAL)
        world.drain()
        meddled.count, meddled.at, meddled.hook = 0, at, answer_or_cancel(world, search, other)
        was_first = answer_or_cancel(world, search, one)()
        if meddled.at >= 0:
            break  # the one was through before that request
        at += 1
        final = world.now(search)
        assert final.status is Status(one if was_first else other)
        ended_by.add(final.status.value)
        world.later(3600)
        assert world.now(search) == final
        assert sum(attempt.answered_at is not None for attempt in world.attempts(search)) == (
            final.status is Status.ANSWERED
        )
    assert at > 1
    assert other in ended_by


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
