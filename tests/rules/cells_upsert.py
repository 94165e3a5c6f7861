"""The row of upsert, with updates and without."""

from __future__ import annotations

from dataclasses import replace

import pytest

from singletable import AlreadyExists, NotUnique, OutcomeUnknown, attr
from tests.faults.actions import ApplyThenCut
from tests.rules.bench import Bench, cell
from tests.rules.models import Counted, Named, Passing, Plain, Session

PLAIN = Plain(id="1", text="a", count=3, phone="12")
KEY = Plain.by_id("1")


@cell("upsert", "missing")
async def writes_whole_with_all_keys(bench: Bench) -> None:
    assert await bench.shell.upsert(PLAIN) == PLAIN
    assert await bench.shell.all(Plain.by_phone("12")) == [PLAIN]
    other = replace(PLAIN, id="2", phone="34")
    assert await bench.shell.upsert(other, attr(Plain.count).add(1)) == replace(other, count=4)
    assert await bench.shell.all(Plain.by_phone("34")) == [replace(other, count=4)]
    assert await bench.shell.upsert(other, attr(Plain.count).add(1)) == replace(other, count=5)
    assert await bench.is_sound()


@cell("upsert", "other-type")
async def refused(bench: Bench) -> None:
    foreign = await bench.place_foreign(KEY)
    for changes in ([], [attr(Plain.count).add(1)]):
        with pytest.raises(AlreadyExists) as caught:
            await bench.shell.upsert(PLAIN, *changes)
        assert caught.value.of_another_type
    assert await bench.raw(KEY) == foreign


@cell("upsert", "version")
async def one_more_always(bench: Bench) -> None:
    first = await bench.shell.upsert(Counted(id="1", text="a"))
    second = await bench.shell.upsert(Counted(id="1", text="b"))
    third = await bench.shell.upsert(Counted(id="1"), attr(Counted.count).add(2))
    assert [first.revision, second.revision, third.revision] == [1, 2, 3]
    assert third == Counted(id="1", text="b", count=2, revision=3)
    assert await bench.shell.get(Counted.by_id("1")) == third


@cell("upsert", "unique")
async def reads_the_old_value(bench: Bench) -> None:
    await bench.shell.upsert(Named(id="1", email="a@x", nick="ada"))
    bench.start()
    assert await bench.shell.upsert(Named(id="1", email="b@x")) == Named(id="1", email="b@x")
    assert bench.requests["TransactWriteItems"] == 1
    with pytest.raises(NotUnique):
        await bench.shell.upsert(Named(id="2", email="b@x"))
    with pytest.raises(NotUnique):
        await bench.shell.upsert(Named(id="2", email="b@x"), attr(Named.count).add(1))
    await bench.shell.upsert(Named(id="2", email="c@x"), attr(Named.email).set("a@x"))
    assert await bench.guards() == {"a@x", "b@x"}
    assert await bench.is_sound()


@cell("upsert", "expired")
async def as_if_absent(bench: Bench) -> None:
    for n, changes in (("1", []), ("2", [attr(Passing.text).set("changed")])):
        await bench.shell.create(Passing(id=n, ends=bench.clock.datetime(60), text="old"))
        bench.clock.advance(61)
        fresh = Passing(id=n, text="changed")
        assert await bench.shell.upsert(fresh, *changes) == fresh
        assert await bench.shell.get(Passing.by_id(n)) == fresh
    await bench.shell.create(Session(id="1", token="old", ends=bench.clock.datetime(60), text="old"))
    bench.clock.advance(61)
    session = await bench.shell.upsert(Session(id="1", token="new"))
    assert (session.token, session.text, session.ends) == ("new", "", None)
    assert await bench.shell.get(Session.by_id("1")) == session
    assert await bench.is_sound()


@cell("upsert", "lost")
async def repeated_or_unknown(bench: Bench) -> None:
    for entity in (PLAIN, replace(PLAIN, text="again")):
        bench.start()
        bench.lose("UpdateItem", ApplyThenCut())
        assert await bench.shell.upsert(entity) == entity
        assert bench.requests == {"UpdateItem": 2}
    bench.lose("UpdateItem", ApplyThenCut())
    counted = await bench.shell.upsert(Counted(id="1"))
    assert counted.revision == 1
    bench.lose("UpdateItem", ApplyThenCut())
    with pytest.raises(OutcomeUnknown):
        await bench.shell.upsert(PLAIN, attr(Plain.count).add(1))
    bench.lose("TransactWriteItems", ApplyThenCut())
    assert (await bench.shell.upsert(PLAIN, attr(Plain.count).add(1), exactly_once=True)).count == 5
    fresh = replace(PLAIN, id="2")
    bench.lose("PutItem", ApplyThenCut())
    assert (await bench.shell.upsert(fresh, attr(Plain.count).add(1))).count == 4
    assert await bench.shell.get(Plain.by_id("2")) == replace(fresh, count=4)
