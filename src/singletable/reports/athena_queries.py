"""Questions to Athena: started, waited for, read page by page, with what they cost. Flows, over the own wire."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from singletable.errors import InvalidRequest, NotSupported
from singletable.flow import ATHENA
from singletable.flow.patience import until
from singletable.flow.port import Consumed, Port
from singletable.flow.request import Request, Response
from singletable.operations.answers import NOTHING, encode
from singletable.reports.answers import Answer
from singletable.wire.error_answers import Fault, read_fault

LEAST_BYTES: Final = 10 << 20
"""What a query is billed for at least: it is rounded up to the megabyte, and 10 of them."""
DOLLARS_PER_TB: Final = 5.0
"""Published for us-east-1 and most regions, 2026-11: https://aws.amazon.com/athena/pricing/"""
_READS: Final = frozenset({"SELECT", "WITH", "VALUES", "SHOW", "DESCRIBE", "EXPLAIN", "TABLE"})
_EXPLAIN: Final = re.compile(r"\s*EXPLAIN\b(?:\s+ANALYZE\b)?(?:\s+VERBOSE\b)?(?:\s*\([^()]*\))?", re.IGNORECASE)
"""What stands before the statement that is explained: with ANALYZE, Athena runs it."""
_WHITE: Final = re.compile(r"\s+|--[^\n]*(?:\n|$)|/\*.*?\*/", re.DOTALL)
_PAGE: Final = 1000
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "tinyint": pa.int64(),
    "smallint": pa.int64(),
    "integer": pa.int64(),
    "bigint": pa.int64(),
    "real": pa.float64(),
    "float": pa.float64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}


class AthenaPlace(Struct, frozen=True):
    """Where Athena answers."""

    database: str
    output: str = ""
    """`s3://bucket/prefix/` for the results; empty where the workgroup names one."""
    workgroup: str = "primary"


class Scanned(Struct, frozen=True):
    """What a question cost."""

    bytes: int
    dollars: float


class AthenaAnswer(Struct, frozen=True):
    """The rows of a question, and what they cost."""

    answer: Answer
    scanned: Scanned


class _Call(Struct, frozen=True):
    """One call of Athena. Its body has a token where a second application would start a second query."""

    operation: str
    body: dict[str, Any]

    def request(self) -> Request:
        return Request(self.operation, encode(self.body), "athena")

    def answer(self, response: Response) -> tuple[dict[str, Any], Consumed]:
        if response.status != 200:
            fault = read_fault(response.body) or Fault("UnreadableAnswer")
            if fault.code == "UnknownOperationException":
                raise NotSupported("this engine has no Athena", hint="Ask AWS.", operation=self.operation)
            said = fault.message or fault.code
            raise InvalidRequest(f"Athena refused it: {said}", operation=self.operation)
        return msgspec.json.decode(response.body, type=dict[str, Any]), NOTHING


def cost_of(scanned: int, dollars_per_tb: float = DOLLARS_PER_TB) -> Scanned:
    """What so many bytes cost. Nothing is scanned by statements about tables, and nothing is paid."""
    if not scanned:
        return Scanned(0, 0.0)
    billed = max(LEAST_BYTES, ceil(scanned / (1 << 20)) << 20)
    return Scanned(scanned, billed / (1 << 40) * dollars_per_tb)


async def publish(port: Port, place: AthenaPlace, statements: Sequence[str]) -> int:
    """Run statements one after the other, as `athena_statements` gives them; how many."""
    for number, statement in enumerate(statements):
        await _finished(port, place if number else msgspec.structs.replace(place, database="default"), statement)
    return len(statements)


async def ask(port: Port, place: AthenaPlace, sql: str, dollars_per_tb: float = DOLLARS_PER_TB) -> AthenaAnswer:
    """The answer to one question. InvalidRequest for a statement that writes, and for one that Athena fails."""
    word = _first_word(sql)
    if word == "EXPLAIN":
        found = _EXPLAIN.match(sql)
        word = _first_word(sql[found.end() :]) if found is not None else "a comment before EXPLAIN"
    if word not in _READS:
        raise InvalidRequest(
            f"{word or 'an empty text'} is refused: SQL only reads here", hint="Ask by SELECT, one statement."
        )
    id, execution = await _finished(port, place, sql.strip().rstrip(";"))
    scanned = int(execution.get("Statistics", {}).get("DataScannedInBytes", 0))
    return AthenaAnswer(Answer(await _rows(port, id)), cost_of(scanned, dollars_per_tb))


async def _finished(port: Port, place: AthenaPlace, sql: str) -> tuple[str, dict[str, Any]]:
    """Start it, and wait for its end."""
    athena = port.to(ATHENA)
    body: dict[str, Any] = {
        "QueryString": sql,
        "ClientRequestToken": port.token().ljust(32, "0"),
        "QueryExecutionContext": {"Database": place.database},
        "WorkGroup": place.workgroup,
    }
    if place.output:
        body["ResultConfiguration"] = {"OutputLocation": place.output}
    started = await athena.send(_Call("StartQueryExecution", body))
    id = str(started["QueryExecutionId"])

    async def ended() -> dict[str, Any] | None:
        found = (await athena.send(_Call("GetQueryExecution", {"QueryExecutionId": id})))["QueryExecution"]
        state = found["Status"]["State"]
        if state in ("FAILED", "CANCELLED"):
            why = found["Status"].get("StateChangeReason", "")
            raise InvalidRequest(f"Athena {state.lower()} the query: {why}", operation="StartQueryExecution")
        return dict(found) if state == "SUCCEEDED" else None

    return id, await until(port, ended)


async def _rows(port: Port, id: str) -> pa.Table:
    athena = port.to(ATHENA)
    body: dict[str, Any] = {"QueryExecutionId": id, "MaxResults": _PAGE}
    columns: list[dict[str, Any]] = []
    rows: list[list[str | None]] = []
    while True:
        page = await athena.send(_Call("GetQueryResults", body))
        found = page["ResultSet"]
        columns = columns or found["ResultSetMetadata"]["ColumnInfo"]
        rows += [[cell.get("VarCharValue") for cell in row.get("Data", ())] for row in found["Rows"]]
        if not page.get("NextToken"):
            return table_of_texts(columns, rows)
        body = {**body, "NextToken": page["NextToken"]}


def table_of_texts(columns: Sequence[Mapping[str, Any]], rows: Sequence[Sequence[str | None]]) -> pa.Table:
    """Athena's rows, which are texts under a first row of names, as typed columns. Arrays, maps and rows stay text."""
    names = [str(column["Name"]) for column in columns]
    data = rows[1:] if rows and list(rows[0]) == names else rows
    made = [
        pa.array([row[n] if n < len(row) else None for row in data], pa.string()).cast(_type_of(column))
        for n, column in enumerate(columns)
    ]
    return pa.table(made, names=names)


def _type_of(column: Mapping[str, Any]) -> pa.DataType:
    kind = str(column.get("Type", "varchar"))
    if kind == "decimal":
        return pa.decimal128(int(column.get("Precision") or 38), int(column.get("Scale") or 0))
    return _TYPES.get(kind, pa.string())


def _first_word(sql: str) -> str:
    rest = sql
    while found := _WHITE.match(rest):
        rest = rest[found.end() :]
    word = re.match(r"\(*\s*(\w+)", rest)
    return word[1].upper() if word is not None else ""
