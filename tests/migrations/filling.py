"""Tables whose items lack what their classes declare now, and a process that fills one and notes what it sends."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from singletable import Database, Table, connect
from singletable.flow import DECLARED, Rate, TableNames
from singletable.flow.port import Operation, Port, WrappedPort
from singletable.flow.rate import at_rate
from singletable.flow.request import Request
from singletable.foundation import model_for
from singletable.graph import Graph
from singletable.migrations import Filled
from singletable.migrations.fill import fill
from singletable.operations import PutItem
from tests.graph.models import Goal, GoalMembership, User, records
from tests.migrations import models
from tests.migrations.test_fill import people, places
from tests.migrations.test_gaps import accounts, before, old_account
from tests.migrations.test_predictions import teams
from tests.support.traits import LOCAL

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
TEAMS = 50
_MEMORY = Path("/proc/self/statm")


@dataclass(frozen=True)
class Kind:
    """A table before and after a declaration, and so many items of before."""

    table: Table
    put: Callable[[Database, int], None]


def _put_people(db: Database, count: int) -> None:
    db.create_table(models.old)
    _put(db, [*people(count // 2), *places(count - count // 2)])


def _put_accounts(db: Database, count: int) -> None:
    db.create_table(before)
    _put(db, [old_account(n) for n in range(count)])


def _put_members(db: Database, count: int) -> None:
    table, team, member = teams(1, indexed=False)
    db.create_table(table)
    _put(db, [team(team=f"t{n}", name=f"Team {n}") for n in range(TEAMS)])
    _put(db, [member(team=f"t{n % TEAMS}", person=f"p{n}") for n in range(count - TEAMS)])


def _put_goals(db: Database, count: int) -> None:
    """Half of them nodes that lost their sets, and half the one edge of each; and few other nodes."""
    Graph(db).load([User(id=f"u{n}") for n in range(10)], [])
    for first in range(0, count // 2, 1000):
        numbers = range(first, min(first + 1000, count // 2))
        goals = [Goal(id=f"g{n}") for n in numbers]
        edges = [GoalMembership(source=Goal.by_id(f"g{n}"), target=User.by_id(f"u{n % 10}")) for n in numbers]
        Graph(db).load(goals, edges)
        _put(db, goals)


def _put(db: Database, entities: Sequence[Any]) -> None:
    """Each as it is, past the rules of its class."""
    puts = [PutItem(model_for(each).table.name, model_for(each).item(each)) for each in entities]
    db.run(db.port.send_all(puts))


KINDS = {
    "index keys and versions": Kind(models.new, _put_people),
    "unique values": Kind(accounts, _put_accounts),
    "copies": Kind(teams(2, indexed=False)[0], _put_members),
    "edge sets": Kind(records, _put_goals),
}


class NotingPort(WrappedPort):
    """A port that notes what is sent, before it is, and what it took, after."""

    def __init__(self, port: Port, file: int) -> None:
        super().__init__(port)
        self._file = file

    async def send(self, operation: Operation[Any]) -> Any:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        return await self._port.send_all([_Noted(operation, self) for operation in operations])

    def note(self, what: str, number: float) -> None:
        os.write(self._file, f"{time.monotonic()} {what} {number}\n".encode())


@dataclass(frozen=True)
class _Noted:
    inner: Operation[Any]
    port: NotingPort

    def request(self, names: TableNames = DECLARED) -> Request:
        request = self.inner.request()
        if request.operation in WRITES:
            self.port.note("sent", 1)
        return request

    def answer(self, response: Any) -> Any:
        value, consumed = self.inner.answer(response)
        if consumed.write_units:
            self.port.note("units", consumed.write_units)
        return value, consumed


def run(url: str, kind: str, notes: str, units: str) -> None:
    """Fill a table, in a process of its own."""
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with connect(url, traits=LOCAL) as db:
        port = NotingPort(db.port, file)
        port.note("begun", 0)

        def told(filled: Filled) -> None:
            port.note("held", int(_MEMORY.read_text().split()[1]) * resource.getpagesize())

        rated = at_rate(port, Rate(write_units=float(units)) if units else None)
        filled = db.run(fill(rated, KINDS[kind].table, progress=told))
        assert (filled.contended, filled.unfilled, filled.unreadable) == (0, (), ())
        port.note("ended", filled.seen)


@dataclass(frozen=True)
class Note:
    at: float
    what: str
    number: float


def read_notes(path: Path) -> Iterator[list[Note]]:
    """What each process noted, one after the other."""
    notes = [_note(line) for line in path.read_text().splitlines()]
    begins = [number for number, note in enumerate(notes) if note.what == "begun"]
    if not begins:
        return
    for first, last in zip(begins, [*begins[1:], len(notes)], strict=True):
        yield notes[first:last]


def _note(line: str) -> Note:
    at, what, number = line.split()
    return Note(float(at), what, float(number))
