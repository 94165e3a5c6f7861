"""`adopt`: a table that boto3 code made is declared, proven on every item, and written by both programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from singletable import Table, connect
from singletable.raw import Raw
from singletable_local import Engine
from tests.adopt.tables import shop, stored
from tests.e2e.cli.conftest import Folder

NAMES = ("PK", "SK", "GSI1PK", "GSI1SK")
PROGRAM = """
import sys
from shop_table import Order, Profile
from singletable import attr, connect
with connect(sys.argv[1]) as db:
    order = db.get(Order.of(sys.argv[2], int(sys.argv[3])))
    db.update(order, attr(Order.status).set("lost"))
    db.put(Profile(user="new", name="New", email="New@Example.org"))
    assert db.check(Order.__table__) == []
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine.start(exposed=True)
    yield made
    made.stop()


def made_by_boto3(engine: Engine, name: str) -> Any:
    """A table with the items of the shop."""
    place = {"endpoint_url": engine.url, "region_name": "local"}
    resource: Any = boto3.resource("dynamodb", aws_access_key_id="x", aws_secret_access_key="x", **place)
    keys = [{"AttributeName": n, "KeyType": kind} for n, kind in zip(NAMES, ("HASH", "RANGE") * 2, strict=True)]
    index = {"IndexName": "GSI1", "KeySchema": keys[2:], "Projection": {"ProjectionType": "ALL"}}
    table = resource.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=keys[:2],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in NAMES],
        GlobalSecondaryIndexes=[index],
    )
    with table.batch_writer() as writer:
        for item in shop():
            writer.put_item(Item=item)
    return table


def test_a_table_is_adopted_verified_and_written_by_both(folder: Folder, engine: Engine) -> None:
    table = made_by_boto3(engine, "prod.shop")
    at = ("--db", engine.url)
    ran = folder.run("adopt", "--table", "prod.shop", "--out", "shop_table.py", *at)
    assert (ran.code, ran.out) == (0, ""), ran.err
    assert "explained: 320 of 320 items that were read, in 6 classes" in ran.err
    module = folder.path / "shop_table.py"
    order = next(item for item in shop() if item.get("orderId"))
    program = ("-c", PROGRAM, engine.url, order["userId"], str(order["orderId"]))
    refused = folder.python(*program)
    assert "update is refused: the table is read only" in refused.err
    sampled = folder.run("adopt", "--verify", "shop_table.py", "--sample", "20%", *at)
    assert (sampled.code, 'VERIFIED = ""' in module.read_text()) == (0, True)
    ran = folder.run("adopt", "--verify", "shop_table.py", "--all", *at)
    assert ran.code == 0, ran.out + ran.err
    assert "320 of 320 items of its classes are made again byte for byte (100.00%)" in ran.out
    assert ': 320 of 320 items"\n' in module.read_text()
    assert not [*folder.path.glob("*.verifying")]
    written = folder.python(*program)
    assert (written.code, written.err) == (0, "")
    key = {name: order[name] for name in ("PK", "SK")}
    changed = {**order, "status": "lost", "GSI1PK": "STATUS#lost"}
    assert table.get_item(Key=key)["Item"] == changed
    added = table.get_item(Key={"PK": "USER#new", "SK": "PROFILE"})["Item"]
    index = {"GSI1PK": "EMAIL#new@example.org", "GSI1SK": "USER#new"}
    assert added == {"PK": "USER#new", "SK": "PROFILE", "name": "New", "email": "New@Example.org", **index}


def test_an_item_that_would_be_written_otherwise_refuses_writes_again(folder: Folder, engine: Engine) -> None:
    table = made_by_boto3(engine, "shop.other")
    at = ("--db", engine.url)
    folder.run("adopt", "--table", "shop.other", "--out", "old.py", *at)
    assert folder.run("adopt", "--verify", "old.py", "--all", *at).code == 0
    table.put_item(Item={"PK": "USER#x", "SK": "ORDER#7", "orderId": 8, "userId": "x", "status": "open", "total": 1})
    table.put_item(Item={"PK": "OTHER", "SK": "OTHER"})
    ran = folder.run("adopt", "--verify", "old.py", "--all", "--json", *at)
    assert ran.code == 1
    facts = json.loads(ran.out)
    assert (facts["items"], sum(facts["exact"].values()), facts["writes"]) == (322, 320, False)
    assert [(each["count"], each["example"]) for each in facts["different"]] == [(1, ["USER#x", "ORDER#7"])]
    assert facts["unknown"]["example"] == ["OTHER", "OTHER"]
    assert 'VERIFIED = ""' in (folder.path / "old.py").read_text()
    hidden = folder.run("adopt", "--verify", "old.py", "--all", "--no-examples", *at)
    assert "USER#x" not in hidden.out + hidden.err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--table", "x", "--verify", "y"),
        ("--table", "missing.table"),
        ("--verify", "table", "--out", "x.py"),
        ("--verify", "table", "--all", "--sample", "5%", "of a table.json"),
        ("--table", "x", "--key", "PK"),
        ("--table", "x", "--all", "--sample", "5%"),
    ],
)
def test_a_command_that_names_nothing_or_too_much_is_refused(folder: Folder, engine: Engine, words: Any) -> None:
    ran = folder.run("adopt", *words, "--db", engine.url)
    assert ran.code == (1 if "missing.table" in words else 2)
    assert "table" in ran.err


def test_a_module_that_is_there_is_not_replaced(folder: Folder, engine: Engine) -> None:
    module = folder.path / "edited.py"
    module.write_text("edited = True\n")
    ran = folder.run("adopt", "--table", "prod.shop", "--out", "edited.py", "--db", engine.url)
    assert (ran.code, "edited.py is there, and may have been edited" in ran.err) == (2, True)
    assert module.read_text() == "edited = True\n"


def test_a_module_without_the_line_is_refused_before_a_scan(folder: Folder, engine: Engine) -> None:
    (folder.path / "own.py").write_text('from singletable import Table\nown = Table("own", foreign=True)\n')
    ran = folder.run("adopt", "--verify", "own.py", "--all", "--db", engine.url)
    assert (ran.code, "the module has no line VERIFIED" in ran.err) == (1, True)


def test_a_file_of_an_export_is_adopted_without_a_database(folder: Folder) -> None:
    lines = [json.dumps({"Item": stored(**item)}) for item in shop(20)]
    (folder.path / "part.json").write_text("\n".join(lines))
    key = ("--key", "PK,SK", "--index", "GSI1=GSI1PK,GSI1SK", "--table", "old")
    ran = folder.run("adopt", "part.json", *key)
    assert ran.code == 0, ran.err
    assert ran.out.startswith('"""The table old: 6 kinds of items.\n')
    assert not (folder.path / "data").exists()
    assert folder.run("adopt", "part.json", "--key", "a,b,c").code == 2
    assert "Error: missing.json names no export" in folder.run("adopt", "missing.json", "--key", "a").err
    facts = json.loads(folder.run("adopt", "part.json", *key, "--json").out)
    assert facts["explained"]["order"] == 20
    assert facts["kinds"][0].keys() == {"type", "class", "items", "ambiguous", "left"}


def test_an_ambiguous_line_keeps_writes_refused_until_it_is_taken_away(folder: Folder, engine: Engine) -> None:
    """Owner and user are equal in all items: every item is made again, and one of them would be wrong."""
    with connect(engine.url) as db:
        db.create_table(Table("twice", key=("PK", "SK"), foreign=True))
        items = [{"PK": f"U#u{n}", "SK": f"O#{n * 3}", "n": n * 3, "owner": f"u{n}", "user": f"u{n}"} for n in range(9)]
        Raw(db, "twice").write_many(puts=items)
    at = ("--db", engine.url)
    ran = folder.run("adopt", "--table", "twice", "--out", "twice.py", *at)
    assert (ran.code, "ambiguous: PK: {owner} or {user}" in ran.err) == (1, True)
    ran = folder.run("adopt", "--verify", "twice.py", "--all", *at)
    assert ran.code == 1
    assert "9 of 9 items" in ran.out
    assert "# ambiguous: PK: {owner} or {user}" in ran.out
    module = folder.path / "twice.py"
    assert 'VERIFIED = ""' in module.read_text()
    module.write_text(module.read_text().replace("    # ambiguous: PK: {owner} or {user}\n", ""))
    assert folder.run("adopt", "--verify", "twice.py", "--all", *at).code == 0
    assert ': 9 of 9 items"' in module.read_text()
