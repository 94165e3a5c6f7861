"""Exports in which masks stand for personal values: none of these is in any file, and what belongs together meets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, InvalidRequest, Key, Table, field
from singletable.exchange import Exports, Imports, TableCopy, export, read_manifest, store_at
from singletable.exchange.formats import FORMATS
from singletable.foundation import COVERED, is_same_item
from singletable.graph import Graph
from singletable.migrations import Migrations
from singletable.reports import open_export
from tests.exchange.kin import Knows, Relative, kin
from tests.exchange.people import Person, fill, people
from tests.exchange.table_export_layout import write_full
from tests.support.engines import fresh
from tests.support.raw import all_items, put_raw

KEY = b"sixteen bytes at least"
ledger = Table("ledger")


class Account(Entity, table=ledger, type="account"):
    number: int
    limit: Decimal = Decimal("12.50")
    tags: frozenset[str] = frozenset({"a"})
    counts: dict[str, int] = field(default_factory=lambda: {"visits": 1})

    @ledger.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One account."""
        return f"account#{number}", "account"


PERSONAL = ("somebody", "Surname", " 7946 ", "Nickname", "Longstreet", "Schoolmate", "Confidential")


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with fresh() as made:
        fill(made)
        key = {"pk": {"S": "somebody"}, "sk": {"S": "somebody"}, "name": {"S": "somebody"}}
        made.run(put_raw(made.port, Person, {**key, "_type": {"S": "stranger"}}))
        made.run(put_raw(made.port, Person, {**key, "sk": {"S": "person"}, "_type": {"S": "person"}}))
        yield made


def everything_in(folder: Path) -> str:
    """The names of all files, and what they hold, as texts; of Parquet and Arrow, the values of their rows."""
    said = [path.as_posix() + path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*.*")]
    with open_export(folder, as_exported=True) as session:
        said += [str(list(session.query(f'SELECT * FROM "{view}"').rows())) for view in session.views]
    return "".join(said)


def rows_of(folder: Path, sql: str) -> list[Any]:
    with open_export(folder, people) as session:
        return sorted(session.query(sql).rows(), key=str)


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_personal_is_in_any_file(db: Database, tmp_path: Path, format: Any) -> None:
    done = Exports(db, people).export(tmp_path, format=format, keys=True, personal=False, mask_key=KEY)
    assert not [word for word in PERSONAL if word in everything_in(tmp_path)]
    assert done.manifest is not None
    assert (done.manifest.personal, done.unknown) == (False, 2)
    items = {dataset.name: dataset.rows for dataset in done.manifest.datasets}
    assert (items["person"], items["order"], items["letter"]) == (20, 60, 10)
    unknown = rows_of(tmp_path, 'SELECT partition, sort, type, item FROM "_unknown"')
    assert unknown == [(COVERED, COVERED, "person", None), (COVERED, COVERED, "stranger", None)]


def test_what_belongs_together_meets(db: Database, tmp_path: Path) -> None:
    Exports(db, people).export(tmp_path / "open")
    Exports(db, people).export(tmp_path / "masked", personal=False)
    for sql in (
        'SELECT o.number, count(p.email) FROM "order" o LEFT JOIN person p ON o.buyer = p.email GROUP BY ALL',
        "SELECT l.number, l.name = p.name FROM letter l JOIN person p ON p.email = l.email",
        "SELECT town, count(*), count(DISTINCT phone), min(length(name)) FROM person WHERE town <> '' GROUP BY ALL",
    ):
        assert rows_of(tmp_path / "masked", sql) == rows_of(tmp_path / "open", sql)


def test_one_key_masks_alike_and_another_does_not(db: Database, tmp_path: Path) -> None:
    for name, key in (("one", KEY), ("two", KEY), ("other", KEY + b"!"), ("third", None), ("fourth", None)):
        Exports(db, people).export(tmp_path / name, personal=False, mask_key=key)
    names = {each.name: tuple(rows_of(each, "SELECT email, name FROM person")) for each in tmp_path.iterdir()}
    assert names["one"] == names["two"]
    assert len(set(names.values())) == 4
    with pytest.raises(InvalidRequest, match="mask_key with personal values"):
        Exports(db, people).export(tmp_path / "none", mask_key=KEY)
    with pytest.raises(InvalidRequest, match="the key of masks has 5 bytes"):
        Exports(db, people).export(tmp_path / "none", personal=False, mask_key=b"short")


def test_killed_it_goes_on_with_the_same_masks(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE_ITEMS", 10)
    monkeypatch.setattr(export, "SECTION_ITEMS", 20)
    left = 5

    def die(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Exports(db, people).export(tmp_path, personal=False, segments=1, progress=die)
    assert Exports(db, people).export(tmp_path, personal=False, segments=1).resumed
    met = rows_of(tmp_path, 'SELECT count(*) FROM "order" o JOIN person p ON o.buyer = p.email')
    assert met == [(60,)]


def test_it_is_imported_by_the_rules_of_its_classes(db: Database, tmp_path: Path) -> None:
    """With its keys too: guards and edge sets are not in it."""
    Exports(db, people).export(tmp_path, keys=True, personal=False, mask_key=KEY)
    with fresh() as target:
        done = Imports(target, people).run(tmp_path)
        assert (done.written, done.bad) == (90, 0)
        assert target.check(people) == []
        assert not [word for word in PERSONAL if word in json.dumps(target.run(all_items(target.port, "people")))]


def test_what_migrations_keep_is_left_out(tmp_path: Path) -> None:
    with fresh() as db:
        db.create(Person(email="somebody@example.org", name="Surname"))
        Migrations(db, people).apply(by="somebody")
        done = Exports(db, people).export(tmp_path, personal=False, mask_key=KEY)
        assert (done.unknown, done.manifest is not None) == (0, True)
        assert not [word for word in PERSONAL if word in everything_in(tmp_path)]


def test_a_stale_index_key_shows_no_name_of_before(tmp_path: Path) -> None:
    """Neither in an export nor in a copy: index keys are made of the masks."""
    with fresh() as db, fresh() as target:
        db.create(Person(email="somebody@example.org", name="Surname", town="t"))
        (item,) = (each for each in db.run(all_items(db.port, "people")) if each["_type"]["S"] == "person")
        db.run(put_raw(db.port, Person, {**item, "gsi1sk": {"S": "Nickname"}}))
        Exports(db, people).export(tmp_path, keys=True, personal=False, mask_key=KEY)
        assert not [word for word in PERSONAL if word in everything_in(tmp_path)]
        TableCopy(db, target, people).run()
        assert not [word for word in PERSONAL if word in json.dumps(target.run(all_items(target.port, "people")))]
        assert target.check(people) == []


sparse = Table("sparse", indexes=["by_nick"])


class Member(Entity, table=sparse, type="member"):
    """Somebody who is in the index while they have a nickname."""

    id: str
    nick: str | None = field(default=None, personal=True)

    @sparse.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One of them."""
        return f"member#{id}", "member"

    @sparse.index("by_nick")
    @staticmethod
    def of_nick(nick: str | None) -> Key:
        """The members of a nickname."""
        return f"nick#{nick}", "member"


@pytest.mark.parametrize("nick", [None, "Nickname"])
@pytest.mark.parametrize("stale", ["nick#Surname", "Surname"])
def test_a_stale_key_of_a_sparse_index_names_nobody(tmp_path: Path, nick: str | None, stale: str) -> None:
    """The item has left the index, or its key has another form now: what is stored there is of before."""
    with fresh() as db, fresh() as target:
        db.create(Member(id="1", nick=nick))
        (item,) = db.run(all_items(db.port, "sparse"))
        keys = {name: {"S": stale} for name in sparse.definition.index_keys("by_nick")}
        db.run(put_raw(db.port, Member, {**item, **keys}))
        TableCopy(db, target, sparse).run()
        Exports(db, sparse).export(tmp_path, keys=True, personal=False, format="jsonl")
        shown = json.dumps(target.run(all_items(target.port, "sparse"))) + str(everything_in(tmp_path))
        assert "Surname" not in shown
        assert "Nickname" not in shown


def test_the_ends_of_edges(tmp_path: Path) -> None:
    with fresh() as db, fresh() as target:
        for n in range(4):
            db.create(Relative(id=f"somebody{n}"))
        for n in range(3):
            ends = Relative.by_id(f"somebody{n}"), Relative.by_id(f"somebody{n + 1}")
            Graph(db).link(Knows(source=ends[0], target=ends[1], since=f"Surname{n}"))
        Exports(db, kin).export(tmp_path, keys=True, personal=False, mask_key=KEY)
        assert not [word for word in PERSONAL if word in everything_in(tmp_path)]
        assert Imports(target, kin).run(tmp_path).written == 7
        assert target.check(kin) == []
        assert sum(1 for _ in target.scan(Knows)) == 3


def test_an_export_of_dynamodb_s_is_masked_too(db: Database, tmp_path: Path) -> None:
    at = datetime(2026, 11, 20, tzinfo=timezone.utc)
    place = write_full(tmp_path / "s3", "people", db.run(all_items(db.port, "people")), at=at)
    Exports(db, people).export_from([str(place)], tmp_path / "read", personal=False, mask_key=KEY)
    Exports(db, people).export(tmp_path / "scanned", personal=False, mask_key=KEY)
    assert not [word for word in PERSONAL if word in everything_in(tmp_path / "read")]
    for name in ("person", "order"):
        sql = f'SELECT * FROM "{name}"'
        assert rows_of(tmp_path / "read", sql) == rows_of(tmp_path / "scanned", sql)


def test_a_table_without_personal_values_is_as_it_is(tmp_path: Path) -> None:
    with fresh() as db, fresh() as target:
        for n in range(50):
            db.create(Account(number=n))
        Exports(db, ledger).export(tmp_path, keys=True, personal=False)
        assert read_manifest(store_at(tmp_path)).personal
        Imports(target, ledger).run(tmp_path)
        before, after = by_key(db), by_key(target)
        assert before.keys() == after.keys()
        assert all(is_same_item(before[key], after[key]) for key in before)


def by_key(db: Database) -> dict[str, Any]:
    return {item["pk"]["S"]: item for item in db.run(all_items(db.port, ledger.name))}
