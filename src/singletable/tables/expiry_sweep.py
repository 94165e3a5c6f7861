"""Sweep: delete what has expired, at once and by a person's wish, as DynamoDB's TTL does by itself within days."""

from __future__ import annotations

from msgspec.structs import replace

from singletable.flow import Port, pages_of
from singletable.operations import RAW, DeleteItem, Key, RawCondition, RefusedWrite, Scan, Selection
from singletable.tables.definition import TableDefinition

_PAGE = 1000
_EXPIRED = "#0 <= :0"


async def sweep(port: Port, table: TableDefinition) -> int:
    """Delete every expired item, each under the condition that it is still expired. Returns the number deleted.

    Reads the whole table. The time of a deletion is read after an answer, so it is the service's.
    """
    if table.ttl_attribute is None:
        return 0
    names = {"#0": table.ttl_attribute}
    selection = Selection(filter=_EXPIRED, names=names, values=_until(port), limit=_PAGE)
    deleted = 0
    async for page in pages_of(port, lambda after: Scan(table.name, replace(selection, after=after), RAW)):
        expired = RawCondition(_EXPIRED, names, _until(port))
        for item in page.items:
            key: Key = {name: dict(item[name]) for name in table.key}
            deleted += await _delete(port, DeleteItem(table.name, key, expired, RAW))
    return deleted


def _until(port: Port) -> dict[str, dict[str, str]]:
    return {":0": {"N": str(int(port.now()))}}


async def _delete(port: Port, operation: DeleteItem[object]) -> int:
    try:
        await port.send(operation)
    except RefusedWrite:
        return 0  # written again since the page was read
    return 1
