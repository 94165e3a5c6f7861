"""`export`: the sample's items in files."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pyarrow.parquet as pq

from singletable import connect
from singletable.documents import LocalBlobs
from tests.e2e.cli.conftest import DEFAULT_FILE, Folder
from tests.exchange.restored import fill, items_in
from tests.exchange.table_export_layout import write_full
from tests.support.raw import all_items


def test_an_export(shop: Folder) -> None:
    ran = shop.run("export", "shop.model", "--to", "exports")
    assert (ran.code, "read unit" in ran.err) == (0, True), ran.err
    manifest = json.loads((shop.path / "exports/manifest.json").read_text())
    rows = {d["name"]: sum(file["rows"] for file in d["files"]) for d in manifest["datasets"]}
    for dataset in manifest["datasets"]:
        for file in dataset["files"]:
            found = pq.read_table(shop.path / "exports" / file["path"])
            assert found.num_rows == file["rows"]
            assert found.schema.names == [column["name"] for column in dataset["columns"]]
    assert f"{sum(rows.values())} items to exports" in ran.out
    again = shop.run("export", "shop.model", "--to", "exports", "--format", "csv", "--keys", "--json")
    told = json.loads(again.out)
    assert told["manifest"]["previous"] == manifest["id"]
    assert {d["name"]: sum(f["rows"] for f in d["files"]) for d in told["manifest"]["datasets"]} == rows


def test_a_place_that_is_none(shop: Folder) -> None:
    ran = shop.run("export", "shop.model", "--to", "ftp://somewhere/else")
    assert (ran.code, ran.out) == (1, "")
    assert "Name a directory, or s3://BUCKET/PREFIX." in ran.err


def test_an_export_of_dynamodb_s_is_read_without_a_database(shop: Folder) -> None:
    scanned = json.loads(shop.run("export", "shop.model", "--to", "exports", "--json").out)
    items = raw_items(shop)
    place = write_full(shop.path / "s3", "shop", items, at=datetime(2026, 11, 20, tzinfo=timezone.utc))
    (shop.path / DEFAULT_FILE).rename(shop.path / "moved.db")
    ran = shop.run("export", "shop.model", "--to", "read", "--from-export", str(place), "--json")
    assert (ran.code, "0 requests" in ran.err, "read unit" in ran.err) == (0, True, False), ran.err
    read = json.loads(ran.out)
    assert read["manifest"]["complete_at"] == "2026-11-20T00:00:00Z"
    rows = [{d["name"]: sum(f["rows"] for f in d["files"]) for d in e["manifest"]["datasets"]} for e in (scanned, read)]
    assert rows[0] == rows[1]
    lost = shop.run("export", "shop.model", "--to", "read", "--from-export", str(place / "data"))
    assert (lost.code, "has no manifest-summary.json" in lost.err) == (1, True)


def raw_items(shop: Folder) -> list[Any]:
    with connect(f"local:{shop.path / DEFAULT_FILE}") as db:
        return db.run(all_items(db.port, "shop"))


def test_contents_are_asked_and_a_table_is_restored_from_the_folder(shop: Folder) -> None:
    blobs, module, place = LocalBlobs(shop.path / "blobs"), "tests.exchange.restored:shop", ("--db", "local:data/p.db")
    with connect(f"local:{shop.path / 'data/p.db'}") as db:
        fill(db, blobs)
    export = "export", module, "--to", "history", "--contents", "--blobs", "blobs", "--keys", "--personal", *place
    ran = shop.run(*export)
    assert (ran.code, "page_cells_change" in ran.out) == (0, True), ran.err
    question = "SELECT content ->> '$.text' AS text FROM page_cells_change WHERE id = 'c1'"
    asked = shop.run("sql", module, "--from", "history", "--personal", "-c", question, "--json")
    assert json.loads(asked.out) == [{"text": "text 1 " * 80}]
    back = shop.run("restore", module, "--export", "history", "--blobs", "blobs", "--db", "local:data/back.db")
    assert (back.code, "shop-leases is not brought back" in back.out) == (0, True), back.err
    with connect(f"local:{shop.path / 'data/p.db'}") as db, connect(f"local:{shop.path / 'data/back.db'}") as again:
        assert items_in(again, "shop") == items_in(db, "shop")
    for path in list(blobs.list("")):
        blobs.delete(path)
    lost = shop.run(*export)
    assert (lost.code, "6 contents that can't be read" in lost.out) == (1, True), lost.out
    refused = shop.run(*export, "--from-export", "elsewhere")
    assert (refused.code, "--contents: no table is read with --from-export" in refused.err) == (2, True)


def test_options_that_exclude_each_other(shop: Folder) -> None:
    for given, said in (
        (["--from-export", "s3://a/b", "--through", "s3://a"], "say one of them"),
        (["--at", "2026-11-20T00:00:00Z"], "--at needs --through"),
        (["--through", "s3://a", "--segments", "2"], "--segments: no table is read"),
        (["--through", "s3://a/b", "--at", "noon"], "it is not a time"),
    ):
        ran = shop.run("export", "shop.model", "--to", "exports", *given)
        assert (ran.code, said in ran.err) == (2, True), ran.err


PERSONAL = """
from singletable import Entity, Key, Table, field

people = Table("people")


class Person(Entity, table=people, type="person"):
    id: str
    name: str = field(personal=True)

    @people.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"
"""


def test_personal_values_have_masks_unless_they_are_asked_for(folder: Folder) -> None:
    (folder.path / "people.py").write_text(PERSONAL)
    write = "from singletable import connect; from people import Person\n"
    write += 'with connect("local:data/singletable.db") as db: db.create(Person(id="1", name="Ada Lovelace"))'
    assert folder.python("-c", write).code == 0
    export = ("export", "people", "--to", "exports", "--format", "jsonl")

    def names() -> list[str]:
        manifest = json.loads((folder.path / "exports/manifest.json").read_text())
        paths = [file["path"] for dataset in manifest["datasets"] for file in dataset["files"]]
        return [json.loads((folder.path / "exports" / path).read_text())["name"] for path in paths]

    ran = folder.run(*export)
    assert (ran.code, "Masks stand for personal values" in ran.out) == (0, True), ran.err
    (masked,) = names()
    assert (masked != "Ada Lovelace", len(masked), masked[3]) == (True, 12, " ")
    ran = folder.run(*export, "--personal")
    assert (ran.code, "Masks" in ran.out, names()) == (0, False, ["Ada Lovelace"]), ran.err
