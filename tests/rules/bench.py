"""Where a cell of the table is tried: a shell behind the fault proxy, the raw items, and a registry of the cells."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from singletable.schema.table import GUARD_TYPE
from tests.faults.actions import Action
from tests.faults.clock import Clock
from tests.faults.opening import findings
from tests.faults.rules import Faults, Match, Rule
from tests.rules.models import Plain, guarded, shop
from tests.rules.table import Case, Verb
from tests.support.raw import all_items, put_raw, stored
from tests.support.shells import Shell


@dataclass
class Bench:
    """One test's shell and what it needs to look behind it."""

    shell: Shell
    faults: Faults
    clock: Clock
    hides_items: bool = False
    """Whether refusals come without their items."""

    @property
    def requests(self) -> dict[str, int]:
        """The operations that were sent since `start`, each with how often."""
        return dict(self.faults.seen)

    def proofs(self, count: int) -> dict[str, int]:
        """The reads that so many refusals take more where they come without their items."""
        return {"GetItem": count} if self.hides_items else {}

    def start(self) -> None:
        """Count from here."""
        self.faults.forget()

    def lose(self, operation: str, action: Action, *, times: int = 1) -> None:
        """The next requests of an operation go wrong."""
        self.faults.add(*(Rule(Match(operation, nth=1), action) for _ in range(times)))

    async def raw(self, key: Any) -> dict[str, Any] | None:
        """The item under a key, whatever it is."""
        return await stored(self.shell.port, key)

    async def place_foreign(self, key: Any) -> dict[str, Any]:
        """Put an item of a type that no class has under a key."""
        model = key.captured.owner.__model__
        item = {**model.key_item(key), "_type": {"S": "alien"}, "_v": {"N": "1"}}
        await put_raw(self.shell.port, Plain if model.table is shop else model.kind, item)
        return item

    async def transact(self, fill: Callable[[Any], Any]) -> None:
        """One transaction of what is filled in."""
        async with self.shell.transaction() as tx:
            fill(tx)

    async def guards(self) -> set[str]:
        """The values that guards hold, as their keys' last parts."""
        items = await all_items(self.shell.port, shop.name)
        return {item["pk"]["S"].rpartition("#")[2] for item in items if item["_type"] == {"S": GUARD_TYPE}}

    async def is_sound(self) -> bool:
        """Nothing in either table is as it should not be. For tests without foreign items."""
        return [*await findings(self.shell, shop), *await findings(self.shell, guarded)] == []


Trial = Callable[[Bench], Awaitable[None]]
CELLS: dict[tuple[Verb, Case], Trial] = {}


def cell(verb: Verb, case: Case) -> Callable[[Trial], Trial]:
    """The decorated function tries this cell of the table."""

    def register(trial: Trial) -> Trial:
        assert (verb, case) not in CELLS
        CELLS[verb, case] = trial
        return trial

    return register
