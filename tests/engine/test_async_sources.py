"""write_many of async iterators: the promises of plain ones, and the event loop goes on while they wait."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
from __future__ import annotations

import asyncio  # noqa: TID251 the awaiting shell
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from singletable import AsyncDatabase, InvalidRequest, key_of
from singletable.errors import Incomplete
from singletable.flow import FlowSuspended
from singletable.raw import AsyncRaw
from tests.engine.test_batches import ADA, EVERY, Elsewhere, Throttling
from tests.support.engines import fresh, fresh_async
from tests.support.models import Membership, app, membership


@pytest.fixture
async def db() -> AsyncIterator[AsyncDatabase]:
    async with fresh_async() as made:
        yield made


async def slowly(items: Iterable[Any]) -> AsyncIterator[Any]:
    """Each after another turn of the loop."""
    for item in items:
        await asyncio.sleep(0)
        yield item


async def test_it_is_sent_while_it_is_read(db: AsyncDatabase) -> None:
    """One request after 25 items, then 16 after 400 each: as of a plain iterator, in this task and no thread."""
    await db.write_many(puts=EVERY[:1])
    sent: list[int] = []
    tasks: set[Any] = set()

    async def entities(count: int) -> AsyncIterator[Membership]:
        for number in range(count):
            await asyncio.sleep(0)
            sent.append(meter.requests)
            tasks.add(asyncio.current_task())
            yield membership(number)

    with db.meter() as meter:
        await db.write_many(puts=entities(900))
    assert sent == [0] * 25 + [1] * 400 + [17] * 400 + [33] * 75
    assert (meter.requests, meter.round_trips) == (36, 4)
    assert tasks == {asyncio.current_task()}
    with db.meter() as meter:
        await db.write_many(puts=EVERY[:50], deletes=slowly(key_of(membership(n)) for n in range(50, 900)))
    assert await db.all(Membership.of_user(ADA)) == EVERY[:50]
    assert (meter.requests, meter.round_trips) == (2 + 34, 1 + 4)


async def test_no_more_than_a_round_of_each_table_is_held(db: AsyncDatabase) -> None:
    """Also where writes of two tables take turns: an item is read when there is room for it."""
    await db.write_many(puts=[EVERY[0], Elsewhere(id="0")])
    read, most = 0, 0

    async def entities() -> AsyncIterator[Any]:
        nonlocal read, most
        for number in range(1, 1300):
            read += 1
            most = max(most, read - 25 * meter.requests)
            yield Elsewhere(id=str(number)) if number % 3 else membership(number)

    with db.meter() as meter:
        await db.write_many(puts=entities())
    assert read == 1299
    assert 600 <= most < 800
    assert meter.requests == 1 + 3 * 16 + 2 + 2
    assert await db.get(Elsewhere.by_id("1298")) == Elsewhere(id="1298")
    assert await db.get(key_of(membership(1299 - 3))) == membership(1299 - 3)


async def test_a_source_that_fails_and_one_with_a_key_twice(db: AsyncDatabase) -> None:
    async def entities() -> AsyncIterator[Membership]:
        async for entity in slowly(EVERY[:26]):
            yield entity
        raise KeyError("the source")

    with pytest.raises(KeyError, match="the source") as caught:
        await db.write_many(puts=entities(), deletes=EVERY[50:])
    assert caught.value.__notes__ == ["write_many had read 26 of its iterator, and written 25 of them."]
    assert await db.all(Membership.of_user(ADA)) == EVERY[:25]
    with pytest.raises(InvalidRequest, match="two writes of the same Membership") as refused:
        await db.write_many(puts=slowly([*EVERY[:30], EVERY[28], EVERY[31]]))
    assert refused.value.__notes__ == ["write_many had read 32 of its iterator, and written 25 of them."]
    with db.meter() as meter, pytest.raises(InvalidRequest, match="two writes of the same Membership"):
        await db.write_many(puts=slowly([EVERY[2]]), deletes=[EVERY[2]])
    assert meter.requests == 1


async def test_what_stays_undone_and_how_far_it_was_read(db: AsyncDatabase) -> None:
    from singletable.records.flows import write_many

    port = Throttling(db.port, refusals=10**6, of=3)
    source = slowly([Elsewhere(id="1"), *EVERY])
    with pytest.raises(Incomplete, match="Then go on with what follows in the iterator: 26 were read of it") as caught:
        await db.run(write_many(port, source, ()))
    assert list(caught.value.rest) == [*EVERY[:3], Elsewhere(id="1")]
    assert caught.value.read == 26
    await db.write_many(puts=caught.value.rest)
    await db.write_many(puts=source)
    assert await db.all(Membership.of_user(ADA)) == EVERY
    assert await db.get(Elsewhere.by_id("1")) == Elsewhere(id="1")


async def test_a_cancelled_one_sends_nothing_more(db: AsyncDatabase) -> None:
    await db.write_many(puts=EVERY[50:51])
    waits = asyncio.Event()

    async def entities() -> AsyncIterator[Membership]:
        async for entity in slowly(EVERY[:30]):
            yield entity
        waits.set()
        await asyncio.Event().wait()

    writing = asyncio.ensure_future(db.write_many(puts=entities()))
    await waits.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await db.all(Membership.of_user(ADA)) == [*EVERY[:25], EVERY[50]]


async def test_of_plain_items(db: AsyncDatabase) -> None:
    """Of a table by its name a key among the deletes shows its attributes, before puts are read."""
    raw, by_name = AsyncRaw(db, app), AsyncRaw(db, "app")
    items = [{"pk": f"p{number}", "sk": "s"} for number in range(101)]
    with db.meter() as meter:
        await raw.write_many(puts=slowly(items))
    assert await raw.get_many(items) == items
    assert (meter.requests, meter.round_trips) == (5, 2)
    with pytest.raises(InvalidRequest, match="two writes of the same item in one batch") as caught:
        await by_name.write_many(puts=slowly([{**items[0], "n": 1}]), deletes=slowly([items[30], items[0]]))
    assert caught.value.__notes__ == ["write_many had read 3 of its iterator, and written 0 of them."]
    await by_name.write_many(deletes=slowly(items))
    assert await raw.get_many(items) == []
    await by_name.write_many(puts=slowly(items[:2]), deletes=slowly(()))
    assert await raw.get_many(items) == items[:2]


def test_the_blocking_shell_has_no_loop_for_one() -> None:
    with fresh() as db:
        db.write_many(puts=EVERY[:1])
        with db.meter() as meter, pytest.raises(FlowSuspended, match="awaited something that is not its port"):
            db.write_many(puts=slowly(EVERY))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert meter.requests == 0
