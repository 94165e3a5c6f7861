"""A stream read by its three operations, each once: what cassettes hold of it."""

from __future__ import annotations

from singletable import Entity, Key, Table
from singletable.flow import DYNAMODB_STREAMS
from singletable.operations import TableCall
from singletable.operations.stream import DescribeStream, GetRecords, GetShardIterator
from tests.support.shells import Shell

lines = Table("lines", stream="new_and_old")
"""Nothing in it expires: where something does, the first use sweeps the table, by the clock."""


class Line(Entity, table=lines, type="line"):
    id: str
    text: str = ""

    @lines.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"line#{id}", "line"


async def test_a_stream_gives_what_was_written(shell: Shell) -> None:
    await shell.create(Line(id="n1", text="first"))
    await shell.put(Line(id="n1", text="second"))
    table = await shell.port.send(TableCall("DescribeTable", {"TableName": lines.name}))
    assert table is not None
    stream = table["Table"]["LatestStreamArn"]
    source = shell.port.to(DYNAMODB_STREAMS)
    (shard,) = (await source.send(DescribeStream(stream))).shards
    iterator = await source.send(GetShardIterator(stream, shard.id))
    assert iterator is not None
    first, second = (await source.send(GetRecords(stream, iterator))).records
    assert (first.event, second.event) == ("INSERT", "MODIFY")
    assert first.sequence < second.sequence
    assert b'"first"' in bytes(second.dynamodb.old_image)
    assert b'"second"' in bytes(second.dynamodb.new_image)
