"""One change of a live table: the request that begins it, and the wait until it is there. Flows.

DynamoDB takes one index or one setting at a time, and serves the table meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from singletable.errors import NotFound, NotSupported, SingletableError
from singletable.flow import Port, until
from singletable.operations import TableCall
from singletable.tables.admin import set_recovery, set_ttl
from singletable.tables.definition import STREAM_VIEWS, TableDefinition
from singletable.tables.settings import TABLE_CLASSES, billing_request, tag_list

Setting = Literal[
    "tags",
    "deletion protection",
    "point-in-time recovery",
    "table class",
    "billing",
    "encryption key",
    "TTL",
    "stream",
]
_UNKNOWN: Final = "UnknownOperationException"
_GONE: Final[Mapping[str, Any]] = {"IndexStatus": "DELETING"}


class IndexProgress(Struct, frozen=True):
    """The progress of an index, from the service."""

    status: str
    is_filling: bool
    items: int
    """The index's items by the service's last count, up to six hours old on AWS."""
    table_items: int


async def create_index(
    port: Port, table: TableDefinition, name: str, progress: Callable[[IndexProgress], object] | None = None
) -> None:
    """Begin an index, and wait until it is filled, for as long as that takes."""
    body = {
        "AttributeDefinitions": table.attribute_definitions(name),
        "GlobalSecondaryIndexUpdates": [{"Create": table.index_creation(name)}],
    }
    await _begin(port, table.name, body, lambda raw: _index(raw, name) is not None)
    await wait_for_index(port, table.name, name, progress)


async def wait_for_index(
    port: Port, table: str, name: str, progress: Callable[[IndexProgress], object] | None = None
) -> None:
    """Until an index can be read, with the table. No limit."""

    async def is_ready() -> bool:
        raw = await _described(port, table)
        index = _index(raw, name) or {}
        status = str(index.get("IndexStatus", "ACTIVE" if index else "CREATING"))
        if progress is not None:
            is_filling = bool(index.get("Backfilling", False))
            progress(IndexProgress(status, is_filling, int(index.get("ItemCount", 0)), int(raw.get("ItemCount", 0))))
        return status == "ACTIVE" and raw.get("TableStatus", "ACTIVE") == "ACTIVE"

    await until(port, is_ready)


async def drop_index(port: Port, table: TableDefinition, name: str) -> None:
    """Delete an index, and wait until it is gone."""
    body = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}
    await _begin(port, table.name, body, lambda raw: (_index(raw, name) or _GONE).get("IndexStatus") == "DELETING")
    await wait_for_table(port, table.name, without=name)


async def wait_for_table(port: Port, table: str, *, without: str = "") -> None:
    """Until a table takes a change, and lacks an index. No limit."""

    async def is_ready() -> bool:
        raw = await _described(port, table)
        return raw.get("TableStatus", "ACTIVE") == "ACTIVE" and _index(raw, without) is None

    await until(port, is_ready)


async def apply_setting(port: Port, table: TableDefinition, setting: Setting, raw: Mapping[str, Any]) -> None:
    """Give a table one declared setting; `raw` is its description before."""
    if setting == "TTL":
        await set_ttl(port, table)
    elif setting == "tags":
        body = {"ResourceArn": raw.get("TableArn", ""), "Tags": tag_list(table.settings.tags)}
        await _supported(port, TableCall("TagResource", body, _UNKNOWN), table.name, setting)
    elif setting == "point-in-time recovery":
        if not await set_recovery(port, table.name, enabled=bool(table.settings.point_in_time_recovery)):
            raise _lacking(setting, table.name, "UpdateContinuousBackups")
    else:
        await _update(port, table.name, _settings_body(table, setting, raw))
        await wait_for_table(port, table.name)


async def remove_setting(port: Port, table: TableDefinition, setting: Setting, subject: str) -> None:
    """Take a setting away that is no longer declared; `subject` is the attribute of TTL."""
    if setting == "TTL":
        setting_off = {"Enabled": False, "AttributeName": subject}
        body = {"TableName": table.name, "TimeToLiveSpecification": setting_off}
        await _supported(port, TableCall("UpdateTimeToLive", body, _UNKNOWN), table.name, setting)
    else:
        assert setting == "stream"
        await _update(port, table.name, {"StreamSpecification": {"StreamEnabled": False}})
        await wait_for_table(port, table.name)


def _settings_body(table: TableDefinition, setting: Setting, raw: Mapping[str, Any]) -> dict[str, Any]:
    settings = table.settings
    if setting == "deletion protection":
        return {"DeletionProtectionEnabled": bool(table.deletion_protection)}
    if setting == "stream":
        return {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": STREAM_VIEWS[table.stream or "keys"]}}
    if setting == "encryption key":
        return {"SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": table.encryption_key}}
    if setting == "table class":
        return {"TableClass": TABLE_CLASSES[settings.table_class or "standard"]}
    assert setting == "billing"
    indexes = tuple(i["IndexName"] for i in raw.get("GlobalSecondaryIndexes", ()))
    return billing_request(settings.billing or "on_demand", indexes)


async def _begin(
    port: Port, table: str, body: Mapping[str, Any], is_begun: Callable[[Mapping[str, Any]], bool]
) -> None:
    """Send a change of an index. After a lost answer the retry fails; the table's description then decides."""
    try:
        await _update(port, table, body)
    except SingletableError:
        if not is_begun(await _described(port, table)):
            raise


def _index(raw: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((i for i in raw.get("GlobalSecondaryIndexes", ()) if i["IndexName"] == name), None)


async def _update(port: Port, table: str, body: Mapping[str, Any]) -> None:
    await port.send(TableCall("UpdateTable", {"TableName": table, **body}))


async def _supported(port: Port, call: TableCall, table: str, what: str) -> None:
    if await port.send(call) is None:
        raise _lacking(what, table, call.operation)


def _lacking(what: str, table: str, operation: str) -> NotSupported:
    return NotSupported(f"the engine has no {what}", capability=what, table=table, operation=operation)


async def _described(port: Port, table: str) -> Mapping[str, Any]:
    answer = await port.send(TableCall("DescribeTable", {"TableName": table}, or_none="ResourceNotFoundException"))
    if answer is None:
        raise NotFound("the table is missing", table=table)
    raw: Mapping[str, Any] = answer["Table"]
    return raw
