"""`table` and `local`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.e2e.cli.conftest import Folder

ELSEWHERE = "http://192.0.2.1:8000"
"""An address of the block for documentation: nobody answers there."""


def test_create_describe_diff(folder: Folder) -> None:
    assert folder.run("table", "create", "shop.model").out == "shop: created\n"
    assert folder.run("table", "create", "shop.model:app").out == "shop: exists already, as declared\n"
    described = json.loads(folder.run("table", "describe", "shop.model", "--json").out)[0]
    assert (described["status"], described["key"]) == ("ACTIVE", "pk + sk")
    assert described["indexes"] == {"gsi1": "gsi1pk + gsi1sk"}
    same = folder.run("table", "diff", "shop.model")
    assert (same.code, same.out) == (0, "as declared\n")


def test_what_a_terminal_shows_meanwhile_is_no_output(folder: Folder) -> None:
    """A terminal as its output: there a sign of work would stand between the lines of JSON."""
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("singletable")), "table", "create", "shop.model", "--json"]
    environ = {**folder.environ, "TERM": "xterm"}
    ran = subprocess.run(command, cwd=folder.path, env=environ, stdout=theirs, stderr=subprocess.PIPE, check=True)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:
        os.close(ours)  # the other end is closed, and all is read
    assert json.loads(said) == [{"table": "shop", "created": True}]
    assert ran.stderr == b"", "it is not a terminal"


def test_diff_names_what_is_not_as_declared(folder: Folder) -> None:
    folder.run("table", "create", "shop.model")
    model = folder.path / "shop" / "model.py"
    model.write_text(model.read_text().replace('indexes=["gsi1"]', 'indexes=["gsi1", "gsi2"]'))
    ran = folder.run("table", "diff", "shop.model", "--json")
    assert ran.code == 1
    assert json.loads(ran.out) == [{"table": "shop", "what": "index gsi2", "declared": "present", "found": "missing"}]
    refused = folder.run("table", "create", "shop.model")
    assert (refused.code, "index gsi2" in refused.err) == (1, True)


def test_a_missing_table_is_an_error(folder: Folder) -> None:
    for command in ("describe", "diff"):
        ran = folder.run("table", command, "shop.model", "--db", "local")
        assert (ran.code, "the table is missing" in ran.err) == (1, True)


def test_nothing_is_created_elsewhere_without_yes(folder: Folder) -> None:
    aws = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "eu-central-1"}
    for target in (ELSEWHERE, "aws"):
        ran = folder.run("table", "create", "shop.model", "--db", target, **aws)
        assert ran.code == 2
        assert "Add --yes to do it." in ran.err


def test_an_engine_goes_on_until_it_is_stopped(folder: Folder) -> None:
    none = folder.run("local", "status", "--json")
    assert (none.code, json.loads(none.out)["running"]) == (1, False)
    started = json.loads(folder.run("local", "start", "--json").out)
    assert started["running"]
    assert started["file"] == str(folder.path / "data" / "singletable.db")
    assert folder.run("table", "create", "shop.model", "--db", started["url"]).out == "shop: created\n"
    assert json.loads(folder.run("table", "describe", "shop.model", "--json").out)[0]["status"] == "ACTIVE"
    assert json.loads(folder.run("local", "status", "--json").out)["pid"] == started["pid"]
    assert folder.run("local", "stop").out == "data/singletable.db: stopped\n"
    assert folder.run("local", "stop").out == "data/singletable.db: no engine was running\n"


def test_reset_deletes_the_data(folder: Folder) -> None:
    folder.run("table", "create", "shop.model", "--db", "local:mine.db")
    assert folder.run("local", "reset", "mine.db").code == 0
    assert not (folder.path / "mine.db").exists()


def test_the_file_is_that_of_the_target(folder: Folder) -> None:
    ran = folder.run("--db", "local:other.db", "local", "status", "--json")
    assert json.loads(ran.out)["file"].endswith("/other.db")


def test_a_table_has_another_name_in_the_account(folder: Folder) -> None:
    named = ("--table-name", "shop=shop-7")
    assert folder.run(*named, "table", "create", "shop.model").out == "shop: created\n"
    assert folder.run("table", "describe", "shop.model", *named, "--json").code == 0
    from_environment = folder.run("table", "describe", "shop.model", "--json", SINGLETABLE_TABLE_NAMES="shop=shop-7")
    assert from_environment.code == 0
    missing = folder.run("table", "describe", "shop.model", "--json")
    assert (missing.code, "the table is missing" in missing.err) == (1, True)
    prefixed = folder.run("table", "describe", "shop.model", "--table-prefix", "dev-", "--json")
    assert (prefixed.code, "the table is missing" in prefixed.err) == (1, True)
    for wrong in ("shop", "shop=", "=x"):
        refused = folder.run("--table-name", wrong, "table", "create", "shop.model")
        assert (refused.code, f"{wrong} is not NAME=THERE" in refused.err) == (2, True)
    twice = folder.run(*named, "table", "create", "shop.model", "--table-name", "shop=shop-8")
    assert (twice.code, "shop has two names: give it one" in twice.err) == (2, True)
    aws = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "eu-central-1"}
    asked = folder.run("table", "create", "shop.model", "--db", "aws", *named, **aws)
    assert (asked.code, "shop (shop-7)" in asked.err) == (2, True)
