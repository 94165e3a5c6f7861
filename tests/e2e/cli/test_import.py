"""`import`: of an export, of files, of another table; what it says of bad rows."""

from __future__ import annotations

import json

from tests.e2e.cli.conftest import DEFAULT_FILE, Folder

TO = ("--db", "local:data/other.db")


def test_what_export_wrote_comes_back(shop: Folder) -> None:
    assert shop.run("export", "shop.model", "--to", "out", "--keys").code == 0
    ran = shop.run("import", "shop.model", "out", *TO, "--json")
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)
    assert (said["read"], said["written"], said["bad"]) == (33, 33, 0)
    assert json.loads(shop.run("stats", "shop.model", *TO, "--json").out)[0]["items"] == 33
    assert shop.run("check", "shop.model", *TO).code == 0
    assert "the table has items" in shop.run("import", "shop.model", "out", *TO).err
    assert not (shop.path / "bad-rows.jsonl").exists()


def test_each_bad_row_is_in_a_file(shop: Folder) -> None:
    (shop.path / "rows.csv").write_text("email,name,city\nx@x.org,X,Oslo\n,Y,Oslo\nz@x.org,,Oslo\n")
    dry = shop.run("import", "shop.model", "rows.csv", "--as", "Customer", "--dry-run")
    assert (dry.code, dry.out.splitlines()[0]) == (1, "3 rows of rows.csv: 1 to write, 2 bad")
    ran = shop.run("import", "shop.model", "rows.csv", "--as", "Customer", "--bad-rows", "bad.jsonl")
    assert ran.out.splitlines()[0] == "3 rows of rows.csv: 1 written, 2 bad"
    told = [json.loads(line) for line in (shop.path / "bad.jsonl").read_text().splitlines()]
    assert [each["number"] for each in told] == [2, 3]
    again = shop.run("import", "shop.model", "rows.csv", "--as", "Customer", "--if-absent")
    assert "0 written, 1 there already, 2 bad" in again.out


def test_another_table_into_a_class(shop: Folder) -> None:
    source = ("--from", f"local:{DEFAULT_FILE}", "--as", "Customer")
    ran = shop.run("import", "shop.model", "shop", *source, *TO, "--bad-rows", "bad.jsonl")
    assert ran.out.splitlines()[0] == "33 rows of shop: 3 written, 30 bad"
    assert "stopped at" in shop.run("import", "shop.model", "shop", *source, *TO, "--stop-at", "5").out


def test_what_is_wrong_is_said(shop: Folder) -> None:
    (shop.path / "rows.csv").write_text("email\n")
    run = shop.run
    assert (
        "Unknown class 'Nobody'. The classes are Customer, Order"
        in run("import", "shop.model", "rows.csv", "--as", "Nobody").err
    )
    assert "does not name the class of its rows" in run("import", "shop.model", "rows.csv").err
    assert "manifest.json is missing" in run("import", "shop.model", "nowhere").err
    assert "say one" in run("import", "shop.model", "nowhere", "--replace", "--if-absent").err
    assert "say --as" in run("import", "shop.model", "shop", "--from", f"local:{DEFAULT_FILE}").err
