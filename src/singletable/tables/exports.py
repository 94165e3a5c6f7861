"""Exports of a table to S3, as DynamoDB makes them: of any second of 35 days, without read units. Flows.

DynamoDB bills an export by the table's size in GB. It reads its own backups of the table, so the table serves its
programs as before.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from msgspec import Struct

from singletable.errors import InvalidRequest, NotConfigured, NotFound, NotSupported, Unavailable
from singletable.flow import Port, until
from singletable.operations import TableCall
from singletable.tables.backups import Progress, recovery

ExportKind = Literal["full", "incremental"]
_UNKNOWN: Final = "UnknownOperationException"
_KINDS: Final[dict[str, ExportKind]] = {"FULL_EXPORT": "full", "INCREMENTAL_EXPORT": "incremental"}


class TableExport(Struct, frozen=True, kw_only=True):
    """An export that DynamoDB makes, or has made."""

    arn: str
    status: Literal["IN_PROGRESS", "COMPLETED", "FAILED"]
    bucket: str
    prefix: str = ""
    kind: ExportKind = "full"
    items: int | None = None
    """The number of items; None while the export runs."""
    billed_bytes: int | None = None
    failure: str = ""

    @property
    def location(self) -> str:
        """The address of its manifest, as `s3://BUCKET/PREFIX/AWSDynamoDB/ID`, for `export --from-export`."""
        parts = [self.bucket, self.prefix.strip("/"), "AWSDynamoDB", self.arn.rsplit("/", 1)[-1]]
        return "s3://" + "/".join(part for part in parts if part)


async def start_export(
    port: Port,
    table: str,
    bucket: str,
    prefix: str = "",
    *,
    at: datetime | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> TableExport:
    """Begin an export: of the table `at` a time, or of its changes from `since` on and before `until`.

    Three requests. NotConfigured if recovery is off; InvalidRequest for times that can't be exported; NotSupported.
    """
    known = await recovery(port, table)
    if not known.is_on:
        raise NotConfigured(
            "point-in-time recovery is off, and DynamoDB exports from its recovery data",
            table=table,
            operation="ExportTableToPointInTime",
            hint="Switch it on: singletable backup recovery MODULE --on. Times before that can't be exported.",
        )
    body: dict[str, Any] = {"S3Bucket": bucket, "ExportFormat": "DYNAMODB_JSON", "ClientToken": port.token()}
    body |= {"S3Prefix": prefix.strip("/")} if prefix.strip("/") else {}
    body |= _times(table, at, since, until)
    described = await port.send(TableCall("DescribeTable", {"TableName": table}))
    arn = str((described or {})["Table"]["TableArn"])
    return _export(await _send(port, table, "ExportTableToPointInTime", {"TableArn": arn, **body}))


async def describe_export(port: Port, arn: str) -> TableExport:
    """One export. NotFound if there is none. One request."""
    answer = await _send(port, "", "DescribeExport", {"ExportArn": arn}, or_none="ExportNotFoundException")
    if not answer:
        raise NotFound("the export does not exist", operation="DescribeExport", hint=f"Its name was given as {arn}.")
    return _export(answer)


async def await_export(port: Port, export: TableExport, progress: Progress | None = None) -> TableExport:
    """Wait until an export is complete: minutes to hours, without a limit. Unavailable if it fails."""

    async def ended() -> TableExport | None:
        state = await describe_export(port, export.arn)
        if state.status == "FAILED":
            raise Unavailable(
                f"DynamoDB could not make the export: {state.failure or 'it says no reason'}",
                operation="ExportTableToPointInTime",
                hint=f"Look at the bucket {state.bucket} and who may write to it, then begin again.",
            )
        if state.status != "COMPLETED" and progress is not None:
            progress(state.status)
        return state if state.status == "COMPLETED" else None

    return await until(port, ended)


def _times(table: str, at: datetime | None, since: datetime | None, until: datetime | None) -> dict[str, Any]:
    """The times in a request: one moment, or a period."""
    if any(time is not None and time.tzinfo is None for time in (at, since, until)):
        raise InvalidRequest("a time of an export has a zone", table=table, hint="As in 2026-11-20T09:30:00Z.")
    if since is None and until is None:
        full: dict[str, Any] = {"ExportType": "FULL_EXPORT"}
        return full if at is None else full | {"ExportTime": int(at.timestamp())}
    if since is None or at is not None:
        raise InvalidRequest(
            "an export is of one time, or of the changes since one",
            table=table,
            hint="Give at=, or since= with or without until=.",
        )
    times: dict[str, Any] = {"ExportFromTime": int(since.timestamp()), "ExportViewType": "NEW_AND_OLD_IMAGES"}
    if until is not None:
        times["ExportToTime"] = int(until.timestamp())
    return {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": times}


async def _send(port: Port, table: str, operation: str, body: dict[str, Any], or_none: str = "") -> dict[str, Any]:
    """The description in an answer; empty for the error code in `or_none`."""
    answer = await port.send(TableCall(operation, body, or_none=or_none or _UNKNOWN))
    if answer is not None:
        found: dict[str, Any] = answer["ExportDescription"]
        return found
    if or_none:
        return {}
    raise NotSupported(
        "the engine makes no exports to S3",
        capability="exports",
        operation=operation,
        table=table,
        hint="Leave it out: `singletable export` reads the table by a scan.",
    )


def _export(fields: dict[str, Any]) -> TableExport:
    return TableExport(
        arn=str(fields["ExportArn"]),
        status=fields["ExportStatus"],
        bucket=str(fields.get("S3Bucket", "")),
        prefix=str(fields.get("S3Prefix") or ""),
        kind=_KINDS.get(str(fields.get("ExportType")), "full"),
        items=fields.get("ItemCount") if fields["ExportStatus"] == "COMPLETED" else None,
        billed_bytes=fields.get("BilledSizeBytes") if fields["ExportStatus"] == "COMPLETED" else None,
        failure=": ".join(str(part) for part in (fields.get("FailureCode"), fields.get("FailureMessage")) if part),
    )
