"""Faults of every sort at once, for random workloads."""

from __future__ import annotations

from singletable.wire import RetryPolicy
from tests.faults.actions import (
    Action,
    ApplyThen500,
    ApplyThen500ThenLateDuplicate,
    ApplyThenCut,
    ApplyThenHang,
    BadChecksum,
    Conflict,
    DropBefore,
    PartialPage,
    StaleRead,
    Throttle,
    TransactionInProgress,
    TruncateBody,
    Unprocessed,
)
from tests.faults.rules import Match, Rule

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
PATIENT = RetryPolicy(attempts=40)
OVERTAKEN = StaleRead(even_consistent=True, only_there=True)


def everything_goes_wrong(*, hangs: bool) -> list[Rule]:
    """Every sort of fault, each now and then. A late duplicate only of what a token protects."""
    losses: list[Action] = [DropBefore(), ApplyThenCut(), ApplyThen500(), TruncateBody(), BadChecksum()]
    if hangs:
        losses.append(ApplyThenHang())
    return [
        Rule(Match("TransactWriteItems", probability=0.05), ApplyThen500ThenLateDuplicate(after=3)),
        Rule(Match("TransactWriteItems", probability=0.05), TransactionInProgress()),
        *(Rule(Match(probability=0.04), loss) for loss in losses),
        Rule(Match(probability=0.05), Throttle()),
        Rule(Match(WRITES, probability=0.05), Conflict()),
        Rule(Match(("BatchWriteItem", "BatchGetItem"), probability=0.3), Unprocessed(1)),
        Rule(Match("Query", probability=0.2), PartialPage(1)),
        Rule(Match("GetItem", key="named#|ranked#", probability=0.3), OVERTAKEN),
    ]
