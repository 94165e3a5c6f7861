"""What requests cost: units as the service reports them, requests of each price, and money.

A refused write is charged as a write, but its answer reports no units: it is counted as the smallest write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

import msgspec

PRICES = Path(__file__).with_name("prices.json")
_READS = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"})
_LISTS = frozenset({"PUT", "POST", "COPY", "LIST"})


@dataclass
class Count:
    """The sum over some requests."""

    requests: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    unreported_units: float = 0.0
    """Write units of refused writes, which no answer reports."""
    stream_reads: int = 0
    queue_requests: int = 0
    object_writes: int = 0
    """Requests of S3 at the price of a PUT or a LIST."""
    object_reads: int = 0
    tables: int = 0
    queues: int = 0
    buckets: int = 0

    def add(self, other: Count) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def scaled(self, factor: float) -> Count:
        """An estimate: whole numbers stay whole."""
        made = Count()
        for each in fields(self):
            value = getattr(self, each.name) * factor
            setattr(made, each.name, round(value) if isinstance(getattr(self, each.name), int) else value)
        return made

    @property
    def units(self) -> float:
        """What `--cap` limits."""
        return self.read_units + self.write_units + self.unreported_units

    def saved(self) -> dict[str, float]:
        """As JSON, without what is zero."""
        return {each.name: round(value, 1) for each in fields(self) if (value := getattr(self, each.name))}


@dataclass(frozen=True)
class Prices:
    """Dollars for one of each, on demand: an estimate, from what was published by a date."""

    region: str
    as_of: str
    note: str
    read_unit: float
    write_unit: float
    stream_read: float
    queue_request: float
    object_write: float
    object_read: float

    def money(self, count: Count) -> float:
        return (
            count.read_units * self.read_unit
            + (count.write_units + count.unreported_units) * self.write_unit
            + count.stream_reads * self.stream_read
            + count.queue_requests * self.queue_request
            + count.object_writes * self.object_write
            + count.object_reads * self.object_read
        )


def prices_of(region: str) -> Prices:
    """A region's prices; one that is not in the file is taken to be as dear as the dearest, which the note says."""
    saved = json.loads(PRICES.read_text())
    factor = saved["regions"].get(region)
    note = "" if factor is not None else f"{region} is not in {PRICES.name}: taken as {saved['elsewhere']} x us-east-1"
    factor = factor or saved["elsewhere"]
    each = {name: said["per_million"] * factor / 1e6 for name, said in saved["prices"].items()}
    return Prices(region=region, as_of=saved["as_of"], note=note, **each)


def total(counts: Iterable[Count]) -> Count:
    made = Count()
    for each in counts:
        made.add(each)
    return made


def count_json(prefix: str, operation: str, request: bytes, status: int, answer: bytes) -> Count:
    """One request of DynamoDB, its streams or SQS, and its answer."""
    count = Count(requests=1)
    if prefix == "AmazonSQS":
        count.queue_requests = 1
        count.queues = int(operation == "CreateQueue" and status == 200)
    elif prefix.startswith("DynamoDBStreams"):
        count.stream_reads = int(operation == "GetRecords")
    elif status == 200:
        count.tables = int(operation == "CreateTable")
        _count_units(count, operation, answer)
    elif b"ConditionalCheckFailed" in answer:
        count.unreported_units = _refused_units(operation, request)
    return count


def count_object(method: str, target: str, status: int) -> Count:
    """One request of S3."""
    path, _, query = target.partition("?")
    is_list = method == "GET" and path.strip("/").count("/") == 0
    writes = int(method in _LISTS or is_list)
    reads = int(method in ("GET", "HEAD") and not is_list)
    is_bucket = method == "PUT" and "/" not in path.strip("/") and not query and status == 200
    return Count(requests=1, object_writes=writes, object_reads=reads, buckets=int(is_bucket))


def _count_units(count: Count, operation: str, answer: bytes) -> None:
    reported = [*_reported(answer)]
    if operation not in _READS:
        count.read_units = sum(each.get("ReadCapacityUnits", 0.0) for each in reported)
        count.write_units = sum(
            each.get("WriteCapacityUnits", each["CapacityUnits"] - each.get("ReadCapacityUnits", 0.0))
            for each in reported
        )
        return
    count.read_units = sum(each["CapacityUnits"] for each in reported)


def _reported(answer: bytes) -> Iterable[Mapping[str, Any]]:
    if b"ConsumedCapacity" not in answer:
        return []
    found = msgspec.json.decode(answer, type=dict[str, Any]).get("ConsumedCapacity", [])
    return [cast("dict[str, Any]", found)] if isinstance(found, dict) else cast("list[dict[str, Any]]", found)


def _refused_units(operation: str, request: bytes) -> float:
    if operation != "TransactWriteItems":
        return 1.0
    return 2.0 * len(msgspec.json.decode(request).get("TransactItems", ()))
