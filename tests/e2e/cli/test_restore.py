"""`restore`: it says what it will do, does it, and says what is back; from a backup on an emulator, from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.cli.conftest import Folder
from tests.support.emulators import MOTO


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with MOTO.running() as url:
        yield url


def test_from_a_backup_and_a_time(shop: Folder, moto: str) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        ran = shop.run(*arguments, "--db", moto)
        assert ran.code == code, ran.err
        return ran.out

    run("table", "create", "shop.model")
    run("backup", "recovery", "shop.model", "--on")
    (made,) = json.loads(run("backup", "create", "shop.model", "monday", "--json"))
    source = "restore", "shop.model", "--to", "shop-monday", "--backup", made["arn"]
    plan = json.loads(run(*source, "--dry-run", "--json"))
    assert plan["steps"][0]["name"] == "make"
    assert "AWS bills" in plan["steps"][0]["what"]
    said = run(*source)
    assert f"shop-monday: restored from the backup {made['arn']}" in said
    assert json.loads(run(*source, "--json"))["notes"][0].startswith("it was restored at")
    assert "shop-late: restored from shop as late as it can be" in run(
        "restore", "shop.model", "--to", "shop-late", "--at", "latest"
    )
    run("restore", "shop.model", "--to", "shop-then", "--at", "yesterday", code=2)
    run("restore", "shop.model", "--to", "shop-then", code=2)


def test_from_a_copy(shop: Folder) -> None:
    query = "query", "shop.model", "Customer.by_city", "London", "--json"
    before = json.loads(shop.run(*query).out)["items"]
    assert shop.run("backup", "copy", "monday", "shop.model", "--contents").code == 0
    taken = shop.run("restore", "shop.model", "--copy", "monday")
    assert (taken.code, "--to NAME" in taken.err) == (1, True)
    ran = shop.run("restore", "shop.model", "--copy", "monday", "--db", "local:data/new.db")
    assert ran.code == 0, ran.err
    assert json.loads(shop.run(*query, "--db", "local:data/new.db").out)["items"] == before
