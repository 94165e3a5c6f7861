"""A rate that processes share, through one item of the library's own in the table.

    rate = SharedRate(shop, "nightly", write_units=200)     # in each process, under the same name
    Migrations(db, shop).fill(rate=rate)

Each process has an attribute of the item, which it raises every two seconds while it sends requests: one write unit.
The answer shows who else is there, and each takes an equal share of the bound. A number is the sign of a lease
(`flow.leases`): a process whose number did not change for ten seconds is dead, and its share is the others'. A process
that did not raise its own number for eight seconds takes no more from its share. There is no fence, as a share has no
owner after another: a process that is late begins again, under another name.

One that comes takes nothing until each of the others has raised its number once, and so has seen it: all shares
together are never more than the bound.
"""

from __future__ import annotations

import os
from typing import Any, Final

from singletable.errors import InvalidRequest
from singletable.expressions import AttributeChange, Condition, Given, Stored
from singletable.flow import Consumed, Observations, Port, Rate, Tenure, pause
from singletable.foundation import Model, Table, model_of, ready, update_if
from singletable.migrations.items import SharedBudget
from singletable.operations import RAW, Item, RefusedWrite

BEAT_SECONDS: Final = 2.0
HELD_SECONDS: Final = 8.0
"""The time that a share is used without a beat: less than others wait before they take it."""
LEASE_SECONDS: Final = 10.0
_MEMBER = "m_"
"""The prefix of the attributes of processes."""


class SharedRate(Rate):
    """A bound of units a second over all processes that have a rate of the same name in the same table.

    It is given wherever a `Rate` is, and costs one request and one write unit every two seconds for each process, which
    are taken from its share. A process begins at once where it is alone; else within two seconds, or within ten where
    one has ended. Shares are equal, whatever each process needs. InvalidRequest without a name, and as `Rate`.
    """

    def __init__(
        self, table: Table, name: str, *, read_units: float | None = None, write_units: float | None = None
    ) -> None:
        super().__init__(read_units=read_units, write_units=write_units)
        if not name:
            raise InvalidRequest("a shared rate has a name, the same in all processes", table=table.name)
        self.table, self.name = table, name
        kind: Any = SharedBudget.of(table)
        self._model: Model[Any] = model_of(kind)
        self._key = kind.by_name(name)
        self._is_beating = False
        self._forget()

    def __repr__(self) -> str:
        return f"Shared{super().__repr__()[:-1]}, name={self.name!r})"

    async def renew(self, port: Port) -> None:
        """Before a request: raise this process's number where that is due, and wait until it has a share."""
        while True:
            due = HELD_SECONDS if self._is_beating else BEAT_SECONDS
            if self.part and not self._tenure.is_due(port.monotonic(), due) and self._pid == os.getpid():
                return
            if not self._is_beating or self._pid != os.getpid():
                self._is_beating = True
                try:
                    await self._beat(port)
                finally:
                    self._is_beating = False
            if not self.part:
                await pause(port, BEAT_SECONDS / 4, "this process has no share of the rate yet")

    def _forget(self) -> None:
        """Begin like a new process: without a number, and without a share."""
        self._pid, self._member, self._tenure = os.getpid(), "", Tenure(renewed_at=float("-inf"))
        self._others = Observations[str](LEASE_SECONDS)
        """The numbers of the other processes."""
        self._unaware: dict[str, str] | None = None
        """The processes that may not have seen this one, with their numbers then; None before the first beat."""
        self.part = 0.0

    async def _beat(self, port: Port) -> None:
        began = port.monotonic()
        if self._pid != os.getpid():
            self._forget()
        elif self._tenure.is_due(began, HELD_SECONDS):
            others = self._others
            self._forget()
            self._others = others
        self._member = self._member or f"{_MEMBER}{port.token()}"
        self._tenure.beats += 1
        await ready(port, self.table)
        try:
            item = await self._raise_number(port, self._others.dead(began))
        except RefusedWrite:  # another process has removed it, or it lives
            item = await self._raise_number(port, {})
        numbers = {n: str(v.get("N")) for n, v in item.items() if n.startswith(_MEMBER) and n != self._member}
        self._others.note(numbers, port.monotonic())
        unaware = numbers if self._unaware is None else self._unaware
        self._unaware = {name: number for name, number in unaware.items() if numbers.get(name) == number}
        self._tenure.note(began, True)
        self.part = 0.0 if self._unaware else 1.0 / (1 + len(numbers))
        self.settle("UpdateItem", Consumed(), Consumed(write_units=1.0))

    async def _raise_number(self, port: Port, dead: dict[str, str]) -> Item:
        """Raise this process's number, and remove dead processes' unchanged ones. Returns the new item."""
        definition, model = self.table.definition, self._model
        changes = [
            AttributeChange(self._member, {"N": str(self._tenure.beats)}),
            AttributeChange(definition.type_attribute, {"S": model.type}),
            AttributeChange(definition.version_attribute, {"N": str(model.version)}),
            AttributeChange(model.by_name["name"].stored, {"S": self.name}),
            *(AttributeChange(name, None) for name in dead),
        ]
        held = [Condition("=", (Stored(name), Given({"N": number}))) for name, number in dead.items()]
        condition = Condition("AND", tuple(held)) if len(held) > 1 else held[0] if held else None
        update: Any = update_if(self._key, changes, condition, reader=RAW)
        found: Item = await port.send(update)
        return found
