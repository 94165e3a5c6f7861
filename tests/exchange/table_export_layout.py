"""Exports of tables in the layout that DynamoDB documents, written from its documentation.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
"""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

Item = Mapping[str, Any]
ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/"


def write_full(
    root: Path,
    table: str,
    items: Iterable[Item],
    *,
    at: datetime,
    id: str = "01693685827463-2d8752fd",
    files: int = 3,
    prefix: str = "",
) -> Path:
    """A full export below `root`; the directory of its manifest."""
    lines = [line_of({"Item": item}) for item in items]
    own = {"version": "2020-06-30", "exportTime": _time(at), "exportType": "FULL_EXPORT"}
    return _write(root, table, [_packed(lines[n::files]) for n in range(files)], id, f"{id}/data", own, prefix)


def write_around(root: Path, table: str, content: bytes, count: int, *, at: datetime) -> Path:
    """A full export of one data file, which is there already."""
    own = {"version": "2020-06-30", "exportTime": _time(at), "exportType": "FULL_EXPORT"}
    id = "01693685827463-2d8752fd"
    return _write(root, table, [(content, count)], id, f"{id}/data", own, "")


def write_incremental(
    root: Path,
    table: str,
    records: Sequence[Item],
    *,
    since: datetime,
    until: datetime,
    id: str = "01695097218000-d6299cbd",
    prefix: str = "",
) -> Path:
    """An incremental export below `root`: its data files are beside it, shared with other incremental exports."""
    lines = [line_of(record) for record in records]
    own = {
        "version": "2023-08-01",
        "exportFromTime": _time(since),
        "exportToTime": _time(until),
        "exportType": "INCREMENTAL_EXPORT",
        "outputView": "NEW_AND_OLD_IMAGES",
    }
    return _write(root, table, [_packed(lines[0::2]), _packed(lines[1::2])], id, "data", own, prefix)


def change(table_keys: Sequence[str], old: Item | None, new: Item | None, at: datetime) -> dict[str, Any]:
    """A record of an incremental export."""
    item = new or old or {}
    micros = str(int(at.timestamp() * 1_000_000))
    found: dict[str, Any] = {"Metadata": {"WriteTimestampMicros": {"N": micros}}}
    found["Keys"] = {name: item[name] for name in table_keys}
    return found | ({"OldImage": old} if old else {}) | ({"NewImage": new} if new else {})


def line_of(record: Item) -> bytes:
    """A record as a line of a data file."""
    return json.dumps(record, separators=(",", ":")).encode()


def _write(
    root: Path,
    table: str,
    parts: Sequence[tuple[bytes, int]],
    id: str,
    data: str,
    own: Mapping[str, Any],
    prefix: str,
) -> Path:
    base = root / "AWSDynamoDB"
    (base / id).mkdir(parents=True)
    (base / data).mkdir(parents=True, exist_ok=True)
    (base / id / "_started").write_bytes(b"")
    keys = f"{prefix}/AWSDynamoDB" if prefix else "AWSDynamoDB"
    listed: list[dict[str, Any]] = []
    for number, (content, count) in enumerate(parts):
        name = f"{data}/{id[-8:]}{number:018}.json.gz"
        (base / name).write_bytes(content)
        etag = f"{hashlib.md5(content).hexdigest()}-1"
        sums = {"md5Checksum": _sum(content), "etag": etag}
        listed.append({"itemCount": count, **sums, "dataFileS3Key": f"{keys}/{name}"})
    _write_checked(base / id / "manifest-files.json", "".join(json.dumps(each) + "\n" for each in listed))
    said = {
        "exportArn": f"{ARN}{table}/export/{id}",
        "startTime": "2020-11-04T07:28:34.028Z",
        "endTime": "2020-11-04T07:33:43.897Z",
        "tableArn": f"{ARN}{table}",
        "tableId": "12345a12-abcd-123a-ab12-1234abc12345",
        "s3Bucket": "exports",
        "s3Prefix": prefix or None,
        "s3SseAlgorithm": "AES256",
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"{keys}/{id}/manifest-files.json",
        "billedSizeBytes": 0,
        "itemCount": sum(count for _, count in parts),
        "outputFormat": "DYNAMODB_JSON",
    }
    _write_checked(base / id / "manifest-summary.json", json.dumps({**said, **own}))
    return base / id


def _packed(lines: Sequence[bytes]) -> tuple[bytes, int]:
    """The content of a data file, and how many records it has."""
    return gzip.compress(b"".join(line + b"\n" for line in lines)), len(lines)


def _write_checked(path: Path, text: str) -> None:
    path.write_text(text)
    path.with_suffix(".checksum").write_text(_sum(text.encode()))


def _sum(content: bytes) -> str:
    return b64encode(hashlib.md5(content).digest()).decode()


def _time(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
