"""`check`: its lines, its file that a killed run goes on from, what it refuses, and repairs."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.e2e.cli.conftest import Folder
from tests.e2e.cli.many_items import EVERY, make_many, run_and_kill

FILLER = """
import sys
from shop.model import app, Customer
from singletable import connect
from singletable.operations import batch_write
items, every = int(sys.argv[1]), int(sys.argv[2])
with connect("local:data/singletable.db") as db:
    db.create_table(app)
    made = [Customer.__model__.item(Customer(email=f"c{n:06}", name="Ada", city="Bern")) for n in range(items)]
    made = [{**item, "gsi1sk": {"S": "stale"}} if n % every == 0 else item for n, item in enumerate(made)]
    for i in range(0, items, 400):
        parts = [made[j : j + 25] for j in range(i, min(i + 400, items), 25)]
        db.run(db.port.send_all([batch_write("shop", part) for part in parts]))
"""
UNKNOWN = """
from singletable import connect
from singletable.operations import PutItem
with connect("local:data/singletable.db") as db:
    item = {"pk": {"S": "x"}, "sk": {"S": "\\x1b[31mx"}, "_type": {"S": "\\x1b[31munheard"}}
    db.run(db.port.send(PutItem("shop", item)))
"""


def fill(folder: Folder, items: int, every: int) -> None:
    ran = folder.python("-c", FILLER, str(items), str(every))
    assert (ran.code, ran.err) == (0, "")


def told(path: Path) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, path.read_text().splitlines()) if "code" in line]


def test_findings_are_lines_and_the_exit_code(folder: Folder) -> None:
    fill(folder, 6, 100)
    folder.python("-c", UNKNOWN)
    ran = folder.run("check", "shop.model")
    assert ran.code == 1
    assert sorted(ran.out.splitlines()) == [
        "shop  index-key.stale  customer  customer#c000000 / customer: gsi1sk is not what its attributes make",
        "shop  type.unknown  unheard  x / x: no entity of this program has its type",
    ]
    assert "7 items read, 2 findings" in ran.err
    lines = [json.loads(line) for line in folder.run("check", "shop.model", "--json").out.splitlines()]
    assert sorted((line["table"], line["code"]) for line in lines) == [
        ("shop", "index-key.stale"),
        ("shop", "type.unknown"),
    ]


def test_repairs_are_listed_and_then_written(folder: Folder) -> None:
    fill(folder, 6, 3)
    folder.python("-c", UNKNOWN)
    listed = folder.run("check", "shop.model", "--repair")
    assert (listed.code, listed.out.count("can be mended: write the index keys")) == (1, 2)
    assert "write unit" not in listed.err
    done = folder.run("check", "shop.model", "--repair", "--yes", "--json")
    outcomes = {json.loads(line)["code"]: json.loads(line)["repair"] for line in done.out.splitlines()}
    assert (done.code, outcomes) == (1, {"index-key.stale": "mended", "type.unknown": "kept"})
    assert "1 finding" in folder.run("check", "shop.model").err


def test_it_is_sound_when_all_is_mended(folder: Folder) -> None:
    fill(folder, 6, 3)
    assert folder.run("check", "shop.model", "--repair", "--yes").code == 0
    ran = folder.run("check", "shop.model")
    assert (ran.code, ran.out) == (0, "")


def test_a_sample_finds_in_proportion(folder: Folder) -> None:
    make_many(folder, 200, 100)
    ran = folder.run("check", "readings", "--sample", "10%", "--seed", "7", "--json")
    read, found = int(ran.err.split(" items read")[0].split()[-1]), len(ran.out.splitlines())
    assert 1_000 <= read <= 3_000
    assert 0.5 < found / (read / 100 / EVERY) < 1.5
    again = folder.run("check", "readings", "--sample", "0.1", "--seed", "7", "--json")
    assert again.out == ran.out
    assert folder.run("check", "readings", "--sample", "0.1", "--seed", "8", "--json").out != ran.out


def test_killed_anywhere_it_goes_on(folder: Folder) -> None:
    """No finding is in the file twice, and none is missing, whenever the process was killed."""
    spoiled = make_many(folder, 200, 100)
    path = folder.path / "found.jsonl"
    kills = run_and_kill(folder, path, Random(5), most_bytes=8_000)
    assert kills > 1
    assert sorted(tuple(line["key"]) for line in told(path)) == spoiled


def test_a_file_of_another_check_is_refused_by_name(folder: Folder) -> None:
    fill(folder, 6, 3)
    assert folder.run("check", "shop.model", "--to", "f.jsonl").code == 1
    before = (folder.path / "f.jsonl").read_bytes()
    for options, said in (
        (("--segments", "3"), "segments was 1, and is 3"),
        (("--sample", "1%"), "sample was None, and is 0.01"),
        (("--seed", "4"), "seed was 0, and is 4"),
        (("--repair",), "repair was None, and is list"),
    ):
        ran = folder.run("check", "shop.model", "--to", "f.jsonl", *options)
        assert (ran.code, "f.jsonl holds another check: " in ran.err, said in ran.err) == (2, True, True), ran.err
    assert (folder.path / "f.jsonl").read_bytes() == before
    again = folder.run("check", "shop.model", "--to", "f.jsonl")
    assert (again.code, again.out, "this check had ended after 6 items" in again.err) == (1, "", True)
    assert (folder.path / "f.jsonl").read_bytes() == before
    (folder.path / "mine.txt").write_text("a shopping list\n")
    ran = folder.run("check", "shop.model", "--to", "mine.txt")
    assert (ran.code, "mine.txt is not a file of a check" in ran.err) == (2, True)
    assert (folder.path / "mine.txt").read_text() == "a shopping list\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sample", "0%"), "0% is not a part of a table"),
        (("--sample", "2"), "2 is not a part of a table"),
        (("--yes",), "--yes writes the repairs of --repair"),
        (("--to", "missing/f.jsonl"), "missing/f.jsonl can't be written"),
        (("--segments", "17"), "17 is not in the range"),
    ],
)
def test_what_can_not_be_is_refused(folder: Folder, options: tuple[str, ...], said: str) -> None:
    fill(folder, 1, 3)
    ran = folder.run("check", "shop.model", *options)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_a_missing_file_is_not_created(folder: Folder) -> None:
    ran = folder.run("check", "shop.model")
    assert (ran.code, "is missing" in ran.err) == (1, True)
