"""`--from-export`: the commands that read a table read its export instead, and say as of when."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from tests.e2e.cli.conftest import Folder
from tests.e2e.cli.test_check import fill
from tests.exchange.table_export_layout import write_full

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
AS_OF = "shop: read as of 2026-11-20 12:00:00 UTC, from "


def exported(folder: Folder, *, name: str = "shop") -> str:
    """An export of the folder's table, by its place."""
    dumped = folder.python("-c", DUMP)
    items = [json.loads(line) for line in dumped.out.splitlines()]
    return str(write_full(folder.path / "s3", name, items, at=NOON))


DUMP = """
import json
from singletable import connect
from singletable.operations import RAW, Scan, Selection
with connect("local:data/singletable.db") as db:
    for item in db.run(db.port.send(Scan("shop", Selection(), RAW))).items:
        print(json.dumps(item))
"""


def test_a_check_of_an_export_and_its_repair(folder: Folder) -> None:
    """The finding is as of the export; the repair reads its item in the table, and takes a few units."""
    fill(folder, 6, 3)
    place = exported(folder)
    ran = folder.run("check", "shop.model", "--from-export", place)
    assert (ran.code, len(ran.out.splitlines())) == (1, 2)
    assert f"{AS_OF}{place}" in ran.err
    assert "not checked: guards of unique values" in ran.err
    assert "not checked: what was written since 2026-11-20 12:00:00 UTC" in ran.err
    assert "read units to check" not in ran.err
    assert "0 requests" in ran.err
    ran = folder.run("check", "shop.model", "--from-export", place, "--repair", "--yes")
    assert (ran.code, ran.out.count("    mended: ")) == (0, 2)
    assert folder.run("check", "shop.model").code == 0
    ran = folder.run("check", "shop.model", "--from-export", place, "--repair", "--yes")
    assert (ran.code, ran.out.count("    no longer there")) == (0, 2)


def test_a_file_of_a_check_is_of_one_export(folder: Folder) -> None:
    fill(folder, 6, 100)
    place = exported(folder)
    ran = folder.run("check", "shop.model", "--from-export", place, "--to", "found.jsonl")
    assert ran.code == 1
    again = folder.run("check", "shop.model", "--from-export", place, "--to", "found.jsonl")
    assert "this check had ended after 6 items" in again.err
    other = folder.run("check", "shop.model", "--to", "found.jsonl")
    assert other.code == 2
    assert "from_export was" in other.err


def test_stats_of_an_export(folder: Folder) -> None:
    fill(folder, 6, 100)
    place = exported(folder)
    ran = folder.run("stats", "shop.model", "--from-export", place, "--json")
    (shape,) = json.loads(ran.out)
    assert (shape["seen"], shape["as_of"]) == (6, "2026-11-20T12:00:00Z")
    assert AS_OF in ran.err
    assert "0 requests" in ran.err


def test_what_is_refused(folder: Folder) -> None:
    fill(folder, 1, 100)
    place = exported(folder, name="other")
    ran = folder.run("check", "shop.model", "--from-export", place)
    assert ran.code == 1
    assert "is an export of table other, and this one is shop" in ran.err
    ran = folder.run("stats", "shop.model", "--from-export", place, "--sample", "1%")
    assert ran.code == 2
    assert "An export is read whole" in ran.err
    assert "names no export" in folder.run("check", "shop.model", "--from-export", "nowhere").err
