"""Two writers and one item: what is settled, what is unknown, and what is planned anew."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from singletable import ConditionFailed, NotFound, OutcomeUnknown, VersionMoved, attr
from singletable.flow import drive
from tests.faults.actions import ApplyThen500, ApplyThen500ThenLateDuplicate, ApplyThenCut, StaleRead
from tests.faults.opening import opened_at
from tests.faults.rules import Match, Rule
from tests.rules.bench import Bench
from tests.rules.models import Counted, Named, Passing, Plain, Ranked, guarded, shop
from tests.support.shells import Shell

KEY = Plain.by_id("1")


@pytest.fixture
async def other(bench: Bench, engine_url: str, kind: str) -> AsyncIterator[Shell]:
    """Another writer, without faults."""
    async with opened_at(kind, engine_url, clock=bench.clock, tables=(shop, guarded)) as shell:
        yield shell


async def test_a_stale_first_read_is_corrected_by_the_condition(bench: Bench) -> None:
    """F-K9: the unique value, or the index key's other part, was changed by another right after the read."""
    bench.faults.add(Rule(Match("GetItem"), StaleRead(even_consistent=True)))
    await bench.shell.create(Named(id="1", email="a@x"))
    await bench.shell.put(Named(id="1", email="b@x"))
    await bench.shell.put(Named(id="1", email="c@x"))
    await bench.shell.create(Ranked(id="1", group="a", rank=1))
    await bench.shell.update(Ranked.by_id("1"), attr(Ranked.group).set("b"))
    await bench.shell.update(Ranked.by_id("1"), attr(Ranked.rank).add(1))
    bench.faults.clear()
    assert await bench.guards() == {"c@x"}
    assert await bench.shell.all(Ranked.by_group("b")) == [Ranked(id="1", group="b", rank=2)]
    assert await bench.shell.all(Ranked.by_group("a")) == []
    assert await bench.is_sound()


async def test_a_value_that_its_owner_gives_up_is_free_even_after_a_stale_read(bench: Bench) -> None:
    """The owner's own change is planned anew, and with it who may take its value."""
    bench.faults.add(Rule(Match("GetItem"), StaleRead(even_consistent=True)))
    await bench.shell.create(Named(id="1", email="a@x"))
    await bench.shell.put(Named(id="1", email="b@x"))
    async with bench.shell.transaction() as tx:
        tx.update(Named.by_id("1"), attr(Named.email).set("c@x"))
        tx.create(Named(id="2", email="b@x"))
    bench.faults.clear()
    assert await bench.guards() == {"b@x", "c@x"}
    assert await bench.is_sound()


async def test_an_expiry_set_to_the_past_whose_answer_is_lost(bench: Bench) -> None:
    """Its own success makes the item as good as gone: the repeat must not say that there was none."""
    await bench.shell.create(Passing(id="1"))
    bench.lose("UpdateItem", ApplyThenCut())
    with pytest.raises(OutcomeUnknown):
        await bench.shell.update(Passing.by_id("1"), attr(Passing.ends).set(bench.clock.datetime()))
    assert await bench.shell.get(Passing.by_id("1")) is None
    with pytest.raises(NotFound):
        await bench.shell.update(Passing.by_id("1"), attr(Passing.text).set("b"))


async def test_a_late_duplicate_of_a_counted_write_is_refused(bench: Bench) -> None:
    """F-A6: it holds the count that the item had."""
    counted = Counted(id="1")
    await bench.shell.create(counted)
    bench.lose("PutItem", ApplyThen500ThenLateDuplicate(after=2))
    counted.text = "first"
    await bench.shell.put(counted)
    counted.text = "second"
    await bench.shell.put(counted)
    await bench.shell.get(Counted.by_id("1"))
    assert await bench.shell.get(Counted.by_id("1").consistent()) == Counted(id="1", text="second", revision=3)


async def test_a_late_duplicate_of_a_create_is_refused(bench: Bench) -> None:
    bench.lose("PutItem", ApplyThen500ThenLateDuplicate(after=2))
    await bench.shell.create(Plain(id="1"))
    await bench.shell.update(KEY, attr(Plain.text).set("b"))
    await bench.shell.get(KEY)
    assert await bench.shell.get(KEY.consistent()) == Plain(id="1", text="b")


async def test_a_conditional_delete_that_meets_anothers_item_in_its_place_does_not_know(
    bench: Bench, other: Shell
) -> None:
    await bench.shell.put(Plain(id="1", count=1))
    bench.lose("DeleteItem", ApplyThen500())

    async def another_writes(seconds: float) -> None:
        await other.put(Plain(id="1", count=2))

    _between_tries(bench.shell, another_writes)
    with pytest.raises(OutcomeUnknown):
        await bench.shell.delete(KEY, where=attr(Plain.count) == 1)
    assert await other.get(KEY) == Plain(id="1", count=2)


async def test_a_conditional_delete_whose_answer_is_lost_is_done(bench: Bench) -> None:
    await bench.shell.put(Plain(id="1", count=1))
    bench.lose("DeleteItem", ApplyThen500())
    await bench.shell.delete(KEY, where=attr(Plain.count) == 1)
    assert await bench.raw(KEY) is None
    await bench.shell.put(Plain(id="1", count=2))
    with pytest.raises(ConditionFailed):
        await bench.shell.delete(KEY, where=attr(Plain.count) == 1)


async def test_a_counted_put_that_another_followed_does_not_know(bench: Bench, other: Shell) -> None:
    mine = Counted(id="1")
    await bench.shell.create(mine)
    bench.lose("PutItem", ApplyThen500())

    async def another_writes(seconds: float) -> None:
        await other.update(Counted.by_id("1"), attr(Counted.count).add(1))

    _between_tries(bench.shell, another_writes)
    with pytest.raises(OutcomeUnknown):
        await bench.shell.put(replace(mine, text="b"))
    assert await other.get(Counted.by_id("1")) == Counted(id="1", text="b", count=1, revision=3)
    with pytest.raises(VersionMoved):
        await bench.shell.put(mine)


def _between_tries(shell: Shell, act: Callable[[float], Coroutine[Any, Any, None]]) -> None:
    """Let something happen while the writer waits for its next try."""
    port: Any = shell.port
    if hasattr(shell, "db"):
        port._alone._sleep = lambda seconds: drive(act(seconds))
    else:
        port._exchange._sleep = act
