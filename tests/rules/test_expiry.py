"""Expiry, at the very second: an item is gone from `ends` on, for every verb, and its guard with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from singletable import AlreadyExists, NotFound, NotUnique, attr
from singletable.records import flows
from tests.rules.bench import Bench
from tests.rules.models import Passing, Session, shop
from tests.support.raw import all_items

KEY = Passing.by_id("1")
READS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "get": lambda s: s.get(KEY),
    "get_many": lambda s: s.get_many([KEY]),
    "all": lambda s: s.all(KEY),
    "page": lambda s: s.page(KEY),
    "iter": lambda s: _list(s.iter(KEY)),
    "scan": lambda s: _list(s.scan(Passing)),
}


async def _list(found: Any) -> list[Any]:
    return [each async for each in found]


@pytest.mark.parametrize("read", READS)
async def test_reads_do_not_see_it_from_its_end_on(bench: Bench, read: str) -> None:
    ends = bench.clock.datetime(60)
    await bench.shell.create(Passing(id="1", ends=ends))
    bench.clock.advance(59)
    found = await READS[read](bench.shell)
    assert (found if read == "get" else next(iter(found))) == Passing(id="1", ends=ends)
    bench.clock.advance(1)
    found = await READS[read](bench.shell)
    assert found is None or list(found) == []


async def test_writes_do_not_see_it_from_its_end_on(bench: Bench) -> None:
    await bench.shell.create(Passing(id="1", ends=bench.clock.datetime(60)))
    bench.clock.advance(59)
    with pytest.raises(AlreadyExists):
        await bench.shell.create(Passing(id="1"))
    await bench.shell.update(KEY, attr(Passing.text).set("alive"))
    bench.clock.advance(1)
    with pytest.raises(NotFound):
        await bench.shell.update(KEY, attr(Passing.text).set("dead"))
    await bench.shell.create(Passing(id="1", text="new"))
    assert await bench.shell.get(KEY) == Passing(id="1", text="new")


async def test_a_guard_ends_with_its_item(bench: Bench) -> None:
    ends = bench.clock.datetime(60)
    await bench.shell.create(Session(id="1", token="t", ends=ends))
    assert await _guard_ends(bench) == {"t": str(int(ends.timestamp()))}
    bench.clock.advance(59)
    with pytest.raises(NotUnique):
        await bench.shell.create(Session(id="2", token="t"))
    bench.clock.advance(1)
    await bench.shell.create(Session(id="2", token="t"))
    assert await _guard_ends(bench) == {"t": None}
    assert await bench.is_sound()


async def test_a_guard_follows_the_end_of_its_item(bench: Bench) -> None:
    session = Session(id="1", token="t", ends=bench.clock.datetime(60))
    await bench.shell.create(session)
    later = bench.clock.datetime(600)
    moves: tuple[Callable[[], Awaitable[Any]], ...] = (
        lambda: bench.shell.put(replace(session, ends=later)),
        lambda: bench.shell.update(Session.by_id("1"), attr(Session.ends).set(later + timedelta(seconds=1))),
        lambda: bench.shell.upsert(Session(id="1", token="t", ends=later + timedelta(seconds=2))),
    )
    for n, move in enumerate(moves):
        await move()
        assert await _guard_ends(bench) == {"t": str(int(later.timestamp()) + n)}
    await bench.shell.update(Session.by_id("1"), attr(Session.ends).remove())
    assert await _guard_ends(bench) == {"t": None}
    assert await bench.is_sound()


async def test_a_sweep_leaves_nothing_behind(bench: Bench) -> None:
    await bench.shell.create(Session(id="1", token="t", ends=bench.clock.datetime(60)))
    await bench.shell.create(Session(id="2", token="u"))
    bench.clock.advance(60)
    assert await bench.shell.run(flows.sweep_table(bench.shell.port, shop)) == 2
    assert await bench.guards() == {"u"}
    assert await bench.is_sound()


async def test_a_clock_that_is_set_back_brings_it_back_and_breaks_nothing(bench: Bench) -> None:
    """F-L1: an item may come back by as much as the clock was wrong; no two items share a value."""
    await bench.shell.create(Session(id="1", token="t", ends=bench.clock.datetime(60)))
    bench.clock.advance(61)
    assert await bench.shell.get(Session.by_id("1")) is None
    bench.clock.set_back(3600)
    assert await bench.shell.get(Session.by_id("1")) is not None
    with pytest.raises(NotUnique):
        await bench.shell.create(Session(id="2", token="t"))
    assert await bench.is_sound()


async def _guard_ends(bench: Bench) -> dict[str, str | None]:
    items = await all_items(bench.shell.port, shop.name)
    guards = [item for item in items if item["_type"] == {"S": "_unique"}]
    return {i["pk"]["S"].rpartition("#")[2]: i.get(shop.ttl_name, {}).get("N") for i in guards}
