"""Metrics in a line of a log: CloudWatch reads them where a Lambda function prints its embedded metric format.

The names are here, once: what prints them, and the alarms that `singletable_deploy` makes, must agree.
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Mapping
from typing import Any, Final, Protocol

import msgspec

NAMESPACE: Final = "singletable"
TASKS_OVERDUE: Final = "TasksOverdueSeconds"
"""Since the oldest task that waits could have been claimed; 0 for none."""
TASKS_DEAD: Final = "TasksDead"
"""The tasks that failed for the last time, up to 800."""
CHANGES_DEAD: Final = "ChangesDead"
"""1 if a consumer has a dead letter, 0 if it has none."""
CHANGES_BEHIND: Final = "ChangesBehindSeconds"
"""The age of the oldest change that a consumer's workers have not handled; 0 for none."""
UNITS: Final[Mapping[str, str]] = {
    TASKS_OVERDUE: "Seconds",
    TASKS_DEAD: "Count",
    CHANGES_DEAD: "Count",
    CHANGES_BEHIND: "Seconds",
}


class MetricsHandler(Protocol):
    """A handler for a schedule that prints metrics, and returns them by name."""

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> dict[str, float]: ...


class AsyncMetricsHandler(Protocol):
    """The same, awaited."""

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> Coroutine[Any, Any, dict[str, float]]: ...


def dimensions_of(table: str, consumer: str = "") -> dict[str, str]:
    """The dimensions of a metric: the table's name in the account, and the consumer of its changes."""
    return {"Table": table, **({"Consumer": consumer} if consumer else {})}


def print_metrics(dimensions: Mapping[str, str], metrics: Mapping[str, float], now: float) -> None:
    """Print one line with metrics. `now` is in seconds since 1970."""
    declared = [{"Name": name, "Unit": UNITS[name]} for name in metrics]
    directive = {"Namespace": NAMESPACE, "Dimensions": [list(dimensions)], "Metrics": declared}
    line = {"_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": [directive]}, **dimensions, **metrics}
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()
