"""Work in progress: consumers with their lag, dead letters, tasks by time, dead tasks, orders; live where asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from msgspec.structs import replace

from singletable.errors import Conflict, InvalidRequest, NotFound, SingletableError
from singletable.failure_text import error_text
from singletable.flow import Meter
from singletable.foundation import COVERED, Model, Table
from singletable.holds import why_held
from singletable.queues.inspect import QueueInfo, inspect_queues
from singletable.streams import AsyncChangeWorker
from singletable.streams.inspect import (
    ConsumerInfo,
    ConsumerName,
    LetterInfo,
    LettersInfo,
    changes_named,
    changes_of,
    consumers_of,
    inspect_consumer,
    inspect_letter,
    inspect_letters,
    read_letter,
    state_at,
)
from singletable.studio.addresses import Place
from singletable.studio.html import environment, render
from singletable.studio.page import Action, Feed, Page, PageAnswer, Section
from singletable.studio.site import Site
from singletable.studio.view import Crumb, PageCost, View
from singletable.studio.visit import Visit
from singletable.tasks import AsyncTaskWorker, PlainTask, Tasks
from singletable.tasks.inspect import (
    OrderInfo,
    TaskInfo,
    TasksInfo,
    inspect_order,
    inspect_task,
    inspect_tasks,
    tasks_of,
)

MOST_CONSUMERS = 5
"""Consumers on one page."""
FEWEST_SECONDS, USUAL_SECONDS, MOST_SECONDS = 2, 5, 60
"""Between two readings of the live page."""
MOST_UNITS = 2_000.0
"""Read units of one live page: then it stops, and says so."""


class ConsumerCard(View, frozen=True, kw_only=True):
    """A consumer with some of its dead letters."""

    seen: ConsumerInfo
    letters: LettersInfo


class WorkView(View, frozen=True, kw_only=True):
    """The work of a table's consumers and tasks."""

    table: str
    consumers: tuple[ConsumerCard, ...]
    left_out: tuple[str, ...]
    """Consumers beyond the first five, each on its own page."""
    tasks: TasksInfo | None
    queues: tuple[QueueInfo, ...]
    named: str
    """The one consumer that was asked for."""
    writes: bool
    held: str = ""
    """Why nothing of it runs; empty for a table that is not held."""


class LiveView(View, frozen=True, kw_only=True):
    """One event: the same as HTML, and what all events took."""

    html: str
    total: PageCost
    seconds: int
    is_over: bool = False
    """The last one: the page has used its units."""


class LetterView(View, frozen=True, kw_only=True):
    """A dead letter."""

    table: str
    seen: LetterInfo
    item: str
    """The address of the changed item; empty where its key is covered."""
    can_retry: bool
    writes: bool
    failed: str = ""
    """The error of its handlers when it was retried here."""


class TaskView(View, frozen=True, kw_only=True):
    """A task."""

    table: str
    seen: TaskInfo
    item: str
    """The address of its item."""
    writes: bool


class OrderView(View, frozen=True, kw_only=True):
    """The lane of an order."""

    table: str
    seen: OrderInfo


# --- pages ------------------------------------------------------------------------------------------------------------
async def load_work(visit: Visit) -> WorkView:
    """Up to seven requests for each consumer, and two for each shard whose lag is measured; 16 for the tasks, one
    for each queue, and one for the hold."""
    visit.must_read_all()
    table, named = visit.table, visit.query.get("consumer", "")
    every = [_consumer_named(visit)] if named else consumers_of(table)
    tasks = tasks_of(table)
    if not every and tasks is None and table.definition.stream is None:
        raise NotFound("this table has no stream and no tasks", table=table.name)
    cards = [await _card(visit, each) for each in every[:MOST_CONSUMERS]]
    return WorkView(
        title="Work",
        table=table.name,
        consumers=tuple(cards),
        left_out=tuple(each.name for each in every[MOST_CONSUMERS:]),
        tasks=None if tasks is None or named else await _tasks(visit, tasks),
        queues=() if named else await visit.db.run(inspect_queues(visit.db.port, visit.site.queues)),
        named=named,
        writes=visit.site.write,
        held=await visit.db.run(why_held(visit.db.port, table)),
    )


async def live(visit: Visit) -> AsyncIterator[LiveView]:
    """The work again every few seconds, until the visitor leaves or MOST_UNITS are used."""
    seconds = visit.number("every", USUAL_SECONDS, MOST_SECONDS, FEWEST_SECONDS)
    total = PageCost()
    monotonic = visit.db.port.monotonic
    while True:
        with Meter() as meter:
            began = monotonic()
            view = await load_work(visit)
            cost = PageCost.of(meter, monotonic() - began)
        visit.site.totals.add(cost)
        total = total.plus(cost)
        names = {"view": view, "visit": visit, "site": visit.site, "links": visit.links}
        html = render(environment(), "_work.html", names)
        is_over = total.read_units >= MOST_UNITS
        yield LiveView(title="Work", cost=cost, html=html, total=total, seconds=seconds, is_over=is_over)
        if is_over:
            return
        await visit.db.port.sleep(seconds)


async def load_letter(visit: Visit) -> LetterView:
    """A dead letter: one request, two where its table has to be looked for."""
    visit.must_read_all()
    return await _letter(visit)


async def load_task(visit: Visit) -> TaskView:
    """A task by its key: one request, two for one that has an order."""
    visit.must_read_all()
    tasks = _tasks_of(visit.table)
    key = _given(visit, "key")
    seen = await visit.db.run(inspect_task(visit.db.port, tasks, key, personal=not visit.covered))
    place = tasks.entities.by_id(key)
    item = visit.links.item(visit.table.name, (place.partition, place.low))
    title = f"Task {seen.task.key}"
    return TaskView(title=title, table=visit.table.name, seen=seen, item=item, writes=visit.site.write)


async def load_order(visit: Visit) -> OrderView:
    """The lane of an order: two requests."""
    visit.must_read_all()
    after, personal = visit.query.get("after") or None, not visit.covered
    order = _given(visit, "order")
    flow = inspect_order(visit.db.port, visit.links.seal, _tasks_of(visit.table), order, after=after, personal=personal)
    return OrderView(title=f"Order {order}", table=visit.table.name, seen=await visit.db.run(flow))


# --- actions ----------------------------------------------------------------------------------------------------------
async def change_task(visit: Visit) -> str:
    """Retry or drop a dead task, if it is still as it was seen."""
    tasks, key, do = _tasks_of(visit.table), _given(visit, "key"), _given(visit, "do")
    await visit.must_write(tasks.entity)
    worker = AsyncTaskWorker(visit.db, tasks)
    seen = (await visit.db.run(inspect_task(visit.db.port, tasks, key))).task
    if (seen.state, str(seen.fence)) != ("dead", visit.form.get("fence")):
        raise Conflict(
            "the task is no longer as it was shown", table=visit.table.name, operation=do, hint="Look at it again."
        )
    await {"retry": worker.retry, "drop": worker.drop}[_verb(do)](key)
    place = tasks.entities.by_id(key)
    visit.log_write(f"{do}:", visit.table, "_task", (place.partition, place.low))
    return f"{visit.links.of(f'/work/{visit.table.name}')}#dead"


async def change_letter(visit: Visit) -> str | PageAnswer:
    """Retry or drop a dead letter. If a handler fails again, its error is shown, and the dead letter stays."""
    consumer, do = _consumer_named(visit), _verb(_given(visit, "do"))
    changes = changes_named(visit.table, consumer.name)
    if changes is None:
        raise InvalidRequest(
            "this program does not declare the consumer, and so lacks its handlers",
            hint="Start the studio with the module that declares it.",
        )
    await visit.must_write(state_at(visit.table, consumer).dead_letter)
    letter = await visit.db.run(read_letter(visit.db.port, visit.table, consumer, _place(visit)))
    if str(letter.tries) != visit.form.get("tries") or letter.at.isoformat() != visit.form.get("at"):
        raise Conflict("the dead letter is no longer as it was shown", table=visit.table.name, operation=do)
    worker = AsyncChangeWorker(visit.db, changes)
    try:
        await {"retry": worker.retry, "drop": worker.drop}[do](letter)
    except SingletableError:
        raise
    except Exception as error:  # a handler's own, whatever it is
        told = f"{type(error).__name__}: {COVERED}" if visit.covered else error_text(error, most=2_000)
        view = await _letter(visit)
        return PageAnswer("letter.html", replace(view, failed=told), 409, style=_STYLE)
    visit.log_write(f"{do}:", visit.table, "_aside", (letter.shard, letter.sequence))
    return visit.links.of(f"/work/{visit.table.name}")


# --- what they share --------------------------------------------------------------------------------------------------
async def _card(visit: Visit, consumer: ConsumerName) -> ConsumerCard:
    port, seal, query = visit.db.port, visit.links.seal, visit.query
    is_one = bool(query.get("consumer"))
    after = {name: query.get(name) or None for name in ("shards", "tries", "letters")} if is_one else {}
    seen = await visit.db.run(
        inspect_consumer(port, seal, visit.table, consumer, after=after.get("shards"), tries_after=after.get("tries"))
    )
    letters = await visit.db.run(
        inspect_letters(port, seal, visit.table, consumer, after=after.get("letters"), personal=not visit.covered)
    )
    return ConsumerCard(title=consumer.name, seen=seen, letters=letters)


async def _tasks(visit: Visit, tasks: Tasks) -> TasksInfo:
    query = visit.query
    return await visit.db.run(
        inspect_tasks(
            visit.db.port,
            visit.links.seal,
            tasks,
            after=query.get("due") or None,
            dead_after=query.get("dead") or None,
            personal=not visit.covered,
        )
    )


async def _letter(visit: Visit) -> LetterView:
    consumer = _consumer_named(visit)
    flow = inspect_letter(visit.db.port, visit.table, consumer, _place(visit), personal=not visit.covered)
    seen = await visit.db.run(flow)
    can_retry = changes_named(visit.table, consumer.name) is not None
    is_open = any(seen.key) and COVERED not in "".join(seen.key)
    return LetterView(
        title=f"Dead letter of {consumer.name}",
        table=visit.table.name,
        seen=seen,
        item=visit.links.item(visit.table.name, seen.key) if is_open else "",
        can_retry=can_retry,
        writes=visit.site.write,
    )


def _consumer_named(visit: Visit) -> ConsumerName:
    """The consumer that the address names, also one that this program does not declare."""
    name = _given(visit, "consumer")
    declared: Sequence[ConsumerName] = consumers_of(visit.table)
    known = next((each for each in declared if each.name == name), None)
    same = (visit.form.get("leases") or visit.query.get("leases")) == "same"
    return known or ConsumerName(name, "same" if same else "own", is_declared=False)


def _place(visit: Visit) -> tuple[str, str, str]:
    return _given(visit, "stream"), _given(visit, "shard"), _given(visit, "sequence")


def _given(visit: Visit, name: str) -> str:
    value = visit.form.get(name) or visit.query.get(name, "")
    if not value:
        raise InvalidRequest(f"the address has no {name}=")
    return value


def _verb(do: str) -> str:
    if do not in ("retry", "drop"):
        raise InvalidRequest("do= is retry or drop")
    return do


def _tasks_of(table: Table) -> Tasks:
    tasks = tasks_of(table)
    if tasks is None:
        raise NotFound("this program declares no tasks of the table", table=table.name)
    return tasks


def _has_work(site: Site) -> bool:
    def has(table: Table) -> Any:
        return table.definition.stream is not None or changes_of(table) or tasks_of(table)

    return any(has(table) for table in site.tables)


_ONE, _STYLE = "/work/{table}", "layers.css"


def _item_link(visit: Visit, model: Model[Any], place: Place) -> Crumb | None:
    if not issubclass(model.kind, PlainTask):
        return None
    key = model.key_values(model.key_at(place))["id"]
    return Crumb("As a task", visit.links.of(f"/work/{model.table.name}/task", {"key": key}))


SECTION = Section(
    item_link=_item_link,
    pages=(
        Page(_ONE, "work.html", load_work, "Work", 60, _has_work, _STYLE, "work.js"),
        Page(f"{_ONE}/letter", "letter.html", load_letter, style=_STYLE),
        Page(f"{_ONE}/task", "task.html", load_task, style=_STYLE),
        Page(f"{_ONE}/order", "order.html", load_order, style=_STYLE),
    ),
    actions=(Action(f"{_ONE}/task", change_task), Action(f"{_ONE}/letter", change_letter)),
    feeds=(Feed(f"{_ONE}/events", live),),
)
