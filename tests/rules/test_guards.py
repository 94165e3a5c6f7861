"""A guard of a unique value goes with its own item only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from singletable import NotUnique, attr
from singletable.schema.models import model_of
from tests.rules.bench import Bench
from tests.rules.models import Named
from tests.support.raw import put_raw

TAKEN = "ada@example.org"
GIVING_UP: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "delete": lambda shell: shell.delete(Named.by_id("1")),
    "update": lambda shell: shell.update(Named.by_id("1"), attr(Named.email).set("new@example.org")),
    "put": lambda shell: shell.put(Named(id="1", email="new@example.org")),
    "upsert": lambda shell: shell.upsert(Named(id="1", email="new@example.org")),
}


async def lose_the_guard(bench: Bench) -> None:
    """Item 1 has the value of item 2 too, without its guard, as after a restore of a part."""
    await bench.shell.create(Named(id="2", email=TAKEN))
    await put_raw(bench.shell.port, Named, model_of(Named).item(Named(id="1", email=TAKEN)))


@pytest.mark.parametrize("verb", GIVING_UP)
async def test_the_guard_of_another_item_is_left_to_it(bench: Bench, verb: str) -> None:
    """What the item gives up is not its own: it goes, or takes its new value, and the guard stays."""
    await lose_the_guard(bench)
    bench.start()
    await GIVING_UP[verb](bench.shell)
    assert bench.requests["TransactWriteItems"] == 2, "the second leaves the guard alone"
    assert await bench.guards() == ({TAKEN} if verb == "delete" else {TAKEN, "new@example.org"})
    assert await bench.shell.get(Named.by_id("1")) == (
        None if verb == "delete" else Named(id="1", email="new@example.org")
    )
    assert await bench.shell.get(Named.by_id("2")) == Named(id="2", email=TAKEN)
    assert await bench.is_sound(), "so a lost guard is mended"
    with pytest.raises(NotUnique):
        await bench.shell.create(Named(id="3", email=TAKEN))


@pytest.mark.parametrize("verb", [verb for verb in GIVING_UP if verb != "delete"])
async def test_a_taken_value_is_refused_all_the_same(bench: Bench, verb: str) -> None:
    await lose_the_guard(bench)
    await bench.shell.create(Named(id="3", email="new@example.org"))
    with pytest.raises(NotUnique):
        await GIVING_UP[verb](bench.shell)
    assert await bench.shell.get(Named.by_id("1")) == Named(id="1", email=TAKEN)
    assert await bench.guards() == {TAKEN, "new@example.org"}
