"""Work: consumers with their lag, dead letters, tasks by time, dead tasks and lanes; costs that do not grow."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from examples.manhunt.tests.support import Clock, Outbox, make_world
from manhunt import Service, manhunt
from manhunt.model import Kind, tasks
from singletable import InvalidCursor, NotFound
from singletable.foundation import COVERED
from singletable.operations import TableCall
from singletable.streams import ChangeWorker
from singletable.streams.inspect.consumers import ConsumerInfo, ConsumerName, consumers_of, inspect_consumer
from singletable.streams.inspect.letters import LettersInfo, inspect_letter, inspect_letters
from singletable.tasks import TaskWorker
from singletable.tasks.inspect import MOST_TASKS, TasksInfo, inspect_order, inspect_task, inspect_tasks
from singletable.tasks.tasks import tasks_of
from tests.studio.views.work import NASTY, Shop, open_shop
from tests.support.engines import fresh


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shop(clock: Clock) -> Iterator[Shop]:
    with open_shop(clock=clock) as shop:
        yield shop


def consumer(shop: Shop, **more: Any) -> ConsumerInfo:
    db = shop.db
    return db.run(inspect_consumer(db.port, db.target.seal, shop.table, more.pop("of", shop.consumer), **more))


def letters(shop: Shop, **more: Any) -> LettersInfo:
    db = shop.db
    return db.run(inspect_letters(db.port, db.target.seal, shop.table, shop.consumer, **more))


def seen(shop: Shop, **more: Any) -> TasksInfo:
    return shop.db.run(inspect_tasks(shop.db.port, shop.db.target.seal, shop.tasks, **more))


def test_a_consumer_that_has_never_run_makes_no_table(shop: Shop) -> None:
    with shop.db.meter() as meter:
        found = consumer(shop)
    assert (found.has_run, found.handles, meter.requests) == (False, ("order inserted",), 1)
    assert letters(shop).letters == ()
    call = TableCall("DescribeTable", {"TableName": "shop-leases"}, or_none="ResourceNotFoundException")
    assert shop.db.run(shop.db.port.send(call)) is None


def test_the_lag_is_the_age_of_the_oldest_change_that_is_not_handled(shop: Shop, clock: Clock) -> None:
    shop.db.create(shop.order(id="1", name="Ada"))
    shop.drain()
    with shop.db.meter() as meter:
        handled = consumer(shop)
    assert (meter.requests, meter.read_units) == (6, 2)
    assert [(each.state, each.lag_seconds) for each in handled.shards] == [("free", 0.0)]
    began = time.monotonic()
    shop.db.create(shop.order(id="2", name="Ben"))
    clock.forward(100)
    behind = consumer(shop)
    took = time.monotonic() - began
    assert behind.lag_seconds is not None
    assert 99 <= behind.lag_seconds <= 101 + took
    with shop.db.meter() as meter:
        assert consumer(shop, with_lag=False).lag_seconds is None
    assert meter.requests == 4


def test_a_consumer_of_another_program_is_shown_by_its_name(shop: Shop) -> None:
    shop.db.create(shop.order(id="1", name="Ada"))
    shop.drain()
    by_name = ConsumerName("bills", "own", is_declared=False)
    found = consumer(shop, of=by_name)
    assert (found.has_run, found.handles, len(found.shards)) == (True, (), 1)
    assert not consumer(shop, of=ConsumerName(NASTY[:10], "own", is_declared=False)).has_run


def test_dead_letters_are_listed_and_read(shop: Shop) -> None:
    shop.broken = {str(number) for number in range(30)}
    for number in range(30):
        shop.db.create(shop.order(id=str(number), name=f"Ada {NASTY}"))
    shop.drain()
    with shop.db.meter() as meter:
        first = letters(shop)
    assert (meter.requests, len(first.letters), first.cursor is not None) == (1, 25, True)
    assert {each.error.text for each in first.letters} == {COVERED}
    rest = letters(shop, after=first.cursor)
    assert (len(rest.letters), rest.cursor) == (5, None)
    line = first.letters[0]
    place = line.stream, line.shard, line.sequence
    with shop.db.meter() as meter:
        found = shop.db.run(inspect_letter(shop.db.port, shop.table, shop.consumer, place, personal=True))
    assert meter.requests == 1
    assert (found.key, found.before) == (("order#0", "order"), ())
    assert [(each.name, each.text) for each in found.after] == [("id", "0"), ("name", f"Ada {NASTY}"), ("total", "0")]
    assert "no bill for Ada" in found.line.error.text
    covered = shop.db.run(inspect_letter(shop.db.port, shop.table, shop.consumer, place))
    assert [each.text for each in covered.after] == ["0", COVERED, "0"]


def test_a_dead_letter_that_is_gone(shop: Shop) -> None:
    shop.broken = {"1"}
    shop.db.create(shop.order(id="1", name="Ada"))
    shop.drain()
    (line,) = letters(shop).letters
    ChangeWorker(shop.db, shop.changes).drop(ChangeWorker(shop.db, shop.changes).dead_letters()[0])
    with pytest.raises(NotFound, match="the dead letter no longer exists"):
        shop.db.run(inspect_letter(shop.db.port, shop.table, shop.consumer, (line.stream, line.shard, line.sequence)))


def test_a_dead_letter_of_two_images_of_400_kb_is_one_line(shop: Shop) -> None:

    text = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=390_000))
    shop.broken = {"1"}
    shop.db.create(shop.order(id="1", name=text))
    shop.drain()
    with shop.db.meter() as meter:
        (line,) = letters(shop).letters
    assert (line.parts, meter.requests, meter.read_units < 50) == (1, 1, True)
    place = line.stream, line.shard, line.sequence
    found = shop.db.run(inspect_letter(shop.db.port, shop.table, shop.consumer, place, personal=True))
    assert (found.after[1].characters, found.after[1].is_cut) == (390_000, True)


def test_tasks_by_time_over_all_parts_of_the_index(shop: Shop) -> None:
    for number in range(60):
        shop.schedule(f"k{number:02}", number - 3.5)
    with shop.db.meter() as meter:
        first = seen(shop)
    assert (meter.requests, meter.round_trips, meter.read_units) == (16, 1, 8)
    assert [line.key for line in first.due.tasks] == [f"k{n:02}" for n in range(MOST_TASKS)]
    assert [line.state for line in first.due.tasks[:5]] == ["due", "due", "due", "due", "waits"]
    assert (first.due.counted, first.due.is_all, first.due.overdue) == (60, True, 4)
    keys = [line.key for line in first.due.tasks]
    cursor = first.due.cursor
    while cursor is not None:
        page = seen(shop, after=cursor)
        keys += [line.key for line in page.due.tasks]
        cursor = page.due.cursor
    assert keys == [f"k{n:02}" for n in range(60)]
    with pytest.raises(InvalidCursor):
        seen(shop, dead_after=first.due.cursor)


def test_tasks_of_one_time_are_shown_once_each(shop: Shop) -> None:
    with shop.db.transaction() as tx:
        for number in range(90):
            call = shop.tasks.functions["ship"](str(number))
            tx.add(shop.tasks.after(timedelta(minutes=5), call, key=f"k{number}"))
    keys: list[str] = []
    cursor: str | None = None
    while True:
        page = seen(shop, after=cursor)
        keys += [line.key for line in page.due.tasks]
        cursor = page.due.cursor
        if cursor is None:
            break
    assert sorted(keys) == sorted(f"k{n}" for n in range(90))


def test_dead_tasks_with_their_errors(shop: Shop) -> None:
    shop.broken = {"a"}
    shop.schedule("a", 0)
    shop.schedule("b", 0)
    shop.work()
    found = seen(shop, personal=True)
    assert [(line.key, line.state, line.tries) for line in found.dead.tasks] == [("a", "dead", 1)]
    assert found.dead.tasks[0].error.text == f"ConnectionError: no ship for a {NASTY}"
    assert seen(shop).dead.tasks[0].error.text == COVERED
    TaskWorker(shop.db, shop.tasks).drop("a")
    assert seen(shop).dead.tasks == ()


def test_an_order_with_its_lane(shop: Shop) -> None:
    for number in range(3):
        shop.schedule(f"o{number}", 10 + number, order="harbour")
    with shop.db.meter() as meter:
        flow = inspect_order(shop.db.port, shop.db.target.seal, shop.tasks, "harbour")
        found = shop.db.run(flow)
    assert (meter.requests, meter.read_units, found.runs) == (2, 2, "")
    assert [(line.key, line.order) for line in found.tasks] == [(f"o{n}", "harbour") for n in range(3)]
    with shop.db.meter() as meter:
        one = shop.db.run(inspect_task(shop.db.port, shop.tasks, "o2")).task
    assert (one.key, one.state, one.order, meter.requests) == ("o2", "waits", "harbour", 2)


def test_a_running_task_and_a_lost_one(shop: Shop, clock: Clock) -> None:
    states: list[str] = []

    @shop.tasks.task(tries=2)
    def look() -> None:
        states.extend(line.state for line in seen(shop).due.tasks)
        clock.forward(120)
        states.extend(line.state for line in seen(shop).due.tasks)
        raise OSError

    with shop.db.transaction() as tx:
        tx.add(shop.tasks.after(timedelta(0), look(), key="look"))
    shop.work()
    assert states[:2] == ["runs", "lost"]


def test_a_task_that_is_not_there(shop: Shop) -> None:
    with pytest.raises(NotFound, match="no task has this key"):
        shop.db.run(inspect_task(shop.db.port, shop.tasks, "nothing"))


def test_the_work_of_manhunt() -> None:
    """A search whose message can't be sent: what its worker left, as the application keeps it."""
    clock, outbox = Clock(), Outbox()
    with fresh(clock=clock) as db:
        db.create_table(manhunt)
        world = make_world(Service(db), clock, outbox)

        def refuse(message: object) -> None:
            raise ConnectionError("the gateway is away")

        outbox.before = refuse
        search = world.open((Kind.EMAIL, 0), (Kind.VOICE, 600))
        world.drain()
        assert tasks_of(manhunt) is tasks
        found = db.run(inspect_tasks(db.port, db.target.seal, tasks, personal=True))
        assert {(line.function, line.state) for line in found.due.tasks} >= {("send", "again"), ("wake", "waits")}
        assert all(search.search_id in line.arguments.text for line in found.due.tasks)
        names = [each.name for each in consumers_of(manhunt)]
        assert "escalation" in names
        with db.meter() as meter:
            which = next(each for each in consumers_of(manhunt) if each.name == "escalation")
            lag = db.run(inspect_consumer(db.port, db.target.seal, manhunt, which)).lag_seconds
        assert meter.requests <= 7
        assert lag is not None
