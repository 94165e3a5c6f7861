"""A loss at the n-th request of every verb, for every n: nothing happens twice, and nothing that was told is lost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from singletable import OutcomeUnknown
from tests.faults.actions import LOSSES, Action, ApplyThen500, ApplyThenCut, ApplyThenHang, DropBefore
from tests.faults.clock import Clock
from tests.faults.opening import PATIENT, SHORT, findings, opened_at
from tests.faults.port import make_faulty
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.faults.verbs import STEPS, Step, prepare, state, wipe
from tests.rules.models import guarded, shop
from tests.support.sampling import sampled
from tests.support.shells import Shell

TABLES = (shop, guarded)
UNKNOWN = {
    "put-where",
    "update-set-where",
    "update-expiry",
    "update-add",
    "update-append",
    "update-counted-add",
    "upsert-updates-new",
    "upsert-updates",
}
"""The steps that may answer OutcomeUnknown: sums and appends, and conditions that their own success breaks."""

UNKNOWN_AFTER_DROP = UNKNOWN - {"put-where", "update-set-where", "update-expiry"}
"""Where nothing was applied a repeat holds its condition still; a sum is not repeated, whatever happened."""


async def try_at_every_request(shell: Shell, faults: Faults, step: Step, loss: Action, *, times: int) -> bool:
    """The step again and again, each time with its next request lost `times` times; whether it ever was unknown."""
    was_unknown = False
    for n in count(1):
        faults.clear()
        await wipe(shell)
        await prepare(shell)
        before = await state(shell)
        if n == 1:
            await step.run(shell)
            after = await state(shell)
            assert after != before
            await wipe(shell)
            await prepare(shell)
        faults.forget()
        faults.add(Rule(Match(nth=tuple(range(n, n + times))), loss))
        told = True
        try:
            await step.run(shell)
        except OutcomeUnknown:
            told = False
        hit = loss in faults.actions
        faults.clear()
        found = await state(shell)
        if told:
            assert found == after, f"request {n} of {step.name}"
        else:
            was_unknown = True
            assert step.may_be_unknown, f"request {n} of {step.name} is of unknown outcome"
            assert found in (before, after), f"request {n} of {step.name}"
        assert await findings(shell, shop) == []
        if not hit:
            return was_unknown
    raise AssertionError("unreachable")


async def try_losses(shell: Shell, faults: Faults, step: Step, losses: Sequence[Action], tries: Sequence[int]) -> None:
    for loss in losses:
        for times in tries:
            was_unknown = await try_at_every_request(shell, faults, step, loss, times=times)
            assert was_unknown == (step.name in UNKNOWN_AFTER_DROP if loss == DropBefore() else step.name in UNKNOWN)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
async def test_a_loss_at_every_request(kind: str, engine_url: str, step: Step, faults: Faults, clock: Clock) -> None:
    async with opened_at(kind, engine_url, clock=clock, timeouts=PATIENT, tables=TABLES) as shell:
        make_faulty(shell.port, faults)
        await try_losses(shell, faults, step, (DropBefore(), ApplyThenCut(), ApplyThen500()), (1,))


@pytest.mark.soak
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
async def test_any_losses_in_a_row(kind: str, engine_url: str, step: Step, faults: Faults, clock: Clock) -> None:
    async with opened_at(kind, engine_url, clock=clock, timeouts=PATIENT, tables=TABLES) as shell:
        make_faulty(shell.port, faults)
        await try_losses(shell, faults, step, LOSSES, (1, 2, 3))


@pytest.mark.parametrize("step", sampled(STEPS, 3), ids=lambda step: step.name)
async def test_a_hang_at_every_request_of_a_socket(
    kind: str, proxy: FaultProxy, step: Step, faults: Faults, clock: Clock
) -> None:
    async with opened_at(kind, proxy.url, clock=clock, timeouts=SHORT, tables=TABLES) as shell:
        await try_at_every_request(shell, faults, step, ApplyThenHang(), times=1)


def test_the_verbs_of_unknown_outcome_are_these() -> None:
    assert {step.name for step in STEPS if step.may_be_unknown} == UNKNOWN
