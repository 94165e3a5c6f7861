"""`export`: the sample's items in files."""

from __future__ import annotations

import json

import pyarrow.parquet as pq

from tests.e2e.cli.conftest import Folder


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
