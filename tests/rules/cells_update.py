"""The row of update."""

from __future__ import annotations

from dataclasses import replace

import pytest

from singletable import NotFound, NotUnique, OutcomeUnknown, VersionMoved, attr
from tests.faults.actions import ApplyThenCut
from tests.rules.bench import Bench, cell
from tests.rules.models import Counted, Named, Passing, Plain

PLAIN = Plain(id="1", text="a", count=3, tags=["x"], phone="12")
KEY = Plain.by_id("1")


@cell("update", "missing")
async def never_a_ghost(bench: Bench) -> None:
    for changes in ([attr(Plain.count).set(1)], [attr(Plain.count).add(1)], [attr(Plain.phone).set("1")]):
        with pytest.raises(NotFound):
            await bench.shell.update(KEY, *changes)
        with pytest.raises(NotFound):
            await bench.shell.update(KEY, *changes, exactly_once=True)
    with pytest.raises(NotFound):
        await bench.shell.update(Named.by_id("1"), attr(Named.email).set("a@x"))
    assert (await bench.raw(KEY), await bench.raw(Named.by_id("1")), await bench.guards()) == (None, None, set())


@cell("update", "other-type")
async def not_found(bench: Bench) -> None:
    foreign = await bench.place_foreign(KEY)
    for once in (False, True):
        with pytest.raises(NotFound):
            await bench.shell.update(KEY, attr(Plain.text).set("b"), exactly_once=once)
    assert await bench.raw(KEY) == foreign


@cell("update", "version")
async def one_more_always(bench: Bench) -> None:
    mine = Counted(id="1")
    await bench.shell.create(mine)
    by_key = await bench.shell.update(Counted.by_id("1"), attr(Counted.text).set("b"))
    assert by_key.revision == 2
    for target, expected in ((mine, None), (Counted.by_id("1"), 1)):
        with pytest.raises(VersionMoved) as caught:
            await bench.shell.update(target, attr(Counted.text).set("late"), expected=expected)
        assert caught.value.stored == by_key
    by_entity = await bench.shell.update(by_key, attr(Counted.count).add(5))
    assert (by_entity.revision, by_entity.count) == (3, 5)
    by_number = await bench.shell.update(Counted.by_id("1"), attr(Counted.count).add(5), expected=3, exactly_once=True)
    assert by_number == Counted(id="1", text="b", count=10, revision=4)


@cell("update", "unique")
async def reads_the_old_value_when_it_changes(bench: Bench) -> None:
    await bench.shell.create(Named(id="1", email="a@x"))
    await bench.shell.create(Named(id="2", email="b@x"))
    bench.start()
    await bench.shell.update(Named.by_id("1"), attr(Named.text).set("quiet"))
    assert bench.requests == {"UpdateItem": 1}
    with pytest.raises(NotUnique):
        await bench.shell.update(Named.by_id("1"), attr(Named.email).set("b@x"))
    changed = await bench.shell.update(Named.by_id("1"), attr(Named.email).set("c@x"), attr(Named.nick).set("cy"))
    assert changed == Named(id="1", email="c@x", nick="cy", text="quiet")
    assert await bench.guards() == {"b@x", "c@x", "cy"}
    await bench.shell.update(Named.by_id("1"), attr(Named.nick).remove())
    assert await bench.guards() == {"b@x", "c@x"}
    assert await bench.is_sound()


@cell("update", "expired")
async def expired_is_not_found(bench: Bench) -> None:
    old = Passing(id="1", ends=bench.clock.datetime(60), text="old")
    await bench.shell.create(old)
    bench.clock.advance(61)
    before = await bench.raw(Passing.by_id("1"))
    for once in (False, True):
        with pytest.raises(NotFound):
            await bench.shell.update(Passing.by_id("1"), attr(Passing.text).set("new"), exactly_once=once)
        with pytest.raises(NotFound):
            await bench.shell.update(Passing.by_id("1"), attr(Passing.ends).set(None), exactly_once=once)
    assert await bench.raw(Passing.by_id("1")) == before


@cell("update", "lost")
async def repeated_or_unknown(bench: Bench) -> None:
    await bench.shell.put(PLAIN)
    bench.start()
    bench.lose("UpdateItem", ApplyThenCut())
    await bench.shell.update(KEY, attr(Plain.count).set(4), attr(Plain.groups).include({"g"}))
    assert bench.requests == {"UpdateItem": 2}
    for change in (attr(Plain.count).add(1), attr(Plain.tags).append("y")):
        bench.start()
        bench.lose("UpdateItem", ApplyThenCut())
        with pytest.raises(OutcomeUnknown):
            await bench.shell.update(KEY, change)
        assert bench.requests == {"UpdateItem": 1}
    bench.start()
    bench.lose("TransactWriteItems", ApplyThenCut(), times=2)
    changed = await bench.shell.update(KEY, attr(Plain.count).add(1), exactly_once=True)
    assert len(set(bench.faults.bodies("TransactWriteItems"))) == 1
    assert bench.requests == {"TransactWriteItems": 3, "GetItem": 1}
    assert changed == replace(PLAIN, groups={"g"}, count=6, tags=["x", "y"])
