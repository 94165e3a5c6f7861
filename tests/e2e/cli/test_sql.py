"""`sql`: one question, a file of it, standard input, the shell; charts; and what it says of cost and of errors."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, connect
from singletable.cli.sql_shell import Completion, history_file
from singletable.operations import PutItem
from tests.e2e.cli.conftest import DEFAULT_FILE, Folder
from tests.support.raw import all_items

COUNT = 'SELECT state, count(*) AS orders, sum(total) AS total FROM "order" GROUP BY ALL ORDER BY 1'


@pytest.fixture
def exported(shop: Folder) -> Folder:
    ran = shop.run("export", "shop.model", "--to", "exports")
    assert ran.code == 0, ran.err
    return shop


def test_a_question_to_an_export(exported: Folder) -> None:
    ran = exported.run("sql", "shop.model", "--from", "exports", "-c", COUNT)
    assert ran.code == 0, ran.err
    assert [line.split() for line in ran.out.splitlines() if line.strip() and "─" not in line] == [
        ["state", "orders", "total"],
        ["open", "15", "412.5"],
        ["paid", "15", "397.5"],
    ]
    assert "complete up to" in ran.err
    assert "33 rows" in ran.err
    assert "read unit" not in ran.err


def test_json_a_file_and_standard_input(exported: Folder) -> None:
    expected = [{"state": "open", "orders": 15, "total": 412.5}, {"state": "paid", "orders": 15, "total": 397.5}]
    (exported.path / "orders.sql").write_text(f"-- Orders by state\n{COUNT};\n")
    named = {"SINGLETABLE_EXPORT": "exports"}
    assert json.loads(exported.run("sql", "shop.model", "-c", COUNT, "--json", **named).out) == expected
    assert json.loads(exported.run("sql", "shop.model", "--file", "orders.sql", "--json", **named).out) == expected
    assert json.loads(exported.run("sql", "shop.model", "--json", stdin=f"{COUNT};", **named).out) == expected


def test_what_an_answer_leaves_out_is_said(shop: Folder) -> None:
    with connect(f"local:{shop.path / DEFAULT_FILE}") as db:
        for item in db.run(all_items(db.port, "shop")):
            if item["_type"]["S"] == "order" and item["number"]["N"] in ("1", "2"):
                number = {"1": "1E+37", "2": "1E-37"}[item["number"]["N"]]
                db.run(_put(db, {**item, "total": {"N": number}}))
    ran = shop.run("export", "shop.model", "--to", "exports")
    left_out = sum(1 for _ in re.finditer("order.total", ran.out))
    assert (
        ran.out.count("values beyond the type of a column: null there, exact in _rest, of order.total.")
        == left_out
        == 1
    )
    said = r"order\.total lacks \d+ values that its type can't hold"
    for options in ((), ("--json",), ("--html", "page.html")):
        ran = shop.run("sql", "shop.model", "--from", "exports", "-c", COUNT, *options)
        assert len(re.findall(said, ran.err)) == 1
    assert len(re.findall(said.replace("'", "&#x27;"), (shop.path / "page.html").read_text())) == 1
    assert "lacks" not in shop.run("sql", "shop.model", "--from", "exports", "-c", "SELECT count(*) FROM customer").err


async def _put(db: Database, item: dict[str, Any]) -> None:
    await db.port.send(PutItem("shop", item))


def test_the_table_itself_with_its_cost(shop: Folder) -> None:
    ran = shop.run("sql", "shop.model", "-c", "SELECT count(*) AS n FROM customer", "--json")
    assert json.loads(ran.out) == [{"n": 3}]
    assert "to scan" in ran.err
    assert "1 read unit" in ran.err


def test_a_hostile_value_is_text(exported: Folder) -> None:
    ran = exported.run("sql", "shop.model", "--from", "exports", "-c", "SELECT name FROM customer")
    assert "\x1b" not in ran.out
    assert "Bob[red]!" in ran.out


def test_charts(exported: Folder) -> None:
    (exported.path / "orders.sql").write_text(f"-- Orders <by> state\n{COUNT};\n")
    arguments = ("--from", "exports", "--file", "orders.sql", "--chart", "--html", "orders.html", "--svg", "orders.svg")
    ran = exported.run("sql", "shop.model", *arguments)
    assert ran.code == 0, ran.err
    assert "Orders <by> state" in ran.out
    page = (exported.path / "orders.html").read_text()
    assert "Orders &lt;by&gt; state" in page
    assert "<script" not in page
    assert (exported.path / "orders.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("DELETE FROM customer", "DELETE is refused"),
        ("COPY customer TO 'x.csv'", "COPY is refused"),
        ("SELECT * FROM read_csv('shop/model.py')", "reads nothing but the export"),
        ("SELECT * FROM costumer", "not 'costumer'"),
    ],
)
def test_what_is_refused(exported: Folder, query: str, said: str) -> None:
    ran = exported.run("sql", "shop.model", "--from", "exports", "-c", query)
    assert ran.code == 1
    assert said in ran.err
    assert ran.out == ""
    assert not (exported.path / "x.csv").exists()


def test_a_view_that_is_not_there_is_told_with_one_that_is(exported: Folder) -> None:
    ran = exported.run("sql", "shop.model", "--from", "exports", "--personal", "-c", "SELECT * FROM costumer")
    assert ran.code == 1
    assert "Did you mean" in ran.err


def test_a_missing_export_says_what_to_do(folder: Folder) -> None:
    ran = folder.run("sql", "shop.model", "--from", "nothing", "-c", "SELECT 1")
    assert ran.code == 1
    assert "singletable export MODULE --to DIR" in ran.err


def test_the_shell_keeps_its_history_for_its_user_alone(exported: Folder) -> None:
    """A real terminal: two lines make a statement, an error ends nothing, Tab completes a view."""
    said = typed(exported, ["SELECT count(*) AS n", "FROM cust\t;", "SELECT nothing;", ".columns order", ".quit"])
    assert "3" in said
    assert "DuckDB refused it" in said
    assert "placed_at" in said
    file = exported.path / "state" / "singletable" / "sql_history"
    assert "FROM customer" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def typed(folder: Folder, lines: list[str]) -> str:
    """What the shell shows while the lines are typed."""
    ours, theirs = pty.openpty()
    environ = {**folder.environ, "XDG_STATE_HOME": str(folder.path / "state"), "TERM": "dumb"}
    program = [str(Path(sys.executable).with_name("singletable")), "sql", "shop.model", "--from", "exports"]
    running = subprocess.Popen(program, cwd=folder.path, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = _until(ours, "sql> ")
    for line in lines:
        os.write(ours, f"{line}\n".encode())
        said += _until(ours, "> ")
    assert running.wait(timeout=20) == 0
    os.close(ours)
    return said


def _until(terminal: int, wanted: str) -> str:
    """What comes until this prompt, or the end, within 20 seconds."""
    said, ends = "", time.monotonic() + 20
    while time.monotonic() < ends and not said.endswith(wanted):
        ready, _, _ = select.select([terminal], [], [], 0.2)
        if ready:
            try:
                part = os.read(terminal, 4096)
            except OSError:  # the other side is closed
                return said
            said += part.decode(errors="replace")
    return said


def test_completion_knows_views_columns_and_words() -> None:
    columns = {"customer": {"email": "VARCHAR", "name": "VARCHAR"}, "order": {"email": "VARCHAR", "total": "DECIMAL"}}
    completion = Completion(columns, lambda view: columns[view])
    assert completion.of("cu", "SELECT * FROM cu") == ["customer"]
    assert completion.of("to", "SELECT to") == []
    assert completion.of("to", 'SELECT to FROM "order"') == ["total"]
    assert completion.of("SEL", "SEL") == ["SELECT"]
    assert history_file({"HOME": "/home/ada"}) == Path("/home/ada/.local/state/singletable/sql_history")
