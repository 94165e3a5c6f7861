"""What happens between two requests of one reader or writer, and what an item's state makes impossible."""

from __future__ import annotations

import pytest

from singletable import NotFound, NotUnique, TransactionCancelled, attr, key_of
from singletable.errors import TooLarge
from tests.faults.actions import IndexLag
from tests.faults.rules import Match, Rule
from tests.rules.bench import Bench
from tests.rules.models import Named, Plain, Ranked

LETTERS = "bdfhjlnprt"


async def test_pages_between_which_others_write(bench: Bench) -> None:
    """F-K4: what was there all along comes exactly once; what came or went meanwhile may come or not."""
    stays = [Plain(id=letter, phone="12", text=letter) for letter in LETTERS]
    await bench.shell.write_many(puts=stays)
    seen, cursor, page = [], None, None
    while page is None or cursor is not None:
        page = await bench.shell.page(Plain.by_phone("12"), limit=2, after=cursor)
        seen += [each.text for each in page]
        cursor = page.cursor
        last = seen[-1]
        await bench.shell.put(Plain(id=f"{last}-before", phone="12", text=chr(ord(last[0]) - 1) + "x"))
        await bench.shell.put(Plain(id=f"{last}-after", phone="12", text=last[0] + "x"))
        if len(last) > 1:
            await bench.shell.delete(Plain.by_id(f"{seen[-2]}-after"))
    assert [text for text in seen if len(text) == 1] == list(LETTERS)
    assert len(seen) == len(set(seen))


async def test_the_item_under_a_cursor_moves_away(bench: Bench) -> None:
    many = [Ranked(id=str(n), rank=n) for n in range(6)]
    await bench.shell.write_many(puts=many)
    first = await bench.shell.page(Ranked.by_group("a"), limit=3)
    await bench.shell.update(Ranked.by_id("2"), attr(Ranked.rank).set(99))
    await bench.shell.delete(key_of(many[1]))
    rest = await bench.shell.page(Ranked.by_group("a"), limit=9, after=first.cursor)
    assert [each.id for each in rest] == ["3", "4", "5", "2"]


async def test_nothing_is_decided_by_an_index(bench: Bench) -> None:
    """F-K1: however far the indexes are behind, a unique value is, and keys are right."""
    bench.faults.add(Rule(Match("Query"), IndexLag(50)))
    await bench.shell.create(Named(id="1", email="a@x"))
    with pytest.raises(NotUnique):
        await bench.shell.create(Named(id="2", email="a@x"))
    await bench.shell.create(Ranked(id="1", group="a"))
    await bench.shell.update(Ranked.by_id("1"), attr(Ranked.group).set("b"))
    assert await bench.shell.all(Ranked.by_group("b")) == []
    bench.faults.clear()
    assert [each.id for each in await bench.shell.all(Ranked.by_group("b"))] == ["1"]


async def test_a_check_keeps_two_writers_from_passing_each_other(bench: Bench) -> None:
    """F-C7: a child is only written while its parent is there, whichever of the two comes first."""
    parent = Plain(id="parent")

    async def add_child() -> None:
        async with bench.shell.transaction() as tx:
            tx.check(key_of(parent))
            tx.create(Plain(id="child"))

    await bench.shell.create(parent)
    await bench.shell.delete(key_of(parent))
    with pytest.raises(TransactionCancelled) as caught:
        await add_child()
    assert isinstance(caught.value.failures[0].error, NotFound)
    assert await bench.raw(Plain.by_id("child")) is None
    await bench.shell.create(parent)
    await add_child()
    with pytest.raises(TransactionCancelled):
        await bench.transact(
            lambda tx: (
                tx.delete(key_of(parent), where=attr(Plain.text) == "without children"),
                tx.create(Plain(id="gone")),
            )
        )
    assert await bench.raw(key_of(parent)) is not None


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_an_item_that_would_grow_too_large_stays_as_it_is(bench: Bench, exactly_once: bool) -> None:
    """F-C8: told at once, not tried again, nothing applied."""
    full = Plain(id="1", text="x" * 300_000)
    await bench.shell.put(full)
    bench.start()
    with pytest.raises(TooLarge) as caught:
        await bench.shell.update(Plain.by_id("1"), attr(Plain.tags).append("y" * 200_000), exactly_once=exactly_once)
    assert sum(bench.requests.values()) == 1
    assert "xxx" not in str(caught.value)
    assert await bench.shell.get(Plain.by_id("1").consistent()) == full
