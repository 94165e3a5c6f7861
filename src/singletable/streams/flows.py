"""The flows of changes by their verbs: what the two shells run."""

from __future__ import annotations

from singletable.flow import Port, Stop, stopping
from singletable.streams import worker
from singletable.streams.check import check as check
from singletable.streams.consumer import Consumer, ConsumerOptions
from singletable.streams.dead_letters import dead_letters as dead_letters, drop as drop, retry as retry
from singletable.streams.lag import consumer_lag as consumer_lag, release_shard as release_shard
from singletable.streams.lambda_handler import handle_event as handle_event
from singletable.streams.worker import drain as drain


async def run(port: Port, consumer: Consumer, options: ConsumerOptions, stop: Stop | None, signals: bool) -> None:
    """A worker, until it is to stop."""
    with stopping(stop, signals) as is_over:
        await worker.run(port, consumer, options, is_over)
