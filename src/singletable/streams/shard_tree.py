"""The shards of a stream and their order: one is read after its parent, so that an item's changes keep theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from singletable.errors import NotConfigured
from singletable.flow import DYNAMODB_STREAMS, Port
from singletable.foundation import Table, ready
from singletable.operations import DescribeStream, Shard, TableCall
from singletable.streams.state import LeaseItem


async def find_stream(port: Port, table: Table, check_view: Callable[[str], None] | None = None) -> str:
    """The name (ARN) of a table's stream. One request. NotConfigured if it has none, or has a refused view."""
    await ready(port, table)
    answer = await port.send(TableCall("DescribeTable", {"TableName": table.name}))
    described: dict[str, Any] = (answer or {}).get("Table", {})
    stream = described.get("LatestStreamArn")
    if not stream or not described.get("StreamSpecification", {}).get("StreamEnabled"):
        raise NotConfigured(
            "the table has no stream",
            table=table.name,
            hint="Switch it on, with new and old images; `singletable table diff` shows what else differs.",
        )
    view = described["StreamSpecification"].get("StreamViewType")
    if check_view is not None and view:
        check_view(view)
    return str(stream)


async def all_shards(port: Port, stream: str) -> list[Shard]:
    """Every shard of a stream, 100 a request."""
    source = port.to(DYNAMODB_STREAMS)
    shards: list[Shard] = []
    after: str | None = None
    while True:
        page = await source.send(DescribeStream(stream, after))
        shards += page.shards
        after = page.last_evaluated_shard_id
        if after is None:
            return shards


def newest(shards: Sequence[Shard]) -> set[str]:
    """The shards without children: the ones that get new records."""
    return {shard.id for shard in shards} - {shard.parent for shard in shards if shard.parent}


def readable_shards(shards: Sequence[Shard], leases: Mapping[str, LeaseItem]) -> list[Shard]:
    """The shards that may be read now: they have not ended, and their parent has ended or is gone."""
    there = {shard.id for shard in shards}

    def is_over(id: str) -> bool:
        lease = leases.get(id)
        return lease.is_over if lease is not None else id not in there

    return [s for s in shards if not (s.id in leases and is_over(s.id)) and (s.parent is None or is_over(s.parent))]
