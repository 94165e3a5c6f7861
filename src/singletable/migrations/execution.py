"""Executing a plan: its steps in order, under the lease. Killed anywhere, the next one goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from singletable.errors import SingletableError
from singletable.events import StepApplied
from singletable.flow import Meter, Port, Rate
from singletable.foundation import Table
from singletable.migrations.acceptance import Accepted
from singletable.migrations.apply_lease import Held, check_free, release, take
from singletable.migrations.leased_port import LeasedPort
from singletable.migrations.model_document import document_of
from singletable.migrations.plans import check_readable, outline
from singletable.migrations.refusals import ApplyRefused
from singletable.migrations.steps import Applying, Doing, Done, Outcome, Plan, Step

Progress = Callable[[Doing], object]


async def apply(
    port: Port,
    table: Table,
    plan: Plan | None = None,
    *,
    by: str = "",
    rate: Rate | None = None,
    segments: int | None = None,
    progress: Progress | None = None,
    accept: Accepted = (),
    purge: Sequence[str] = (),
) -> Outcome:
    """Bring a table to its declaration. Where there is nothing to do, it reads a few times and writes nothing.

    ApplyRefused if another apply has the table, or it changed since `plan` was made; PlanRefused. Without a plan it
    counts, as a plan does.
    """
    purge = purge if plan is None else plan.purge
    current, _ = await outline(port, table, purge)
    outcome = Outcome(table.name)
    steps = _left(plan, current)
    if not steps:
        return outcome
    if plan is None or plan.is_sample or plan.as_of is not None:
        await check_free(port, table, by)
        await check_readable(port, table, accept, purge, segments, rate)
    run = ApplyRun(port, table, by, rate, segments, progress, purge)
    if current.steps[0].makes_table:
        outcome = outcome.also(await run.make_table(steps[0]))
    return await run.all(plan, outcome)


def _left(plan: Plan | None, current: Plan) -> list[Step]:
    """The remaining steps of a plan, with its estimates; without a plan, all that were current.

    Raises ApplyRefused for other steps: they may be fewer, as after a kill, or ones that a plan may lack.
    """
    if plan is None:
        return list(current.steps)
    names = [step.name for step in plan.steps]
    others = [step.name for step in current.steps if step.name not in names and not step.is_optional]
    is_other = _declared(plan) != _declared(current)
    if is_other or others or not {*current.differences} <= {*plan.differences}:
        raise ApplyRefused(
            f"the plan is out of date: {'; '.join(others) or 'the declaration is another'}",
            reason="table changed",
            table=current.table,
            hint="Make the plan again, and look at it.",
        )
    planned = {step.name: step for step in plan.steps}
    return [planned[step.name] for step in current.steps if step.name in planned]


def _declared(plan: Plan) -> object:
    """The declaration that a plan is for: the same after a purge, which the record counts."""
    return plan.table, plan.document and replace(plan.document, purged={})


class ApplyRun:
    """One apply that has work. If it is killed in a step, the next outline finds that step again."""

    def __init__(
        self,
        port: Port,
        table: Table,
        by: str,
        rate: Rate | None,
        segments: int | None,
        progress: Progress | None,
        purge: Sequence[str],
    ) -> None:
        self.purge = purge
        self.bare, self.table, self.by = port, table, by
        self.rate, self.segments, self.progress = rate, segments, progress

    async def make_table(self, step: Step) -> Done:
        """The step that comes before the lease."""
        started = self.bare.monotonic()
        with Meter() as meter:
            await self._run(step, self._applying(self.bare, Held("", 0)))
        looks = sum(count.requests for name, count in meter.by_operation.items() if name.startswith("Describe"))
        return Done(step, meter.requests - looks, 0.0, 0.0, self.bare.monotonic() - started, looks)

    async def all(self, plan: Plan | None, outcome: Outcome) -> Outcome:
        """Every step, under the lease."""
        with Meter() as meter:
            held = await take(self.bare, self.table, self.by)
        self.port = LeasedPort(self.bare, self.table, held)
        applying = self._applying(self.port, held)
        try:
            current, applying.record = await outline(self.port, self.table, self.purge)
            applying.document, steps = current.document or applying.document, _left(plan, current)
            for number, step in enumerate(steps, 1):
                self.doing = Doing(step, number, len(steps))
                self._tell()
                outcome = outcome.also(await self._one(step, applying))
        finally:
            with suppress(SingletableError):
                await release(self.bare, self.table, held)
        return replace(
            outcome,
            unreadable=applying.unreadable,
            unknown=applying.unknown,
            lease_requests=meter.requests + self.port.tenure.beats + 1,
            lease_units=meter.write_units + self.port.tenure.beats + 1.0,
        )

    def _applying(self, port: Port, held: Held) -> Applying:
        document = document_of(self.table)
        run = self.by, self.rate, self.segments, document, None
        return Applying(port, self.bare, self.table, held, *run, self._tell)

    async def _one(self, step: Step, applying: Applying) -> Done:
        looks, beats, started = self.port.looks, self.port.tenure.beats, self.bare.monotonic()
        with Meter() as meter:
            await self._run(step, applying)
        beats, looks = self.port.tenure.beats - beats, self.port.looks - looks
        requests, units = meter.requests - beats - looks, meter.write_units - beats
        return Done(step, requests, meter.read_units, units, self.bare.monotonic() - started, looks)

    async def _run(self, step: Step, applying: Applying) -> None:
        started, failed = self.bare.monotonic(), None
        try:
            await step.run(applying)
        except BaseException as error:
            failed = error
            raise
        finally:
            seconds = self.bare.monotonic() - started
            self.bare.events.emit(StepApplied(table=self.table.name, step=step.name, seconds=seconds, error=failed))

    def _tell(self, **progress: Any) -> None:
        self.doing = replace(self.doing, **progress)
        self.port.doing = f"{self.doing.step.name}{f', {self.doing.said}' if self.doing.said else ''}"
        if self.progress is not None:
            self.progress(self.doing)
