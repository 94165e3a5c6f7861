"""Executing a plan: its steps in order, under the lease. Killed anywhere, the next one goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from singletable.errors import SingletableError, Unavailable
from singletable.flow import Meter, Port, Rate, at_rate
from singletable.foundation import Table, maintain_stream, ready
from singletable.migrations.apply_lease import release, take, write_record
from singletable.migrations.fill import Filled, fill
from singletable.migrations.leased_port import LeasedPort
from singletable.migrations.model_document import document_of
from singletable.migrations.plans import outline
from singletable.migrations.refusals import ApplyRefused
from singletable.migrations.steps import Doing, Done, Outcome, Plan, Step
from singletable.tables import (
    IndexProgress,
    Setting,
    apply_setting,
    create,
    create_index,
    describe,
    drop_index,
    remove_setting,
    wait_for_index,
    wait_for_table,
)

Progress = Callable[[Doing], object]
_FILLS = 3
"""The number of times a fill is begun for items that others changed each time."""


async def apply(
    port: Port,
    table: Table,
    plan: Plan | None = None,
    *,
    by: str = "",
    rate: Rate | None = None,
    segments: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Bring a table to its declaration. Where there is nothing to do, it reads a few times and writes nothing.

    ApplyRefused if another apply has the table, or it changed since `plan` was made; PlanRefused.
    """
    found = await outline(port, table)
    _check_same(plan, found)
    if found.is_empty:
        return Outcome(table.name)
    outcome = Outcome(table.name)
    if found.steps[0].kind == "create table":
        outcome = _also(outcome, await _create(port, table, _steps(plan, found)[0]))
    run = ApplyRun(port, table, by, rate, segments, progress)
    return await run.all(plan, outcome)


def _check_same(plan: Plan | None, found: Plan) -> None:
    """The steps may be fewer, as after a kill. A fill that the plan found needless is not among them."""
    if plan is None:
        return
    names = [step.name for step in plan.steps]
    others = [step.name for step in found.steps if step.name not in names and step.kind != "fill"]
    if plan.table != found.table or plan.document != found.document or others:
        raise ApplyRefused(
            f"the plan is out of date: {'; '.join(others) or 'the declaration is another'}",
            reason="table changed",
            table=found.table,
            hint="Make the plan again, and look at it.",
        )


def _steps(plan: Plan | None, found: Plan) -> list[Step]:
    """The steps that are left of a plan, with what it says that they take; without one, all that were found."""
    if plan is None:
        return list(found.steps)
    planned = {step.name: step for step in plan.steps}
    return [planned[step.name] for step in found.steps if step.name in planned]


async def _create(port: Port, table: Table, step: Step) -> Done:
    started = port.monotonic()
    with Meter() as meter:
        await create(port, table.definition)
    looks = sum(count.requests for name, count in meter.by_operation.items() if name.startswith("Describe"))
    return Done(step, meter.requests - looks, 0.0, 0.0, port.monotonic() - started, looks)


class ApplyRun:
    """One apply that has work."""

    def __init__(
        self, port: Port, table: Table, by: str, rate: Rate | None, segments: int | None, progress: Progress | None
    ) -> None:
        self.bare, self.table, self.by = port, table, by
        self.rate, self.segments, self.progress = rate, segments, progress
        self.filled = Filled()

    async def all(self, plan: Plan | None, outcome: Outcome) -> Outcome:
        """Every step, under the lease."""
        with Meter() as meter:
            self.held = await take(self.bare, self.table, self.by)
        self.port = LeasedPort(self.bare, self.table, self.held)
        try:
            found = await outline(self.port, self.table)
            _check_same(plan, found)
            steps = _steps(plan, found)
            for number, step in enumerate(steps, 1):
                outcome = _also(outcome, await self._one(step, number, len(steps)))
        finally:
            with suppress(SingletableError):
                await release(self.bare, self.table, self.held)
        filled, beats = self.filled, self.port.beats
        return replace(
            outcome,
            unreadable=filled.unreadable,
            unknown=filled.unknown,
            lease_requests=meter.requests + beats + 1,
            lease_units=meter.write_units + beats + 1.0,
        )

    async def _one(self, step: Step, number: int, of: int) -> Done:
        self.doing = Doing(step, number, of)
        self._tell(self.doing)
        looks, beats, started = self.port.looks, self.port.beats, self.bare.monotonic()
        with Meter() as meter:
            await self._do(step)
        beats, looks = self.port.beats - beats, self.port.looks - looks
        requests, units = meter.requests - beats - looks, meter.write_units - beats
        return Done(step, requests, meter.read_units, units, self.bare.monotonic() - started, looks)

    async def _do(self, step: Step) -> None:
        definition = self.table.definition
        if step.kind == "fill":
            await self._fill()
        elif step.kind == "record":
            await write_record(self.port, self.table, self.held, document_of(self.table), self.by)
        elif step.kind == "add index":
            await self._add_index(step.subject)
        elif step.kind == "drop index":
            await wait_for_table(self.port, self.table.name)
            await drop_index(self.port, definition, step.subject)
        else:
            await self._set(step)

    async def _set(self, step: Step) -> None:
        await wait_for_table(self.port, self.table.name)
        found = await describe(self.port, self.table.definition)
        assert found is not None
        setting: Setting = step.subject  # type: ignore[assignment]
        if step.kind == "set":
            await apply_setting(self.port, self.table.definition, setting, found.raw)
            await maintain_stream(self.bare, self.table)
        else:
            await remove_setting(self.port, self.table.definition, setting, found.ttl or "")

    async def _add_index(self, name: str) -> None:
        """An index that an apply before began is waited for; one that is being deleted comes after that."""
        found = await describe(self.port, self.table.definition)
        there = found.indexes.get(name) if found is not None else None
        if there is not None and there.get("IndexStatus") != "DELETING":
            await wait_for_index(self.port, self.table.name, name, self._tell_index)
            return
        await wait_for_table(self.port, self.table.name, without=name)
        await create_index(self.port, self.table.definition, name, self._tell_index)

    async def _fill(self) -> None:
        await ready(self.bare, self.table)
        await self._check_targets()
        for _ in range(_FILLS):
            port = at_rate(self.port, self.rate)
            self.filled = await fill(port, self.table, segments=self.segments, progress=self._tell_filled)
            self._check_filled()
            if not self.filled.contended:
                return
        raise Unavailable(
            f"{self.filled.contended} items changed between each read and write",
            table=self.table.name,
            hint="Apply again when fewer programs write them; it goes on.",
        )

    async def _check_targets(self) -> None:
        """ApplyRefused if a table that items move to is missing."""
        for target in self.table.targets:
            await ready(self.bare, target)
            if await describe(self.port, target.definition) is None:
                raise ApplyRefused(
                    f"items of {self.table.name} move to table {target.name}, which is missing",
                    reason="missing table",
                    table=self.table.name,
                    hint=f"Apply {target.name} first: it makes the table.",
                )

    def _check_filled(self) -> None:
        """ApplyRefused if items stay under an old key, or unique values have no guard: the record would deny it."""
        stay = [f for f in (*self.filled.twice, *self.filled.unreadable) if f.code in ("key.twice", "key.immovable")]
        taken = [finding for finding in self.filled.unfilled if finding.code == "guard.taken"]
        if taken:
            raise ApplyRefused(
                f"{len(taken)} items have a unique value that another item has, as of type {taken[0].type}",
                reason="values not unique",
                table=self.table.name,
                hint="`singletable fill` names both of each. Change or delete one, and apply again.",
            )
        if stay:
            raise ApplyRefused(
                f"{len(stay)} items can't be moved to their new key, as of type {stay[0].type}: {stay[0].what}",
                reason="items not moved",
                table=self.table.name,
                hint="`singletable fill` names them. Put or delete the right one of each, and apply again.",
            )

    def _tell_filled(self, filled: Filled) -> None:
        self._tell(replace(self.doing, said=f"{filled.seen} items read, {filled.written} written", done=filled.seen))

    def _tell_index(self, found: IndexProgress) -> None:
        said = f"{found.status.lower()}{', being filled' if found.is_filling else ''}"
        self._tell(replace(self.doing, said=said, done=found.items, total=found.table_items))

    def _tell(self, doing: Doing) -> None:
        self.port.doing = f"{doing.step.name}{f', {doing.said}' if doing.said else ''}"
        if self.progress is not None:
            self.progress(doing)


def _also(outcome: Outcome, done: Done) -> Outcome:
    return replace(outcome, done=(*outcome.done, done))
