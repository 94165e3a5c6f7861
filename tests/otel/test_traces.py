"""One trace goes through the table: with tasks, changes, mutations; and nothing is stored where nobody traces."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from inspect import isawaitable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from singletable import Table, attr
from singletable.errors import TooLarge
from singletable.events import Event, RequestEnded
from singletable.streams import Changes
from singletable.tasks import Backoff, NothingToDo, Tasks
from singletable.values import MAX_ITEM_BYTES, item_size
from tests.otel.traced import (
    CANARY,
    Note,
    Order,
    Picture,
    Recorded,
    id_of,
    is_child,
    parent_of,
    plain,
    shop,
    text_of,
    trace_of,
)
from tests.support.raw import all_items, put_raw
from tests.support.shells import Shell, opened
from tests.support.workers import change_worker, task_worker

TRACE_BYTES = 66
"""Those of the attribute in an item, without a state: `_trace`, 55 of the parent, a point and 4."""


async def stored(shell: Shell, table: Table = shop) -> list[dict[str, Any]]:
    """The items of an application and its tasks, as the engine has them."""
    items = await run(shell, all_items(shell.port, table.name))
    return [item for item in items if item["_type"]["S"] != "_hold"]


async def run(shell: Any, flow: Any) -> Any:
    answer = shell.run(flow)
    return await answer if isawaitable(answer) else answer


def handler_of(kind: str, act: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A handler in the form of a shell."""

    async def handle(change: Any) -> None:
        act(change)

    return handle if kind == "awaiting" else act


async def schedule(shell: Shell, scheduled: Any) -> None:
    async with shell.transaction() as tx:
        tx.add(scheduled)


async def test_a_task_goes_on_with_the_trace(shell: Shell, recorded: Recorded) -> None:
    tasks = Tasks(shop, index="gsi1")
    seen: list[int] = []

    @tasks.task
    def mail(to: str) -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    with recorded.request() as request:
        await schedule(shell, tasks.after(timedelta(0), mail(CANARY)))
    await task_worker(shell, tasks).drain()
    made, ran = recorded.named("create mail"), recorded.named("process mail")
    assert (made.kind, ran.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert is_child(made, request)
    assert is_child(ran, made)
    assert [link.context.span_id for link in ran.links] == [id_of(made)]
    assert seen == [id_of(ran)]
    assert is_child(recorded.named("DeleteItem shop"), ran)
    said = dict(ran.attributes or {})
    assert said["messaging.system"] == "singletable_tasks"
    assert said["messaging.operation.type"] == "process"
    assert len(str(said["singletable.key_hash"])) == 16
    assert not [span for span in recorded.spans if CANARY in text_of(span)]


@pytest.mark.parametrize("order", [None, "mails"])
async def test_each_try_is_a_span_and_says_its_failure(shell: Shell, recorded: Recorded, order: str | None) -> None:
    tasks, tries = Tasks(shop, index="gsi1"), [ValueError(CANARY), NothingToDo(CANARY)]

    @tasks.task(tries=2, backoff=Backoff(0.001, 0.001))
    def mail(to: str) -> None:
        raise tries.pop(0)

    with recorded.request() as request:
        await schedule(shell, tasks.after(timedelta(0), mail("x"), order=order))
    await task_worker(shell, tasks).drain()
    while tries:
        await shell.port.sleep(0.05)
        await task_worker(shell, tasks).drain()
    first, second = [span for span in recorded.spans if span.name == "process mail"]
    assert trace_of(first) == trace_of(second) == trace_of(request)
    assert [dict(span.attributes or {})["singletable.attempt"] for span in (first, second)] == [1, 2]
    assert dict(first.attributes or {})["error.type"] == "ValueError"
    assert first.status.status_code is StatusCode.ERROR
    assert second.status.status_code is StatusCode.UNSET
    assert len([span for span in recorded.spans if span.name == "create mail"]) == 1
    assert not [span for span in recorded.spans if CANARY in text_of(span)]


async def test_a_change_goes_on_with_the_trace_of_its_write(shell: Shell, recorded: Recorded, kind: str) -> None:
    changes, handled = Changes(shop), []
    on = changes.on(Order)
    for what in (on.inserted, on.modified, on.removed):
        what(handler_of(kind, lambda change: handled.append(change.event)))
    requests = []
    for number in range(2):
        with recorded.request(f"request {number}") as request:
            await shell.put(Order(customer=CANARY, number=number))
            await shell.update(Order.of_customer(CANARY, number), attr(Order.note).set("other"))
            await shell.write_many(puts=[Order(customer=CANARY, number=number + 10)])
            async with shell.transaction() as tx:
                tx.put(Order(customer=CANARY, number=number + 20))
        requests.append(request)
    await shell.delete(Order.of_customer(CANARY, 0))
    await change_worker(shell, changes).drain()
    spans = [span for span in recorded.spans if span.name == "process shop"]
    assert len(spans) == len(handled) == 9
    of = {id: [dict(s.attributes or {})["singletable.change"] for s in spans if parent_of(s) == id] for id in
          (id_of(request) for request in requests)}  # fmt: skip
    assert [sorted(map(str, found)) for found in of.values()] == [["order#INSERT"] * 3 + ["order#MODIFY"]] * 2
    (removed,) = [span for span in spans if dict(span.attributes or {})["singletable.change"] == "order#REMOVE"]
    assert (removed.parent, removed.links) == (None, ())
    assert dict(removed.attributes or {})["messaging.consumer.group.name"] == "changes"
    assert not [span for span in recorded.spans if CANARY in text_of(span)]


async def test_a_change_without_a_trace_is_not_that_of_the_one_before(
    shell: Shell, recorded: Recorded, kind: str
) -> None:
    changes = Changes(shop)
    changes.on(Order).modified(handler_of(kind, lambda change: None))
    key = Order.of_customer("ada", 1)
    with recorded.request() as request:
        await shell.put(Order(customer="ada"))
        await shell.update(key, attr(Order.note).set("1"))  # the same span: another text all the same
    await shell.update(key, attr(Order.note).set("2"))
    await change_worker(shell, changes).drain()
    traced, untraced = [span for span in recorded.spans if span.name == "process shop"]
    assert parent_of(traced) == id_of(request)
    assert parent_of(untraced) == 0


async def test_what_is_stored_and_its_bytes(shell: Shell, recorded: Recorded) -> None:
    order = Order(customer="ada")
    with recorded.request():
        await shell.put(order)
        await shell.put(Note(id="1"))
    (item,) = await stored(shell)
    text = item["_trace"]["S"]
    assert len("_trace") + len(text) == TRACE_BYTES
    assert [dict(note).get("_trace") for note in await stored(shell, plain)] == [None]  # its changes are told to nobody
    read = await shell.get(Order.of_customer("ada", 1))
    assert read == order
    await shell.put(read)
    (item,) = await stored(shell)
    assert "_trace" not in item  # written without a span: nothing is carried on


@pytest.mark.parametrize("listening", [True, False])
async def test_nothing_is_stored_where_nobody_traces(kind: str, listening: bool) -> None:
    """A listener that carries nothing, and none: the same items, in as many requests and bytes."""
    heard: list[Event] = []
    tasks = Tasks(shop, index="gsi1")

    @tasks.task
    def mail(to: str) -> None: ...

    async with opened(kind, listeners=[heard.append] if listening else []) as shell:
        with shell.meter() as meter:
            await shell.create(Order(customer="ada"))
            await shell.update(Order.of_customer("ada", 1), attr(Order.note).set("1"))
            await schedule(shell, tasks.after(timedelta(0), mail("x"), key="k"))
            await shell.upsert(Order(customer="bob"))
        names = {name for item in await stored(shell) for name in item}
    assert not names & {"_trace", "trace"}
    assert meter.requests == 4
    assert len([event for event in heard if isinstance(event, RequestEnded)]) >= 4 * listening


async def test_carrying_takes_no_request_and_no_unit_more(kind: str, recorded: Recorded) -> None:
    used: list[tuple[int, float]] = []
    for listeners in ([], [recorded.listener()]):
        async with opened(kind, listeners=listeners) as shell:
            await shell.create_table(shop)
            with recorded.request(), shell.meter() as meter:
                await shell.create(Order(customer="ada"))
                await shell.update(Order.of_customer("ada", 1), attr(Order.note).set("1"))
                await shell.upsert(Order(customer="bob"))
            assert ["_trace" in item for item in await stored(shell)] == [bool(listeners)] * 2
        used.append((meter.requests, meter.write_units))
    assert used[0] == used[1] == (3, 7.0)


@pytest.mark.parametrize(
    "text", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 9000, "\u0660" * 55, None, 7]
)
async def test_what_a_foreign_program_left_is_no_context(
    shell: Shell, recorded: Recorded, kind: str, text: Any
) -> None:
    changes, tasks, ran = Changes(shop), Tasks(shop, index="gsi1"), []

    @tasks.task
    def mail(to: str) -> None:
        ran.append(to)

    changes.on(Order).inserted(handler_of(kind, lambda change: ran.append(change.new.customer)))
    await shell.put(Order(customer="ada"))
    await schedule(shell, tasks.after(timedelta(0), mail("x")))
    order, task = sorted(await stored(shell), key=lambda item: item["_type"]["S"], reverse=True)
    value = {"S": text} if isinstance(text, str) else {"NULL": True} if text is None else {"N": str(text)}
    key = {"sk": {"S": "order#000002"}, "number": {"N": "2"}}
    await run(shell, put_raw(shell.port, Order, {**order, **key, "_trace": value}))
    if isinstance(text, str):  # of another type it is a damaged task
        await run(shell, put_raw(shell.port, Order, {**task, "trace": value}))
    await change_worker(shell, changes).drain()
    await task_worker(shell, tasks).drain()
    assert sorted(ran) == ["ada", "ada", "x"]
    assert [parent_of(span) for span in recorded.spans if span.kind is SpanKind.CONSUMER] == [0, 0, 0]
    assert await shell.get(Order.of_customer("ada", 2)) == Order(customer="ada", number=2)


@pytest.mark.parametrize("parent", ["message", "ambient"])
async def test_the_current_span_may_be_the_parent(kind: str, recorded: Recorded, parent: Any) -> None:
    tasks = Tasks(shop, index="gsi1")

    @tasks.task
    def mail(to: str) -> None: ...

    async with opened(kind, listeners=[recorded.listener(parent=parent, changes=False)]) as shell:
        with recorded.request():
            await schedule(shell, tasks.after(timedelta(0), mail("x")))
            await shell.put(Order(customer="ada"))
        with recorded.request("lambda") as ambient:
            await task_worker(shell, tasks).drain()
        assert not [item for item in await stored(shell) if "_trace" in item]
    made, ran = id_of(recorded.named("create mail")), recorded.named("process mail")
    here = id_of(ambient)
    assert parent_of(ran) == (made if parent == "message" else here)
    assert {link.context.span_id for link in ran.links} == ({made, here} if parent == "message" else {made})


async def test_a_recurring_task_begins_a_trace_of_its_own(shell: Shell, recorded: Recorded) -> None:
    tasks = Tasks(shop, index="gsi1")

    @tasks.task
    def again(left: int) -> None: ...

    await schedule(shell, tasks.after(timedelta(0), again(1)))  # without a current span
    await task_worker(shell, tasks).drain()
    assert [parent_of(span) for span in recorded.spans if span.name == "process again"] == [0]
    assert not [span for span in recorded.spans if span.name == "create again"]


@pytest.mark.parametrize(("room", "is_traced"), [(TRACE_BYTES, True), (TRACE_BYTES - 1, False), (0, False)])
async def test_an_item_at_the_limit_is_written_without_a_context(
    shell: Shell, recorded: Recorded, room: int, is_traced: bool
) -> None:
    await shell.put(Picture(id="1"))
    (least,) = await stored(shell)
    picture = Picture(id="1", data="x" * (MAX_ITEM_BYTES - item_size(least) - room))
    with recorded.request():
        await shell.put(picture)
    (put,) = await stored(shell)
    with recorded.request():
        await shell.write_many(puts=[picture])
    (batched,) = await stored(shell)
    with recorded.request():
        async with shell.transaction() as tx:
            tx.put(picture)
    (transacted,) = await stored(shell)
    assert ["_trace" in item for item in (put, batched, transacted)] == [is_traced] * 3
    assert await shell.get(Picture.by_id("1")) == picture
    with recorded.request(), pytest.raises(TooLarge):
        await shell.put(Picture(id="1", data="x" * MAX_ITEM_BYTES))
