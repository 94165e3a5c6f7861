"""The flows of changes by their verbs: what the two shells run."""

from __future__ import annotations

from typing import Any

from singletable.flow import CHANGES_BEHIND, CHANGES_DEAD, Port, Stop, dimensions_of, print_metrics, stopping
from singletable.foundation import open_query
from singletable.streams import worker
from singletable.streams.check import check as check
from singletable.streams.consumer import Consumer, ConsumerOptions
from singletable.streams.dead_letters import dead_letters as dead_letters, drop as drop, retry as retry
from singletable.streams.lag import consumer_lag as consumer_lag, release_shard as release_shard
from singletable.streams.lambda_handler import handle_event as handle_event
from singletable.streams.worker import drain as drain


async def print_change_metrics(port: Port, consumer: Consumer) -> dict[str, float]:
    """Print whether a consumer has dead letters, and how far its workers are behind, where that can be measured: not
    before its first worker, which leaves the metric out. A query of one item, which may have 350 KB, and a lag."""
    query: Any = consumer.state.dead_letter.by_sequence(consumer.name)
    prepared = await open_query(port, query)
    letters = await port.send(prepared.operation(None, 1))
    metrics = {CHANGES_DEAD: float(len(letters.items))}
    behind = (await consumer_lag(port, consumer)).seconds
    if behind is not None:
        metrics[CHANGES_BEHIND] = behind
    print_metrics(dimensions_of(port.names[consumer.table.name], consumer.name), metrics, port.now())
    return metrics


async def run(port: Port, consumer: Consumer, options: ConsumerOptions, stop: Stop | None, signals: bool) -> None:
    """A worker, until it is to stop."""
    with stopping(stop, signals) as is_over:
        await worker.run(port, consumer, options, is_over)
