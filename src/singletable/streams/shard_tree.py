"""The shards of a stream and their order: one is read after its parent, so that an item's changes keep theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from singletable.errors import NotConfigured
from singletable.flow import DYNAMODB_STREAMS, Port
from singletable.foundation import Table, ready
from singletable.operations import DescribeStream, Shard, TableCall
from singletable.streams.state import LeaseItem


class StreamShards(Struct, frozen=True):
    """The shards of a stream."""

    shards: list[Shard]
    is_closed: bool
    """Whether it gets no more records: it was switched off, or its table deleted. It can be read for a day."""


async def find_stream(port: Port, table: Table, check_view: Callable[[str], None] | None = None) -> str:
    """The name (ARN) of a table's stream. One request. NotConfigured if it has none, or has a refused view."""
    await ready(port, table)
    stream, view = await _live_stream(port, table)
    if not stream:
        raise NotConfigured(
            "the table has no stream",
            table=table.name,
            hint="Switch it on, with new and old images; `singletable table diff` shows what else differs.",
        )
    if check_view is not None and view:
        check_view(view)
    return stream


async def is_replaced(port: Port, table: Table, stream: str) -> bool:
    """Whether the table has another stream by now. One request."""
    live, _ = await _live_stream(port, table)
    return live not in ("", stream)


async def _live_stream(port: Port, table: Table) -> tuple[str, str]:
    """The stream that the table has now, and its view; "" for none."""
    answer = await port.send(TableCall("DescribeTable", {"TableName": table.name}))
    described: dict[str, Any] = (answer or {}).get("Table", {})
    settings: dict[str, Any] = described.get("StreamSpecification", {})
    if not settings.get("StreamEnabled"):
        return "", ""
    return str(described.get("LatestStreamArn", "")), str(settings.get("StreamViewType", ""))


async def all_shards(port: Port, stream: str) -> list[Shard]:
    """Every shard of a stream, 100 a request."""
    return (await describe_shards(port, stream)).shards


async def describe_shards(port: Port, stream: str) -> StreamShards:
    """Every shard of a stream, 100 a request, and whether it gets records."""
    source = port.to(DYNAMODB_STREAMS)
    shards: list[Shard] = []
    after: str | None = None
    while True:
        page = await source.send(DescribeStream(stream, after))
        shards += page.shards
        after = page.last_evaluated_shard_id
        if after is None:
            return StreamShards(shards, page.stream_status == "DISABLED")


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
