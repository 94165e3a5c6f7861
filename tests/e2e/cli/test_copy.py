"""`copy`: between data files, whole and as a slice, with what it says of what it did."""

from __future__ import annotations

import json

from tests.e2e.cli.conftest import DEFAULT_FILE, Folder

FROM = ("--from", f"local:{DEFAULT_FILE}")
TO = ("--to", "local:data/copy.db")


def test_a_copy_is_another_data_file(shop: Folder) -> None:
    ran = shop.run("copy", "shop.model", *FROM, *TO, "--keep-personal", "--json")
    assert ran.code == 0, ran.err
    (said,) = json.loads(ran.out)
    assert (said["table"], said["read"], said["written"], said["left_out"]) == ("shop", 33, 33, {})
    there = shop.run("stats", "shop.model", "--db", "local:data/copy.db", "--json")
    assert json.loads(there.out)[0]["items"] == 33
    assert "has items" in shop.run("copy", "shop.model", *FROM, *TO).err


def test_a_slice_is_dry_run_first(shop: Folder) -> None:
    part = ("--sample", "20%", "--follow-edges", "--seed", "3")
    dry = shop.run("copy", "shop.model", *FROM, *TO, *part, "--dry-run")
    assert "to write" in dry.out
    ran = shop.run("copy", "shop.model", *FROM, *TO, *part, "--rate", "1000", "--read-rate", "1000")
    assert ran.code == 0, ran.err
    assert ran.out.replace("written", "to write") == dry.out
    assert shop.run("check", "shop.model", "--db", "local:data/copy.db").code == 0


def test_what_is_wrong_is_said(shop: Folder) -> None:
    assert "is missing" in shop.run("copy", "shop.model", "--from", "local:no.db", *TO).err
    assert "the same table" in shop.run("copy", "shop.model", *FROM, "--to", FROM[1], "--add").err
    assert "Missing option '--to'" in shop.run("copy", "shop.model", *FROM).err
    aws = {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    ran = shop.run("copy", "shop.model", *FROM, "--to", "https://192.0.2.1:8000", **aws)
    assert "Add --yes" in ran.err
    assert "16 or more" in shop.run("copy", "shop.model", *FROM, *TO, SINGLETABLE_MASK_KEY="short").err


def test_a_copy_between_names_in_the_account(shop: Folder) -> None:
    named = ("--table-name", "shop=shop-7")
    within = shop.run("copy", "shop.model", *FROM, "--to", FROM[1], "--to-table", "shop-7", "--keep-personal")
    assert within.code == 0, within.err
    assert shop.run(*named, "copy", "shop.model", *FROM, *TO, "--keep-personal").code == 0
    there = shop.run("stats", "shop.model", "--db", "local:data/copy.db", *named, "--json")
    assert json.loads(there.out)[0]["items"] == 33
    assert "missing" in shop.run("stats", "shop.model", "--db", "local:data/copy.db").err
