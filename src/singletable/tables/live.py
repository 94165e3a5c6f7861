"""The settings of a live table, read from the service. Flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from singletable.flow import Port
from singletable.operations import TableCall
from singletable.tables.admin import Description
from singletable.tables.definition import STREAM_VIEWS, StreamView, TableDefinition
from singletable.tables.settings import TABLE_CLASSES, Billing, Provisioned, TableClass

_UNKNOWN: Final = "UnknownOperationException"


class LiveSettings(Struct, frozen=True):
    """The settings of a live table. Recovery and tags are None if not requested, or not supported by the engine."""

    billing: Billing
    table_class: TableClass
    deletion_protection: bool
    encryption_key: str
    """The key's ARN; "" for the one that AWS owns."""
    stream: StreamView | None
    ttl: str | None
    point_in_time_recovery: bool | None
    tags: Mapping[str, str] | None


async def live_settings(
    port: Port, table: TableDefinition, description: Description, *, recovery: bool, tags: bool
) -> LiveSettings:
    """The settings of a described table: one request more for recovery, and one or more for tags."""
    return settings_of(
        description,
        await recovery_of(port, table.name) if recovery else None,
        await tags_of(port, str(description.raw.get("TableArn", ""))) if tags else None,
    )


def settings_of(description: Description, recovery: bool | None, tags: Mapping[str, str] | None) -> LiveSettings:
    raw = description.raw
    stream = raw.get("StreamSpecification", {})
    views: dict[str, StreamView] = {name: view for view, name in STREAM_VIEWS.items()}
    classes: dict[str, TableClass] = {name: kind for kind, name in TABLE_CLASSES.items()}
    return LiveSettings(
        _billing(raw),
        classes.get(raw.get("TableClassSummary", {}).get("TableClass", ""), "standard"),
        bool(raw.get("DeletionProtectionEnabled", False)),
        str(raw.get("SSEDescription", {}).get("KMSMasterKeyArn", "")),
        views.get(stream.get("StreamViewType", "")) if stream.get("StreamEnabled") else None,
        description.ttl,
        recovery,
        tags,
    )


async def recovery_of(port: Port, table: str) -> bool | None:
    """Whether a table can be restored to a time; None on an engine that has no such operation."""
    answer = await port.send(TableCall("DescribeContinuousBackups", {"TableName": table}, or_none=_UNKNOWN))
    if answer is None:
        return None
    said = answer.get("ContinuousBackupsDescription", {}).get("PointInTimeRecoveryDescription", {})
    return bool(said.get("PointInTimeRecoveryStatus") == "ENABLED")


async def tags_of(port: Port, arn: str) -> dict[str, str] | None:
    """A table's tags; None on an engine that has none."""
    tags: dict[str, str] = {}
    body: dict[str, Any] = {"ResourceArn": arn}
    while True:
        answer = await port.send(TableCall("ListTagsOfResource", body, or_none=_UNKNOWN))
        if answer is None:
            return None
        tags |= {tag["Key"]: tag["Value"] for tag in answer.get("Tags", ())}
        if not answer.get("NextToken"):
            return tags
        body = {"ResourceArn": arn, "NextToken": answer["NextToken"]}


def _billing(raw: Mapping[str, Any]) -> Billing:
    """A table that was never on demand has no summary of its billing."""
    given = raw.get("ProvisionedThroughput", {})
    read, write = int(given.get("ReadCapacityUnits", 0)), int(given.get("WriteCapacityUnits", 0))
    mode = raw.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED" if read else "PAY_PER_REQUEST")
    return Provisioned(read, write) if mode == "PROVISIONED" else "on_demand"
