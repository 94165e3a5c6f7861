"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction: PartiQL, one statement, several, or all of them.

A text says `{table}` for its table, outside of quotes. The request puts the name in the account there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from singletable.errors import AlreadyExists
from singletable.flow import DECLARED, Consumed, OperationFacts, Request, Response, TableNames
from singletable.operations.answers import Capacity, ItemReader, decoder, encode, raise_fault, read_items, read_one
from singletable.operations.transact import raise_cancellation
from singletable.values import AttributeValue
from singletable.wire import read_fault

T = TypeVar("T")
W = TypeVar("W")

MAX_STATEMENTS = 25
"""Most statements of one batch."""
_MARK: Final = "{table}"
_QUOTED_OR_MARK: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\{table\}""")


class StatementText(Struct, frozen=True, gc=False):
    """A statement, with the values of its question marks."""

    text: str
    parameters: Sequence[AttributeValue] = ()

    @property
    def reads(self) -> bool:
        """Whether it changes nothing, and may be repeated."""
        return self.text.lstrip()[:6].upper() == "SELECT"

    @property
    def names_table(self) -> bool:
        """Whether it says `{table}` outside of quotes."""
        return _MARK in _QUOTED_OR_MARK.findall(self.text)

    def body(self, there: str) -> dict[str, Any]:
        text = _QUOTED_OR_MARK.sub(lambda part: f'"{there}"' if part[0] == _MARK else part[0], self.text)
        body: dict[str, Any] = {"Statement": text}
        return {**body, "Parameters": self.parameters} if self.parameters else body


class _StatementAnswer(Struct, Generic[W], rename="pascal", gc=False):
    items: list[W] = []
    next_token: str | None = None
    consumed_capacity: Capacity | None = None


class StatementPage(Struct, Generic[T], frozen=True, gc=False):
    """A page of an answer. `after` is where it ended, None when nothing lies beyond."""

    items: list[T]
    after: str | None


class ExecuteStatement(Struct, Generic[T], frozen=True, gc=False):
    """One statement: a page of what it reads, or the item that it returns."""

    table: str
    statement: StatementText
    reader: ItemReader[T]
    consistent: bool = False
    after: str | None = None

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {**self.statement.body(names[self.table]), "ReturnConsumedCapacity": "TOTAL"}
        if self.consistent:
            body["ConsistentRead"] = True
        if self.after is not None:
            body["NextToken"] = self.after
        return Request("ExecuteStatement", encode(body), self.table, self.statement.reads)

    def answer(self, response: Response) -> tuple[StatementPage[T], Consumed]:
        if response.status != 200:
            _raise_fault(response, "ExecuteStatement", self.table)
        answer = decoder(_StatementAnswer, Raw)(response.body)
        items = read_items(answer.items, self.reader, "ExecuteStatement")
        units = 0.0 if answer.consumed_capacity is None else answer.consumed_capacity.capacity_units
        return StatementPage(items, answer.next_token), _consumed(units, is_read=self.statement.reads)

    def facts(self, value: StatementPage[T] | None) -> OperationFacts:
        return OperationFacts(items=len(value.items) if value else 0)


class _StatementError(Struct, rename="pascal", gc=False):
    code: str = ""
    message: str = ""


class _Outcome(Struct, rename="pascal", gc=False):
    error: _StatementError | None = None
    item: Raw = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


class _OutcomesAnswer(Struct, rename="pascal", gc=False):
    responses: list[_Outcome] = []
    consumed_capacity: list[Capacity] = []


_decode_outcomes = msgspec.json.Decoder(_OutcomesAnswer, strict=False).decode


class StatementOutcome(Struct, Generic[T], frozen=True, gc=False):
    """The outcome of one statement of several: its item, or the code of its error."""

    item: T | None
    code: str = ""


class BatchExecuteStatement(Struct, Generic[T], frozen=True, gc=False):
    """Up to 25 statements of one item each, all reads or all writes, each by itself."""

    table: str
    statements: Sequence[StatementText]
    reader: ItemReader[T]

    def request(self, names: TableNames = DECLARED) -> Request:
        bodies = [statement.body(names[self.table]) for statement in self.statements]
        body = {"Statements": bodies, "ReturnConsumedCapacity": "TOTAL"}
        reads = all(statement.reads for statement in self.statements)
        return Request("BatchExecuteStatement", encode(body), self.table, reads)

    def answer(self, response: Response) -> tuple[list[StatementOutcome[T]], Consumed]:
        if response.status != 200:
            _raise_fault(response, "BatchExecuteStatement", self.table)
        answer = _decode_outcomes(response.body)
        return _outcomes(answer, self.reader, "BatchExecuteStatement"), _units(answer, self.statements)

    def facts(self, value: object) -> OperationFacts:
        return OperationFacts(items=len(self.statements))


class ExecuteTransaction(Struct, Generic[T], frozen=True, gc=False):
    """Up to 100 statements of one item each, all reads or all writes: all of them, or none."""

    table: str
    statements: Sequence[StatementText]
    reader: ItemReader[T]
    token: str

    def request(self, names: TableNames = DECLARED) -> Request:
        bodies = [statement.body(names[self.table]) for statement in self.statements]
        body: dict[str, Any] = {"TransactStatements": bodies, "ReturnConsumedCapacity": "TOTAL"}
        body["ClientRequestToken"] = self.token
        return Request("ExecuteTransaction", encode(body), self.table, tokened=True)

    def answer(self, response: Response) -> tuple[list[StatementOutcome[T]], Consumed]:
        if response.status != 200:
            raise_cancellation(response, "ExecuteTransaction", self.table)
        answer = _decode_outcomes(response.body)
        return _outcomes(answer, self.reader, "ExecuteTransaction"), _units(answer, self.statements)

    def facts(self, value: object) -> OperationFacts:
        return OperationFacts(items=len(self.statements))


def _outcomes(answer: _OutcomesAnswer, reader: ItemReader[T], operation: str) -> list[StatementOutcome[T]]:
    return [
        StatementOutcome(
            read_one(each.item, reader, operation) if each.item else None, each.error.code if each.error else ""
        )
        for each in answer.responses
    ]


def _units(answer: _OutcomesAnswer, statements: Sequence[StatementText]) -> Consumed:
    units = sum(capacity.capacity_units for capacity in answer.consumed_capacity)
    return _consumed(units, is_read=all(statement.reads for statement in statements))


def _consumed(units: float, *, is_read: bool) -> Consumed:
    return Consumed(read_units=units) if is_read else Consumed(write_units=units)


def _raise_fault(response: Response, operation: str, table: str) -> None:
    fault = read_fault(response.body)
    if fault is not None and fault.code == "DuplicateItemException":
        raise AlreadyExists("an item lies under this key", operation=operation, table=table)
    raise_fault(response, operation, table)
