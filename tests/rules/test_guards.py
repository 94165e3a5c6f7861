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


@pytest.mark.parametrize("verb", GIVING_UP)
async def test_the_guard_of_another_item_stays(bench: Bench, verb: str) -> None:
    """Item 1 has the value too, without its guard, as after a restore of a part: what it gives up is not its own."""
    await bench.shell.create(Named(id="2", email=TAKEN))
    await put_raw(bench.shell.port, Named, model_of(Named).item(Named(id="1", email=TAKEN)))
    with pytest.raises(NotUnique):
        await GIVING_UP[verb](bench.shell)
    assert await bench.guards() == {TAKEN}
    assert await bench.shell.get(Named.by_id("1")) == Named(id="1", email=TAKEN)
    with pytest.raises(NotUnique):
        await bench.shell.create(Named(id="3", email=TAKEN))
