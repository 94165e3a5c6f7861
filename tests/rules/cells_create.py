"""The row of create."""

from __future__ import annotations

from dataclasses import replace

import pytest

from singletable import AlreadyExists, NotUnique
from tests.faults.actions import ApplyThenCut
from tests.rules.bench import Bench, cell
from tests.rules.models import Counted, Named, Passing, Plain

PLAIN = Plain(id="1", text="a", count=3, phone="12")
KEY = Plain.by_id("1")


@cell("create", "missing")
async def writes(bench: Bench) -> None:
    await bench.shell.create(PLAIN)
    assert await bench.shell.get(KEY) == PLAIN
    assert bench.requests == {"PutItem": 1, "GetItem": 1}
    with pytest.raises(AlreadyExists) as caught:
        await bench.shell.create(replace(PLAIN, text="b"))
    assert not caught.value.of_another_type
    assert await bench.shell.get(KEY) == PLAIN


@cell("create", "other-type")
async def already_exists(bench: Bench) -> None:
    foreign = await bench.place_foreign(KEY)
    with pytest.raises(AlreadyExists) as caught:
        await bench.shell.create(PLAIN)
    assert caught.value.of_another_type
    assert await bench.raw(KEY) == foreign


@cell("create", "version")
async def begins_at_one(bench: Bench) -> None:
    counted = Counted(id="1", revision=7)
    await bench.shell.create(counted)
    assert counted.revision == 1
    assert await bench.shell.get(Counted.by_id("1")) == Counted(id="1", revision=1)


@cell("create", "unique")
async def with_its_guard(bench: Bench) -> None:
    await bench.shell.create(Named(id="1", email="a@x", nick="ada"))
    assert bench.requests == {"TransactWriteItems": 1}
    assert await bench.guards() == {"a@x", "ada"}
    for taken in (Named(id="2", email="a@x"), Named(id="2", email="b@x", nick="ada")):
        with pytest.raises(NotUnique):
            await bench.shell.create(taken)
    assert await bench.shell.get(Named.by_id("2")) is None
    assert await bench.guards() == {"a@x", "ada"}
    assert await bench.is_sound()


@cell("create", "expired")
async def over_an_expired_one(bench: Bench) -> None:
    old = Passing(id="1", ends=bench.clock.datetime(60), text="old")
    await bench.shell.create(old)
    with pytest.raises(AlreadyExists):
        await bench.shell.create(replace(old, text="too early"))
    bench.clock.advance(61)
    new = Passing(id="1", text="new")
    await bench.shell.create(new)
    assert await bench.shell.get(Passing.by_id("1")) == new


@cell("create", "lost")
async def settled_by_its_write_id(bench: Bench) -> None:
    bench.lose("PutItem", ApplyThenCut(), times=2)
    await bench.shell.create(PLAIN)
    assert bench.requests == {"PutItem": 3} | bench.proofs(1)
    assert await bench.shell.get(KEY) == PLAIN
    bench.lose("PutItem", ApplyThenCut())
    with pytest.raises(AlreadyExists):
        await bench.shell.create(replace(PLAIN, text="another's"))
    assert await bench.shell.get(KEY) == PLAIN
