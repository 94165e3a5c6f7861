"""The row of write_many."""

from __future__ import annotations

import pytest

from singletable import InvalidRequest
from tests.faults.actions import ApplyThenCut
from tests.rules.bench import Bench, cell
from tests.rules.models import Counted, Named, One, Passing, Plain

MANY = [Plain(id=f"{n:02}", count=n) for n in range(30)]


@cell("write_many", "missing")
async def writes(bench: Bench) -> None:
    await bench.shell.write_many(puts=MANY, deletes=[Plain.by_id("never")])
    assert await bench.shell.get_many([Plain.by_id(p.id) for p in MANY]) == MANY
    await bench.shell.write_many(deletes=[Plain.by_id(p.id) for p in MANY])
    assert await bench.shell.get_many([Plain.by_id(p.id) for p in MANY]) == []


@cell("write_many", "other-type")
async def overwritten_but_where_texts_can_meet(bench: Bench) -> None:
    await bench.place_foreign(Plain.by_id("00"))
    await bench.shell.write_many(puts=MANY[:1])
    assert await bench.shell.get(Plain.by_id("00")) == MANY[0]
    bench.start()
    with pytest.raises(InvalidRequest, match="guard"):
        await bench.shell.write_many(puts=[One(id="1")])
    with pytest.raises(InvalidRequest, match="guard"):
        await bench.shell.write_many(deletes=[One.by_id("1")])
    assert bench.requests == {}


@cell("write_many", "version")
async def refused_with_a_version(bench: Bench) -> None:
    with pytest.raises(InvalidRequest, match="version"):
        await bench.shell.write_many(puts=[MANY[0], Counted(id="1")])
    with pytest.raises(InvalidRequest, match="version"):
        await bench.shell.write_many(deletes=[Counted.by_id("1")])
    assert bench.requests == {}


@cell("write_many", "unique")
async def refused_with_a_unique_value(bench: Bench) -> None:
    with pytest.raises(InvalidRequest, match="unique"):
        await bench.shell.write_many(puts=[MANY[0], Named(id="1", email="a@x")])
    with pytest.raises(InvalidRequest, match="unique"):
        await bench.shell.write_many(deletes=[Named.by_id("1")])
    assert bench.requests == {}


@cell("write_many", "expired")
async def overwritten(bench: Bench) -> None:
    await bench.shell.create(Passing(id="1", ends=bench.clock.datetime(60), text="old"))
    bench.clock.advance(61)
    await bench.shell.write_many(puts=[Passing(id="1", text="new")])
    assert await bench.shell.get(Passing.by_id("1")) == Passing(id="1", text="new")


@cell("write_many", "lost")
async def repeated(bench: Bench) -> None:
    bench.lose("BatchWriteItem", ApplyThenCut(), times=2)
    await bench.shell.write_many(puts=MANY)
    assert bench.requests == {"BatchWriteItem": 4}
    assert await bench.shell.get_many([Plain.by_id(p.id) for p in MANY]) == MANY
