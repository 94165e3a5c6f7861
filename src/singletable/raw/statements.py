"""Statements of PartiQL: what no verb does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from singletable.errors import Incomplete, InvalidRequest, TransactionCancelled
from singletable.flow import Port, Race
from singletable.foundation import PASSING_REASONS, too_many_pages
from singletable.operations import (
    MAX_ACTIONS,
    MAX_STATEMENTS,
    BatchExecuteStatement,
    ExecuteStatement,
    ExecuteTransaction,
    ReasonedCancellation,
    StatementOutcome,
    StatementPage,
    StatementText,
)
from singletable.raw.items import PLAIN, RawItem, RawTable
from singletable.raw.writes import send
from singletable.values import to_attribute_value

Given = tuple[str, Sequence[Any]]
"""A statement as a caller gives it: its text, and the values of its question marks."""


def statement_of(text: str, values: Sequence[Any], table: RawTable) -> StatementText:
    """InvalidRequest for a text that does not say `{table}`: its name in the account may be another."""
    statement = StatementText(text, [to_attribute_value(value) for value in values])
    if not statement.names_table:
        raise InvalidRequest(
            "a statement names its table as {table}, outside of quotes",
            table=table.name,
            operation="execute",
            hint="As in 'SELECT * FROM {table} WHERE pk = ?', and {table}.\"gsi1\" for an index.",
        )
    return statement


def select_of(text: str, values: Sequence[Any], table: RawTable) -> StatementText:
    """InvalidRequest for a statement that is not a SELECT: an iteration may end early, or never begin."""
    statement = statement_of(text, values, table)
    if not statement.reads:
        raise InvalidRequest(
            "the statement does not begin with SELECT",
            table=table.name,
            operation="select",
            hint="Call execute(), which sends it whether or not its answer is looked at.",
        )
    return statement


async def read_page(
    port: Port, table: RawTable, statement: StatementText, after: str | None, *, consistent: bool = False
) -> StatementPage[RawItem]:
    """A page of what a statement reads; or, of a write, what it returns."""
    return await send(port, table, ExecuteStatement(table.name, statement, PLAIN, consistent, after), "execute")


async def execute(
    port: Port, table: RawTable, statement: StatementText, max_pages: int, *, consistent: bool
) -> list[RawItem]:
    """All pages of one statement."""
    items: list[RawItem] = []
    after: str | None = None
    for _ in range(max_pages):
        answer = await read_page(port, table, statement, after, consistent=consistent)
        items += answer.items
        after = answer.after
        if after is None:
            return items
    raise too_many_pages(max_pages, len(items), "execute", table.name, "select(), which loads")


async def execute_many(port: Port, table: RawTable, given: Sequence[Given]) -> list[RawItem | None]:
    """Each statement by itself, 25 a request, all requests in one round trip."""
    await table.ready(port)
    statements = [statement_of(text, values, table) for text, values in given]
    parts = [statements[at : at + MAX_STATEMENTS] for at in range(0, len(statements), MAX_STATEMENTS)]
    answers = await port.send_all([BatchExecuteStatement(table.name, part, PLAIN) for part in parts])
    outcomes = [outcome for answer in answers for outcome in answer]
    failed = [(one, outcome.code) for one, outcome in zip(given, outcomes, strict=True) if outcome.code]
    if failed:
        codes = ", ".join(sorted({code for _, code in failed}))
        raise Incomplete(
            f"{len(failed)} of {len(given)} statements were not done: {codes}",
            rest=tuple(one for one, _ in failed),
            table=table.name,
            operation="execute_many",
            hint="The remaining statements are in the error's `rest`.",
        )
    return [outcome.item for outcome in outcomes]


async def execute_together(port: Port, table: RawTable, given: Sequence[Given]) -> list[RawItem | None]:
    """All statements or none, in one request that is repeated with its token until a definite answer."""
    if not given:
        return []
    port.traits.check("transactions", "a transaction of statements")
    await table.ready(port)
    statements = [statement_of(text, values, table) for text, values in given]
    if len(statements) > MAX_ACTIONS:
        raise InvalidRequest(
            f"a transaction of {len(statements)} statements; DynamoDB allows {MAX_ACTIONS}",
            table=table.name,
            operation="execute_together",
            hint="Split it into independent transactions.",
        )
    race = Race(port, "execute_together", "another writer changed items of the transaction", table=table.name)
    while True:
        try:
            answers: list[StatementOutcome[RawItem]] = await port.send(
                ExecuteTransaction(table.name, statements, PLAIN, port.token())
            )
        except ReasonedCancellation as cancelled:
            refused = [(n, r.code) for n, r in enumerate(cancelled.reasons, 1) if r.code not in PASSING_REASONS]
            if refused:
                raise _cancelled(table, len(statements), refused) from None
            await race.lost()
        else:
            return [answer.item for answer in answers]


def _cancelled(table: RawTable, count: int, refused: Sequence[tuple[int, str]]) -> TransactionCancelled:
    return TransactionCancelled(
        f"the transaction of {count} statements was not applied: "
        + "; ".join(f"statement {number}: {code}" for number, code in refused),
        table=table.name,
        operation="execute_together",
        hint="Read what the statements name, then decide.",
    )
