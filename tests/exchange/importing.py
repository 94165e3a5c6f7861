"""Rows to import, one in a hundred bad, and what must be there in the end; a process that imports them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from singletable import Database, connect
from singletable.exchange import Imports
from tests.exchange.people import Order, Person, people
from tests.support.traits import LOCAL


def is_bad(number: int) -> bool:
    return number % 100 == 50


def write_rows(path: Path, count: int) -> None:
    """Good rows, and one bad one in a hundred: of another type, or with the unique value of the first."""
    with open(path, "w", encoding="utf-8") as file:
        for n in range(count):
            row: dict[str, Any] = {"email": f"p{n}@x.org", "name": f"N{n}", "phone": f"{n}"}
            if is_bad(n):
                row["phone"] = 7 if n % 200 == 50 else "0"
            file.write(json.dumps(row) + "\n")


def check_all(db: Database, told: Path, count: int) -> None:
    """Each good row is in, once; each bad one is named, once."""
    numbers = [json.loads(line)["number"] for line in told.read_text().splitlines()]
    assert numbers == [n + 1 for n in range(count) if is_bad(n)]
    found = list(db.scan(Person))
    assert len(found) == count - len(numbers)
    assert {each.email for each in found} == {f"p{n}@x.org" for n in range(count) if not is_bad(n)}
    assert {each.revision for each in found} == {1}
    assert db.check(people) == []


def write_orders(path: Path, count: int) -> None:
    """The same of a class without unique values, whose bad rows are of another type, or another order of the first."""
    with open(path, "w", encoding="utf-8") as file:
        for n in range(count):
            row: dict[str, Any] = {"number": n, "buyer": f"b{n}", "seen_by": ["x"] * (n % 3)}
            if is_bad(n):
                row |= {"buyer": 7} if n % 200 == 50 else {"number": 0}
            file.write(json.dumps(row) + "\n")


def check_orders(db: Database, told: Path, count: int) -> None:
    """As `check_all`."""
    numbers = [json.loads(line)["number"] for line in told.read_text().splitlines()]
    assert numbers == [n + 1 for n in range(count) if is_bad(n)]
    found = sorted((each.number, each.buyer) for each in db.scan(Order))
    assert found == [(n, f"b{n}") for n in range(count) if not is_bad(n)]
    assert db.check(people) == []


def run(url: str, path: str, told: str) -> None:
    """Import orders, in a process of its own."""
    with connect(url, traits=LOCAL) as db:
        Imports(db, people).run(path, into=Order, bad_rows=told)
