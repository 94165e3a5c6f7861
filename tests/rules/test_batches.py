"""Batches that the service leaves undone: complete in the end, or an error that carries the rest."""

from __future__ import annotations

import pytest

from singletable import InvalidRequest
from singletable.errors import Incomplete, Throttled
from tests.faults.actions import ApplyThenCut, PartialPage, Throttle, Unprocessed
from tests.faults.rules import Match, Rule
from tests.rules.bench import Bench
from tests.rules.models import Plain

MANY = [Plain(id=f"{n:03}", count=n) for n in range(60)]
KEYS = [Plain.by_id(p.id) for p in MANY]


async def test_what_is_left_undone_is_sent_again(bench: Bench) -> None:
    bench.faults.add(Rule(Match("BatchWriteItem", probability=0.8), Unprocessed(5)))
    await bench.shell.write_many(puts=MANY)
    bench.faults.clear()
    assert await bench.shell.get_many(KEYS) == MANY
    bench.faults.add(
        Rule(Match("BatchGetItem", nth=1), Unprocessed()), Rule(Match("BatchGetItem", nth=1), Unprocessed(7))
    )
    assert await bench.shell.get_many(KEYS) == MANY


async def test_what_stays_undone_is_named(bench: Bench) -> None:
    bench.faults.add(Rule(Match("BatchWriteItem", key='"042"'), Unprocessed()))
    with pytest.raises(Incomplete) as caught:
        await bench.shell.write_many(puts=MANY)
    bench.faults.clear()
    there = await bench.shell.get_many(KEYS, consistent=True)
    assert caught.value.rest
    assert [p for p in MANY if p not in there] == sorted(caught.value.rest, key=lambda p: p.id)
    await bench.shell.write_many(puts=caught.value.rest)
    bench.faults.add(Rule(Match("BatchGetItem"), Unprocessed(3)), Rule(Match("BatchGetItem"), Unprocessed()))
    with pytest.raises(Incomplete) as left:
        await bench.shell.get_many([*KEYS[:2]])
    assert set(left.value.rest) == set(KEYS[:2])


async def test_a_throttled_batch_carries_the_rest_as_well(bench: Bench) -> None:
    bench.faults.add(Rule(Match("BatchWriteItem", key='"042"'), Throttle()))
    with pytest.raises(Incomplete) as caught:
        await bench.shell.write_many(puts=MANY, deletes=[Plain.by_id("gone")])
    assert isinstance(caught.value.__cause__, Throttled)
    bench.faults.clear()
    await bench.shell.write_many(
        puts=[each for each in caught.value.rest if isinstance(each, Plain)],
        deletes=[each for each in caught.value.rest if not isinstance(each, Plain)],
    )
    assert await bench.shell.get_many(KEYS, consistent=True) == MANY


async def test_a_key_given_twice(bench: Bench) -> None:
    with pytest.raises(InvalidRequest, match="two writes of the same Plain"):
        await bench.shell.write_many(puts=[MANY[0], MANY[0]])
    with pytest.raises(InvalidRequest, match="two writes"):
        await bench.shell.write_many(puts=[MANY[0]], deletes=[KEYS[0]])
    assert bench.requests == {}
    await bench.shell.put(MANY[0])
    assert await bench.shell.get_many([KEYS[0], KEYS[1], KEYS[0]]) == [MANY[0], MANY[0]]


async def test_pages_that_end_early_and_empty_are_read_on(bench: Bench) -> None:
    from singletable import attr

    plain = [Plain(id=f"{n}", text=f"{n:02}", count=n, phone="12") for n in range(12)]
    await bench.shell.write_many(puts=plain)
    bench.faults.add(Rule(Match("Query"), PartialPage(2)), Rule(Match("Scan"), PartialPage(3)))
    query = Plain.by_phone("12")
    assert await bench.shell.all(query) == plain
    page = await bench.shell.page(query.where(attr(Plain.count) == 11), limit=1)
    assert list(page) == plain[11:]
    bounded = await bench.shell.page(query.where(attr(Plain.count) == 11), limit=1, max_pages=3)
    assert list(bounded) == []
    assert bounded.cursor is not None
    assert len([found async for found in bench.shell.scan(Plain)]) == 12


async def test_a_lost_answer_in_a_batch(bench: Bench) -> None:
    bench.lose("BatchWriteItem", ApplyThenCut())
    bench.lose("BatchGetItem", ApplyThenCut())
    await bench.shell.write_many(puts=MANY)
    assert await bench.shell.get_many(KEYS) == MANY
