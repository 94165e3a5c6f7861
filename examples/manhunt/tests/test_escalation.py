"""Methods are tried in order with the right waits; what runs twice does its work once; the check sees what is wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest

from examples.manhunt.tests.support import DOMAIN, USUAL, World, contact_with
from manhunt.check import check
from manhunt.errors import Refused
from manhunt.model import Kind, Search, SearchAttempt, Status, tasks
from manhunt.searches import NO_ANSWER, NO_METHOD
from singletable import attr, present
from singletable.wire.port_options import elapsed
from singletable_local import maintain_streams


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
    ended = world.now(search)
    assert ended.status is Status.FAILED
    assert ended.resolution is not None
    assert ended.resolution.how == NO_ANSWER


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


def test_a_beginning_that_is_told_twice_is_one(world: World) -> None:
    search = world.open(*USUAL)
    begun: list[Search] = []
    world.escalation.changes.on(Search).inserted(lambda change: world.escalation.begin(change.new))
    world.escalation.changes.on(Search).inserted(lambda change: begun.append(change.new))
    world.drain()
    assert len(begun) == 1
    assert sorted(world.outbox.steps) == [0, 1]
    assert world.now(search).step == 2


def let_the_stream_forget(world: World) -> None:
    """The embedded engine's stream after a day in which the machine ran: the changes until now are gone."""
    assert world.db.target.engine is not None
    data, now, uptime = world.db.target.engine.data, world.db.port.now(), elapsed()
    assert data is not None
    for hours in (2, 27):
        maintain_streams(data, now + hours * 3600, uptime + hours * 3600)


def test_searches_that_the_stream_lost_are_found(world: World) -> None:
    """A worker that was away for longer than the stream holds: a gap, and no search is missed."""
    begun = world.open(*USUAL)
    world.drain()
    lost = world.open(*USUAL)
    let_the_stream_forget(world)
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


def test_the_check_sees_what_is_wrong(world: World) -> None:
    search = world.open(*USUAL)
    db = world.db
    assert check(db) == []
    assert "nothing will begin it" in check(db, drained=True)[0]
    world.drain()
    key = Search.by_id(search.search_id)
    due = present(world.now(search).wake_at)
    wake = f"wake-{search.search_id}-2-{due.timestamp()}"
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
