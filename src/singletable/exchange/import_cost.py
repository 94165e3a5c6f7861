"""The cost of an import of another table, by what the service says of it."""

from __future__ import annotations

from math import ceil
from typing import Any

from msgspec import Struct

from singletable.errors import NotConfigured
from singletable.flow import Port
from singletable.operations import TableCall
from singletable.tables import READ_BYTES, WRITE_BYTES


class ImportCost(Struct, frozen=True):
    """The cost of an import of another table, before it begins."""

    items: int
    """The service's last count, up to six hours old on AWS."""
    bytes: int
    read_units: float
    """The units of the consistent scan."""
    write_units: int
    """The units of one write for each item, at its mean size: indexes, guards and edge sets take more."""


async def predict_import(port: Port, name: str) -> ImportCost:
    """Predict the cost of an import of a table. One request. NotConfigured if the table is missing."""
    call: Any = TableCall("DescribeTable", {"TableName": name}, or_none="ResourceNotFoundException")
    answer = await port.send(call)
    if answer is None:
        raise NotConfigured("the table to import is missing", table=name, operation="import", hint="Look at its name.")
    items, size = answer["Table"].get("ItemCount", 0), answer["Table"].get("TableSizeBytes", 0)
    mean_units = max(1, ceil(size / items / WRITE_BYTES)) if items else 0
    return ImportCost(items, size, round(size / READ_BYTES, 1), items * mean_units)
