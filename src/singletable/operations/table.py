"""CreateTable, DescribeTable, UpdateTable, DeleteTable, UpdateTimeToLive and the like: plain calls, plain answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from singletable.flow import DECLARED, Consumed, Request, Response, TableNames
from singletable.operations.answers import NOTHING, encode, named
from singletable.wire import Fault, read_fault

_NAMES = frozenset({"TableName", "TargetTableName"})


def in_account(body: Mapping[str, Any], names: TableNames) -> dict[str, Any]:
    """The body with the names that its tables have in the account."""
    return {part: names[value] if part in _NAMES else value for part, value in body.items()}


class TableCall(Struct, frozen=True):
    """One call about a table. `body` is its JSON; the answer is a dict, or None for the error code in `or_none`."""

    operation: str
    body: dict[str, Any]
    or_none: str = ""

    def request(self, names: TableNames = DECLARED) -> Request:
        return Request(self.operation, encode(in_account(self.body, names)), str(self.body.get("TableName", "")))

    def answer(self, response: Response) -> tuple[dict[str, Any] | None, Consumed]:
        if response.status != 200:
            fault = read_fault(response.body) or Fault("UnreadableAnswer")
            if fault.code == self.or_none:
                return None, NOTHING
            raise named(fault, self.operation, str(self.body.get("TableName", "")))
        return msgspec.json.decode(response.body, type=dict[str, Any]), NOTHING
