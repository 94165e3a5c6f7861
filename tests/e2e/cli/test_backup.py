"""`backup`: a copy of the data file while programs write, and the backups of AWS, on an emulator."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.cli.conftest import Folder
from tests.support.emulators import MOTO

FILE = "local:data/singletable.db"


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with MOTO.running() as url:
        yield url


def test_a_copy_is_used_as_any_file(shop: Folder) -> None:
    made = shop.run("backup", "copy", "copies/monday.db")
    assert (made.code, made.out.startswith("copies/monday.db: ")) == (0, True)
    query = "query", "shop.model", "Customer.by_city", "London", "--json"
    before = json.loads(shop.run(*query).out)["items"]
    assert shop.run("local", "reset", "--yes").code == 0
    assert json.loads(shop.run(*query, "--db", "local:copies/monday.db").out)["items"] == before
    again = shop.run("backup", "copy", "copies/monday.db", "--db", "local:copies/monday.db")
    assert (again.code, "is there already" in again.err) == (1, True)


def test_what_has_no_file(shop: Folder) -> None:
    missing = shop.run("backup", "copy", "x.db", "--db", "local:none.db")
    assert (missing.code, "none.db is missing" in missing.err) == (1, True)
    memory = shop.run("backup", "copy", "x.db", "--db", "local")
    assert (memory.code, "has no data file" in memory.err) == (2, True)
    lacking = shop.run("backup", "list", "shop.model", "--db", FILE)
    assert (lacking.code, "[mistake.not-supported]" in lacking.err) == (1, True)


def test_backups_and_recovery(shop: Folder, moto: str) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        ran = shop.run("backup", *arguments, "--db", moto)
        assert ran.code == code, ran.err
        return ran.out

    assert shop.run("table", "create", "shop.model", "--db", moto).code == 0
    assert run("recovery", "shop.model") == "shop: off\n"
    assert run("recovery", "shop.model", "--on").startswith("shop: on, from ")
    (made,) = json.loads(run("create", "shop.model", "monday", "--json"))
    (listed,) = json.loads(run("list", "shop.model", "--json"))
    assert (listed["name"], listed["arn"]) == ("monday", made["arn"])
    run("delete", "shop.model", made["arn"], "--yes")
    assert json.loads(run("list", "shop.model", "--json")) == []
