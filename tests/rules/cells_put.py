"""The row of put."""

from __future__ import annotations

from dataclasses import replace

import pytest

from singletable import AlreadyExists, NotUnique, VersionMoved
from tests.faults.actions import ApplyThenCut
from tests.rules.bench import Bench, cell
from tests.rules.models import Counted, Named, One, Other, Passing, Plain, Session

PLAIN = Plain(id="1", text="a", count=3, phone="12")


@cell("put", "missing")
async def writes(bench: Bench) -> None:
    await bench.shell.put(PLAIN)
    assert await bench.shell.get(Plain.by_id("1")) == PLAIN
    assert bench.requests == {"PutItem": 1, "GetItem": 1}


@cell("put", "other-type")
async def refused(bench: Bench) -> None:
    foreign = await bench.place_foreign(Plain.by_id("1"))
    with pytest.raises(AlreadyExists):
        await bench.shell.put(PLAIN)
    assert await bench.raw(Plain.by_id("1")) == foreign
    await bench.shell.put(One(id="1", text="first"))
    with pytest.raises(AlreadyExists) as caught:
        await bench.shell.put(Other(id="1"))
    assert caught.value.of_another_type
    await bench.shell.put(One(id="1", text="second"))
    assert await bench.shell.get(One.by_id("1")) == One(id="1", text="second")


@cell("put", "version")
async def must_equal_the_entitys(bench: Bench) -> None:
    mine = Counted(id="1", text="a")
    await bench.shell.put(mine)
    yours = replace(mine)
    await bench.shell.put(yours)
    assert (mine.revision, yours.revision) == (1, 2)
    with pytest.raises(VersionMoved) as caught:
        await bench.shell.put(replace(mine, text="late"))
    assert caught.value.stored == yours
    with pytest.raises(VersionMoved):
        await bench.shell.put(Counted(id="1", text="never read"))
    assert await bench.shell.get(Counted.by_id("1")) == yours
    with pytest.raises(VersionMoved):
        await bench.shell.put(Counted(id="2", revision=3))
    assert await bench.raw(Counted.by_id("2")) is None


@cell("put", "unique")
async def reads_the_old_value(bench: Bench) -> None:
    await bench.shell.create(Named(id="1", email="a@x", nick="ada"))
    bench.start()
    await bench.shell.put(Named(id="1", email="b@x"))
    assert bench.requests == {"GetItem": 1, "TransactWriteItems": 1}
    assert await bench.guards() == {"b@x"}
    with pytest.raises(NotUnique):
        await bench.shell.put(Named(id="2", email="b@x"))
    await bench.shell.put(Named(id="2", email="a@x"))
    assert await bench.guards() == {"a@x", "b@x"}
    assert await bench.is_sound()


@cell("put", "expired")
async def overwritten(bench: Bench) -> None:
    await bench.shell.create(Passing(id="1", ends=bench.clock.datetime(60), text="old"))
    session = Session(id="1", token="t", ends=bench.clock.datetime(60))
    await bench.shell.create(session)
    await bench.shell.put(session)
    bench.clock.advance(61)
    await bench.shell.put(Passing(id="1", text="new"))
    assert await bench.shell.get(Passing.by_id("1")) == Passing(id="1", text="new")
    fresh = Session(id="1", token="u")
    await bench.shell.put(fresh)
    assert fresh.revision == 1
    assert await bench.shell.get(Session.by_id("1")) == fresh
    assert await bench.is_sound()


@cell("put", "lost")
async def repeated(bench: Bench) -> None:
    bench.lose("PutItem", ApplyThenCut(), times=2)
    await bench.shell.put(PLAIN)
    assert bench.requests == {"PutItem": 3}
    assert await bench.shell.get(Plain.by_id("1")) == PLAIN
    counted = Counted(id="1")
    bench.lose("PutItem", ApplyThenCut())
    await bench.shell.put(counted)
    assert counted.revision == 1
    assert await bench.shell.get(Counted.by_id("1")) == counted
