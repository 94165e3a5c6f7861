"""The row of delete."""

from __future__ import annotations

import pytest

from singletable import VersionMoved, attr
from tests.faults.actions import ApplyThenCut
from tests.rules.bench import Bench, cell
from tests.rules.models import Counted, Named, Passing, Plain

PLAIN = Plain(id="1", text="a", phone="12")
KEY = Plain.by_id("1")


@cell("delete", "missing")
async def gives_none(bench: Bench) -> None:
    assert await bench.shell.delete(KEY) is None
    assert await bench.shell.delete(KEY, where=attr(Plain.text) == "a") is None
    assert await bench.shell.delete(Named.by_id("1")) is None
    await bench.shell.put(PLAIN)
    assert await bench.shell.delete(KEY) == PLAIN
    assert await bench.raw(KEY) is None


@cell("delete", "other-type")
async def leaves_it_alone(bench: Bench) -> None:
    for key in (KEY, Named.by_id("1")):
        foreign = await bench.place_foreign(key)
        assert await bench.shell.delete(key) is None
        assert await bench.raw(key) == foreign
    assert await bench.shell.delete(KEY, where=attr(Plain.text) == "a") is None
    assert await bench.raw(KEY) is not None


@cell("delete", "version")
async def compared_when_given(bench: Bench) -> None:
    mine = Counted(id="1")
    await bench.shell.create(mine)
    now = await bench.shell.update(Counted.by_id("1"), attr(Counted.count).add(1))
    with pytest.raises(VersionMoved) as caught:
        await bench.shell.delete(mine)
    assert caught.value.stored == now
    with pytest.raises(VersionMoved):
        await bench.shell.delete(Counted.by_id("1"), expected=1)
    assert await bench.shell.delete(now) == now
    await bench.shell.create(mine)
    assert await bench.shell.delete(Counted.by_id("1")) == mine


@cell("delete", "unique")
async def removes_the_guard(bench: Bench) -> None:
    named = Named(id="1", email="a@x", nick="ada")
    await bench.shell.create(named)
    bench.start()
    assert await bench.shell.delete(Named.by_id("1")) == named
    assert bench.requests == {"GetItem": 1, "TransactWriteItems": 1}
    assert await bench.guards() == set()
    await bench.shell.create(Named(id="2", email="a@x", nick="ada"))
    assert await bench.is_sound()


@cell("delete", "expired")
async def expired_gives_none(bench: Bench) -> None:
    await bench.shell.create(Passing(id="1", ends=bench.clock.datetime(60)))
    bench.clock.advance(61)
    assert await bench.shell.delete(Passing.by_id("1"), where=attr(Passing.text) == "") is None
    assert await bench.shell.delete(Passing.by_id("1")) is None
    await bench.shell.create(Passing(id="1"))
    assert await bench.shell.get(Passing.by_id("1")) is not None


@cell("delete", "lost")
async def repeated(bench: Bench) -> None:
    await bench.shell.put(PLAIN)
    bench.start()
    bench.lose("DeleteItem", ApplyThenCut(), times=2)
    await bench.shell.delete(KEY)
    assert bench.requests == {"DeleteItem": 3}
    counted = Counted(id="1")
    await bench.shell.create(counted)
    bench.lose("DeleteItem", ApplyThenCut())
    await bench.shell.delete(counted)
    assert (await bench.raw(KEY), await bench.raw(Counted.by_id("1"))) == (None, None)
    named = Named(id="1", email="a@x")
    await bench.shell.create(named)
    bench.lose("TransactWriteItems", ApplyThenCut())
    assert await bench.shell.delete(Named.by_id("1")) == named
    assert await bench.guards() == set()
