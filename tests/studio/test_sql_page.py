"""The page SQL: it asks the last export, never the table, and says what is missing where it can't."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import anyio
import anyio.lowlevel
import pytest

from singletable import AsyncDatabase
from singletable.exchange import AsyncExports
from singletable.reports import open_export
from singletable.studio import questions, studio
from singletable.studio.questions import MOST_ROWS
from tests.reports.books import bills, books
from tests.studio.visitor import Visitor, client_of, shown, visiting
from tests.support.forked_questions import (
    forked_questions as forked_questions,
    nursery_of_questions as nursery_of_questions,
)
from tests.support.models import User, app

pytestmark = pytest.mark.usefixtures("forked_questions")

BY_NAME = '-- Users by name\nSELECT name, count(*) AS users FROM "user" GROUP BY name ORDER BY name'


@pytest.fixture
async def exports(db: AsyncDatabase, tmp_path: Path) -> Path:
    await AsyncExports(db, app).export(tmp_path / "exports")
    return tmp_path / "exports"


@pytest.fixture
async def asker(db: AsyncDatabase, exports: Path) -> AsyncIterator[Visitor]:
    async with visiting(db, app, export=str(exports)) as visitor:
        yield visitor


def all_of(user: str, kind: type[object], right: str) -> bool:
    return True


def asking(sql: str) -> str:
    return f"/sql.json?sql={quote(sql)}"


async def test_an_answer_is_what_a_session_gives(asker: Visitor, exports: Path) -> None:
    answer = (await asker.json(asking(BY_NAME)))["asked"]["answer"]
    with open_export(exports, app) as session:
        wanted = [list(row) for row in session.query(BY_NAME).rows()]
    assert answer["rows"] == wanted == [["Ada", 1], ["Bob", 1], ["Eve", 1]]
    assert [(each["name"], each["is_number"]) for each in answer["columns"]] == [("name", False), ("users", True)]
    assert not answer["is_cut"]


async def test_what_an_answer_leaves_out_is_shown(db: AsyncDatabase, tmp_path: Path) -> None:
    await db.create_table(books)
    await db.write_many(puts=bills([Decimal("1E+37"), Decimal("1E-30")]))
    await AsyncExports(db, books).export(tmp_path)
    said = "bill.share lacks 2 values that its type can't hold: they are in the export's _rest"
    async with visiting(db, books, export=str(tmp_path)) as visitor:
        answer = (await visitor.json(asking("SELECT sum(share) FROM bill")))["asked"]["answer"]
        assert answer["notes"] == [said]
        assert said in shown(await visitor.page(f"/sql?sql={quote('SELECT sum(share) FROM bill')}"))
        assert (await visitor.json(asking("SELECT count(*) FROM bill")))["asked"]["answer"]["notes"] == []


async def test_nothing_is_sent_to_the_table(asker: Visitor) -> None:
    await asker.page("/sql")
    page = await asker.json(asking(BY_NAME))
    assert page["cost"]["requests"] == 0
    assert asker.sent == []


async def test_rows_are_drawn(asker: Visitor) -> None:
    page = await asker.page(f"/sql?sql={quote(BY_NAME)}")
    assert "<title>Users by name</title>" in page
    assert page.count("<rect") == 3
    assert "<svg" not in await asker.page("/sql?sql=SELECT+1+AS+one")


async def test_what_can_be_asked_is_listed_with_columns(asker: Visitor) -> None:
    export = (await asker.json("/sql.json"))["asked"]["export"]
    views = {each["name"]: each for each in export["views"]}
    assert {"name": "email", "type": "string"} in views["user"]["columns"]
    assert (views["user"]["kind"], views["membership_user"]["kind"]) == ("class", "relation")
    for example in (await asker.json("/sql.json"))["examples"]:
        assert (await asker.json(example["address"].replace("/sql?", "/sql.json?")))["asked"]["answer"]["rows"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ('DELETE FROM "user"', "DELETE is refused"),
        ("SELECT * FROM read_csv('/etc/passwd')", "reads nothing but the export"),
        ("SELEC 1", "DuckDB refused it"),
        ("SELECT 1; SELECT 2", "one statement"),
    ],
)
async def test_a_question_that_is_refused_stays_to_be_mended(asker: Visitor, sql: str, said: str) -> None:
    page = await asker.page(f"/sql?sql={quote(sql)}")
    assert said in shown(page)
    assert 'aria-invalid="true"' in page
    assert sql.replace("'", "&#39;").replace('"', "&#34;") in page


async def test_rows_are_cut_at_the_limit(asker: Visitor) -> None:
    answer = (await asker.json(asking("SELECT * FROM range(5000)")))["asked"]["answer"]
    assert (len(answer["rows"]), answer["is_cut"]) == (MOST_ROWS, True)
    assert "there are more" in await asker.page(f"/sql?sql={quote('SELECT * FROM range(5000)')}")


async def test_hostile_values_are_text(asker: Visitor) -> None:
    sql = "SELECT '<script>alert(1)</script>' || chr(27) || chr(8238) AS \"<b>\", repeat('x', 1000000) AS long"
    page = await asker.page(f"/sql?sql={quote(sql)}")
    assert "<script>alert" not in page
    assert re.search(r'<th scope="col"[^>]*>&lt;b&gt;<', page)
    assert 'data-column="&lt;b&gt;"' in page
    assert "␛⟨U+202E⟩" in page
    assert len(page) < 100_000


async def test_a_long_value_is_cut_and_a_nested_one_is_not_a_text(asker: Visitor) -> None:
    nested = "[{'a': 1}, {'a': 2}]"
    sql = f"SELECT repeat('x', 2000) AS short, repeat('x', 2001) AS long, {nested} AS nested, range(2000) AS many"
    ((short, long, few, many),) = (await asker.json(asking(sql)))["asked"]["answer"]["rows"]
    assert short == "x" * 2000
    assert long == "x" * 2000 + "… (2,001 characters)"
    assert few == [{"a": 1}, {"a": 2}]
    assert many.startswith("[0")
    assert many.endswith(" characters)")


async def test_a_new_export_is_asked_at_once(asker: Visitor, db: AsyncDatabase, exports: Path) -> None:
    count = asking('SELECT count(*) FROM "user"')
    assert (await asker.json(count))["asked"]["answer"]["rows"] == [[3]]
    await db.create(User(email="new@example.org"))
    assert (await asker.json(count))["asked"]["answer"]["rows"] == [[3]]
    await AsyncExports(db, app).export(exports)
    assert (await asker.json(count))["asked"]["answer"]["rows"] == [[4]]


async def test_one_visitor_does_not_wait_for_the_question_of_another(
    db: AsyncDatabase, exports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And has one question answered at a time."""
    monkeypatch.setattr(questions, "MOST_SECONDS", 3.0)
    made = studio(
        db, app, authenticate=lambda request: request.headers["x-user"], authorise=all_of, export=str(exports)
    )
    done: list[str] = []

    async def ask(user: str, sql: str) -> None:
        answer = await client.get(asking(sql), headers={"x-user": user})
        done.append(f"{user}: {answer.json()['asked']['refused'] or 'answered'}")

    async with client_of(made) as client, anyio.create_task_group() as together:
        together.start_soon(
            ask, "ada", "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range < b.range"
        )
        await anyio.lowlevel.checkpoint()
        together.start_soon(ask, "ada", "SELECT 1")
        together.start_soon(ask, "bob", "SELECT 1")
    assert done == ["bob: answered", "ada: the question took longer than 3 s, and was ended", "ada: answered"]


async def test_a_question_has_the_limits_of_the_page(asker: Visitor) -> None:
    for sql, said in (
        ("SELECT repeat('x', 600000000)", "more than 512 MB of memory"),
        ("SELECT repeat('x', 100000) FROM range(200)", "the answer has more than 16 MB"),
        ("SELECT * FROM " + "(SELECT * FROM " * 2000 + "range(1)" + ")" * 2000, "nested too deeply"),
    ):
        assert said in (await asker.json(asking(sql)))["asked"]["refused"]


async def test_personal_values_are_covered_until_they_are_asked_for(tmp_path: Path) -> None:
    from tests.reports.models import Customer, shop
    from tests.support.engines import fresh_async

    async with fresh_async() as db:
        await db.create(Customer(email="ada@example.org", city="Bern"))
        await AsyncExports(db, shop).export(tmp_path / "exports")
        async with visiting(db, shop, export=str(tmp_path / "exports")) as visitor:
            sql = asking("SELECT email, city FROM customer")
            assert (await visitor.json(sql))["asked"]["answer"]["rows"] == [["‹personal›", "Bern"]]
            assert (await visitor.json(f"{sql}&personal=shown"))["asked"]["answer"]["rows"] == [
                ["ada@example.org", "Bern"]
            ]
            assert (await visitor.json(sql))["asked"]["answer"]["rows"] == [["‹personal›", "Bern"]]


async def test_without_an_export_the_commands_are_shown(visitor: Visitor, db: AsyncDatabase, tmp_path: Path) -> None:
    page = shown(await visitor.page("/sql"))
    target = visitor.studio.site.place.target
    assert f"singletable export shop.model --to exports --db {target}" in page
    assert f"singletable studio shop.model --from exports --db {target}" in page
    async with visiting(db, app, export=str(tmp_path / "none")) as other:
        page = await other.json("/sql.json")
        assert page["missing"] == "export"
        assert page["commands"][0] == f"singletable export shop.model --to {tmp_path / 'none'} --db {target}"


def test_without_the_extra_the_page_says_what_to_install() -> None:
    """In a process of its own, where nothing of it can be imported."""
    code = """
import asyncio, sys
sys.modules.update(dict.fromkeys(['duckdb', 'plotext', 'pyarrow', 'obstore']))
from tests.reports.books import bills, books
from tests.studio.visitor import visiting
from tests.support.models import app
from singletable import connect_async

async def main():
    async with connect_async("local") as db, visiting(db, app, export="exports") as visitor:
        page = await visitor.json("/sql.json")
        print(page["missing"], page["commands"])
        assert "reports" in await visitor.page("/sql")

asyncio.run(main())
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "extra" in done.stdout
    assert "pip install 'singletable[reports]'" in done.stdout
