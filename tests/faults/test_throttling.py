"""Throttling as DynamoDB says it: an index that is too slow, a partition with too many writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from singletable.errors import Throttled
from tests.faults.actions import Throttle
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.models import User, app
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada", phone="12", age=36)
BEN = User(email="ben@example.org", name="Ben")
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/app"
OF_INDEX = '"gsi1pk"'
"""Of requests that write a key of the index."""


@pytest.fixture
async def shell(kind: str, engine_url: str, faults: Faults, clock: Clock) -> AsyncIterator[Shell]:
    async with opened_at(kind, engine_url, clock=clock, tables=(app,)) as made:
        make_faulty(made.port, faults)
        yield made


@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "ThrottlingException"])
async def test_a_throttled_index_is_waited_for_and_named(shell: Shell, faults: Faults, clock: Clock, code: str) -> None:
    throttle = Throttle(code, reason="IndexWriteKeyRangeThroughputExceeded", resource=f"{ARN}/index/gsi1")
    faults.add(Rule(Match("PutItem", key=OF_INDEX, nth=(1, 2, 3)), throttle))
    await shell.put(ADA)
    assert await shell.get(User.by_email(ADA.email).consistent()) == ADA
    assert (faults.seen["PutItem"], len(clock.slept)) == (4, 3)
    faults.clear()
    faults.add(Rule(Match("PutItem", key=OF_INDEX), throttle))
    with pytest.raises(Throttled, match="IndexWriteKeyRangeThroughputExceeded of index gsi1 of app"):
        await shell.put(replace(ADA, name="never"))
    assert await shell.get(User.by_email(ADA.email).consistent()) == ADA
    waits = len(clock.slept)
    await shell.put(BEN)
    assert len(clock.slept) == waits, "an item that is in no index is not held up"


async def test_a_busy_partition_holds_up_no_other(shell: Shell, faults: Faults, clock: Clock) -> None:
    busy = Throttle("ThrottlingException", reason="TableWriteKeyRangeThroughputExceeded", resource=ARN)
    faults.add(Rule(Match(("PutItem", "UpdateItem"), key="user#ada"), busy))
    with pytest.raises(Throttled, match="TableWriteKeyRangeThroughputExceeded of table app"):
        await shell.put(ADA)
    waits = len(clock.slept)
    assert waits > 3
    for number in range(20):
        await shell.put(User(email=f"u{number}@example.org"))
    assert len(clock.slept) == waits
    assert await shell.get(User.by_email(ADA.email).consistent()) is None
    faults.clear()
    await shell.put(ADA)
    assert await shell.get(User.by_email(ADA.email).consistent()) == ADA
