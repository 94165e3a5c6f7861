"""Imports: every good row in by the rules of its class, every bad one named; killed anywhere, nothing is doubled."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from singletable import Database, Entity, InvalidRequest, Key, NotFound, Table, Unavailable
from singletable.exchange import AsyncImports, BadRow, Exports, Imports, datasets_of
from singletable.exchange.import_files import FileRow
from singletable.exchange.row_items import item_of
from singletable.flow import Rate
from singletable.foundation import is_same_item, model_of
from singletable.operations import PutItem, UpdateItem, read_item
from singletable.operations.answers import encode
from singletable.values import to_attribute_value
from tests.exchange.importing import check_all, write_rows
from tests.exchange.people import NOW, Order, Person, fill, people, person
from tests.exchange.test_copy_layers import fill_graph
from tests.graph.models import records
from tests.migrations.watching import Killed, before_each
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items

FORMATS = ("parquet", "jsonl", "csv", "csv-escaped", "arrow")


@pytest.fixture
def dbs() -> Iterator[tuple[Database, Database]]:
    with ExitStack() as stack:
        source, target = (stack.enter_context(fresh()) for _ in range(2))
        fill(source)
        yield source, target


def items_of(db: Database, table: str = "people") -> dict[str, Any]:
    found = db.run(all_items(db.port, table))
    names = ("source", "target") if table == "records" else ("pk", "sk")
    return {json.dumps([item[name] for name in names]): item for item in found}


def is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(is_same_item(one[key], other[key]) for key in one)


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_with_keys_gives_the_same_table(dbs: tuple[Database, Database], tmp_path: Path, format: Any) -> None:
    source, target = dbs
    Exports(source, people).export(tmp_path, format=format, keys=True)
    done = Imports(target, people).run(tmp_path)
    assert (done.read, done.written, done.bad, done.left_out) == (110, 110, 0, {})
    assert is_same(items_of(target), items_of(source))
    assert target.check(people) == []


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_without_keys_is_written_by_the_rules(
    dbs: tuple[Database, Database], tmp_path: Path, format: Any
) -> None:
    source, target = dbs
    Exports(source, people).export(tmp_path, format=format)
    done = Imports(target, people).run(tmp_path, bad_rows=tmp_path / "bad.jsonl")
    assert done.bad_rows == ()
    assert (done.written, sum(done.left_out.values())) == (90, 20)  # guards are the library's own
    assert target.check(people) == []
    assert items_of(target).keys() == items_of(source).keys()
    assert {p.email: p.phone for p in target.scan(Person)} == {p.email: p.phone for p in source.scan(Person)}


async def test_the_awaiting_shell_imports_the_same(tmp_path: Path) -> None:
    (tmp_path / "orders.jsonl").write_text('{"number": 1, "buyer": "a@example.org"}\n{"number": "x"}\n')
    async with fresh_async() as db:
        done = await AsyncImports(db, people).run(tmp_path / "orders.jsonl", into=Order)
        assert (done.written, done.bad) == (1, 1)
        assert await db.get(Order.by_number(1)) == Order(number=1, buyer="a@example.org")


def test_a_graph_from_its_export(dbs: tuple[Database, Database], tmp_path: Path) -> None:
    source, target = dbs
    fill_graph(source)
    Exports(source, records).export(tmp_path / "keys", keys=True)
    Exports(source, records).export(tmp_path / "rules")
    Imports(target, records).run(tmp_path / "keys")
    assert is_same(items_of(target, "records"), items_of(source, "records"))
    with fresh() as other:
        done = Imports(other, records).run(tmp_path / "rules")
        assert done.bad_rows == ()
        assert other.check(records) == []
        assert items_of(other, "records").keys() == items_of(source, "records").keys()
        again = Imports(other, records).run(tmp_path / "rules", mode="replace")
        assert again.bad_rows == ()
        assert other.check(records) == []


WRONG: dict[str, Any] = {
    "a text in place of a number": {"number": "one", "buyer": "b"},
    "a number in place of a text": {"number": 1, "buyer": 7},
    "a fraction": {"number": 1.5, "buyer": "b"},
    "an attribute that is missing": {"number": 1},
    "an attribute that the class has not": {"number": 1, "buyer": "b", "colour": "red"},
    "a list of the wrong": {"number": 1, "buyer": "b", "seen_by": [1]},
    "no list": {"number": 1, "buyer": "b", "seen_by": "c"},
    "an empty text in a key": {"number": 1, "buyer": ""},
}


def test_each_bad_row_is_named_with_its_reason(tmp_path: Path) -> None:
    lines = [json.dumps({"number": 1, "buyer": "good"}), *map(json.dumps, WRONG.values()), "{nothing", "", "[1]"]
    path = tmp_path / "orders.jsonl"
    path.write_text("\n".join(lines))
    with fresh() as db:
        done = Imports(db, people).run(path, into=Order, bad_rows=tmp_path / "bad.jsonl")
        assert (done.read, done.written, done.bad) == (11, 1, 10)
        told = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
        assert [each["number"] for each in told] == [2, 3, 4, 5, 6, 7, 8, 9, 10, 12]
        assert all(each["reason"] and each["part"] == "orders.jsonl" for each in told)
        assert BadRow(**told[0]) == done.bad_rows[0]
        reasons = " ".join(each["reason"] for each in told)
        assert "colour: the class has no such attribute" in reasons
        assert "one" not in reasons.split()


def test_every_kind_of_a_csv_row(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    born = '1990-02-03,2026-11-01T09:30:00Z,12.50,"{""free"": [1, 2]}"'
    rows = [
        "email,name,phone,born,seen,salary,free,diet",
        f'a@x.org,"Ann, ""A""\nB",,{born},vegan',
        f"b@x.org,,1,{born},all",
        f"c@x.org,C,2,{born},all",
        f"d@x.org,D,3,{born},meat",
        "e@x.org,E,4",
        f'f@x.org,F"F,5,{born},all',
        "g@x.org,G,6,03.02.1990,,,,all",
        'i@x.org,"",8,,,,,all',  # empty, not null, and so no part of a key
        "h@x.org,H,7,,2026-11-01T09:30:00,,,all",
        "j@x.org,J,2,,,,,all",
    ]
    path.write_text("\r\n".join(rows), newline="")
    with fresh() as db:
        done = Imports(db, people).run(path, into=Person)
        assert {each.number for each in done.bad_rows} == {2, 4, 5, 6, 7, 8, 9, 10}
        ann = db.get(Person.by_email("a@x.org"))
        assert ann is not None
        assert (ann.name, ann.phone, ann.free, ann.seen) == ('Ann, "A"\nB', None, {"free": [1, 2]}, NOW)
        assert db.check(people) == []


def test_bad_rows_are_told_in_no_file_that_holds_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor in the source itself, however it is named: it would be emptied."""
    monkeypatch.chdir(tmp_path)
    text = json.dumps({"number": 1, "buyer": "b"}) + "\n" + json.dumps({"number": "x", "buyer": "b"}) + "\n"
    path = tmp_path / "orders.jsonl"
    path.write_text(text)
    (tmp_path / "link.jsonl").symlink_to(path)
    with fresh() as db:
        for source, told in ((path, "orders.jsonl"), ("orders.jsonl", path), (path, tmp_path / "link.jsonl")):
            with pytest.raises(InvalidRequest, match="bad rows"):
                Imports(db, people).run(source, into=Order, bad_rows=told)
        assert path.read_text() == text
        for place in (tmp_path / "nowhere" / "bad.jsonl", tmp_path):
            with pytest.raises(Unavailable, match="could not write"):
                Imports(db, people).run(path, into=Order, bad_rows=place)
        for _ in range(2):  # of an import before, they are replaced
            assert Imports(db, people).run(path, into=Order, bad_rows=tmp_path / "bad.jsonl").bad == 1
        assert len((tmp_path / "bad.jsonl").read_text().splitlines()) == 1


def test_no_reason_shows_a_value(tmp_path: Path) -> None:
    mark, path = "c4n4ry", tmp_path / "orders.json"
    key = {"pk": {"S": "order#1"}, "sk": {"S": "order"}, "_type": {"S": "order"}}
    wrong: list[Any] = [{"_v": {"N": mark}}, {"number": {"N": mark}}, {"number": {"S": mark}}, {"number": mark}]
    wrong += [{"pk": mark}, {"_type": mark}, {"_type": {"S": mark}}, {"seen_by": {"L": [{"S": mark}]}}]
    path.write_text("".join(json.dumps({"Item": {**key, **each}}) + "\n" for each in wrong))
    with fresh() as db:
        done = Imports(db, people).run(path, format="dynamodb", bad_rows=tmp_path / "bad.jsonl")
    assert done.bad == len(wrong)
    assert mark not in (tmp_path / "bad.jsonl").read_text()


def test_columns_that_the_class_has_not_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("number,buyer,colour\n1,b,red\n")
    with fresh() as db:
        with pytest.raises(InvalidRequest, match="columns that the class has not: colour"):
            Imports(db, people).run(path, into=Order)
        assert Imports(db, people).run(path, into=Order, ignore=["colour"]).written == 1


def test_what_follows_an_ignored_or_empty_value_is_taken(tmp_path: Path) -> None:
    lines = ['{"colour": "red", "number": 1, "buyer": "b"}', '{"size": null, "number": 2, "buyer": "c"}']
    (tmp_path / "orders.jsonl").write_text("\n".join(lines))
    with fresh() as db:
        done = Imports(db, people).run(tmp_path / "orders.jsonl", into=Order, ignore=["colour"])
        assert (done.written, done.bad) == (2, 0)
        again = Imports(db, people).run(tmp_path / "orders.jsonl", into=Order, unknown="report", mode="replace")
        assert (again.written, again.bad, again.unknown) == (2, 0, {"colour": 1})
        assert sorted((each.number, each.buyer) for each in db.scan(Order)) == [(1, "b"), (2, "c")]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"weight": float("nan")}, "not finite"),
        ({"name": "half \ud800"}, "lone surrogate"),
        ({"free": "{"}, "JSONDecodeError"),
        ({"salary": "much"}, "AttributeError"),
    ],
)
def test_a_row_with_keys_that_makes_no_item_has_a_reason(cells: dict[str, Any], reason: str) -> None:
    dataset = next(each for each in datasets_of(people) if each.entity == "Person").with_keys()
    (row,) = dataset.batch([read_item(encode(model_of(Person).item(person(1))))]).to_pylist()
    assert "pk" in item_of(dataset, FileRow(1, cells=row))
    refused = item_of(dataset, FileRow(1, cells={**row, **cells}))
    assert isinstance(refused, str)
    assert refused.startswith("it makes no item: ")
    assert reason in refused
    assert "much" not in refused


STRANGE = [
    ("orders.csv", "number,buyer,colour,note\n1,b,red,\n2,c,,\nx,d,red,\n", "red"),
    ("orders.jsonl", "", {"deep": ["red", Decimal("1.5")]}),
    ("orders.parquet", "", ["red"]),
]


def strange_file(folder: Path, name: str, text: str, colour: Any) -> Path:
    """Orders with a column that their class has not: of one row a value, of another none, and of one that is bad."""
    rows = [{"number": 1, "buyer": "b", "colour": colour}, {"number": 2, "buyer": "c", "colour": None}]
    path = folder / name
    if name.endswith("parquet"):
        parquet: Any = import_module("pyarrow.parquet")
        parquet.write_table(pa.Table.from_pylist([*rows, {"number": 3, "buyer": None, "colour": colour}]), path)
    else:
        rows.append({"number": "x", "buyer": "d", "colour": colour})
        path.write_text(text or "\n".join(json.dumps(each, default=float) for each in rows))
    return path


@pytest.mark.parametrize(("name", "text", "colour"), STRANGE, ids=[name for name, _, _ in STRANGE])
def test_what_a_class_has_not_is_left_out_and_reported_or_kept(
    tmp_path: Path, name: str, text: str, colour: Any
) -> None:
    path = strange_file(tmp_path, name, text, colour)
    with fresh() as db:
        imports = Imports(db, people)
        dry = imports.run(path, into=Order, unknown="keep", dry_run=True)
        done = imports.run(path, into=Order, unknown="report")
        assert (dry.written, dry.unknown) == (done.written, done.unknown) == (2, {"colour": 1})
        assert [each.number for each in done.bad_rows] == [3]
        assert not any("colour" in item for item in items_of(db).values())
        with db.meter() as meter:
            again = imports.run(path, into=Order, unknown="keep")
        assert (again.written, again.present, again.unknown) == (0, 2, {"colour": 1})
        with db.meter() as plain:
            imports.run(path, into=Order, unknown="report")
        assert meter.requests == plain.requests + 1  # the one that keeps it
        kept = {item["number"]["N"]: item.get("colour") for item in items_of(db).values() if "number" in item}
        assert kept == {"1": to_attribute_value(colour), "2": None}
        assert db.get(Order.by_number(1)) == Order(number=1, buyer="b")
        assert db.check(people) == []


def test_what_is_kept_is_nobody_elses(tmp_path: Path) -> None:
    """Not what the table or the class has under that name, as when it expires; what no item can have; nor of an item
    that `if_absent` leaves as it is. A row that is bad has written nothing."""
    names = ("_type", "_v", "_w", "buyer ", "_ttl", "", "x" * 65_536)
    lines = [{"number": n, "buyer": "b", name: "x"} for n, name in enumerate(names)]
    lines.append({"number": 7, "buyer": "b", "page": "x" * 409_600})
    lines.append({"number": 9, "buyer": "b", "note": "x"})
    lines.append({"number": 8, "buyer": "b", "size": 10**200})
    (tmp_path / "orders.jsonl").write_text("\n".join(json.dumps(each) for each in lines))
    with fresh() as db:
        db.create_table(people)
        db.create(Order(number=9, buyer="other"))
        done = Imports(db, people).run(tmp_path / "orders.jsonl", into=Order, unknown="keep", mode="if_absent")
        assert (done.written, done.present, done.bad) == (1, 1, 8)
        *taken, empty, long, large, beyond = (each.reason for each in done.bad_rows)
        assert all("under that name" in reason for reason in taken)
        assert "has 1 to 65,535 bytes" in empty == long
        assert "DynamoDB allows 409600" in large
        assert beyond.startswith("size: ")
        assert [item["pk"]["S"] for item in items_of(db).values()] == ["order#a3", "order#a9"]
        assert not any("note" in item for item in items_of(db).values())


def test_what_was_not_kept_when_an_import_was_killed_is_kept_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [{"number": n, "buyer": "b", "note": f"n{n}"} for n in range(101)]
    (tmp_path / "orders.jsonl").write_text("\n".join(json.dumps(each) for each in lines))
    with fresh() as db:
        db.create_table(people)
        imports, sent = Imports(db, people), list[Any]()

        def kill(operation: Any) -> None:
            sent.extend([operation] if isinstance(operation, UpdateItem) else [])
            if len(sent) == 50:
                raise Killed

        with monkeypatch.context() as patched:
            before_each(db, patched, kill)
            with pytest.raises(Killed):
                imports.run(tmp_path / "orders.jsonl", into=Order, unknown="keep")
        imports.run(tmp_path / "orders.jsonl", into=Order, unknown="keep")
        notes = [item["note"]["S"] for item in items_of(db).values() if "number" in item]
        assert sorted(notes) == sorted(f"n{n}" for n in range(101))


def test_arrow_and_parquet_of_others(tmp_path: Path) -> None:
    made = pa.table({"number": pa.array([1, 2], pa.int32()), "buyer": pa.array(["a", None]), "seen_by": [["x"], []]})
    parquet: Any = import_module("pyarrow.parquet")
    parquet.write_table(made, tmp_path / "orders.parquet")
    with pa.OSFile(str(tmp_path / "orders.arrow"), "wb") as file, pa.ipc.new_file(file, made.schema) as writer:
        writer.write_table(made)
    for name in ("orders.parquet", "orders.arrow"):
        with fresh() as db:
            done = Imports(db, people).run(tmp_path / name, into=Order)
            assert (done.written, [each.number for each in done.bad_rows]) == (1, [2])
            assert db.get(Order.by_number(1)) == Order(number=1, buyer="a", seen_by=["x"])


def test_items_in_dynamodbs_json(dbs: tuple[Database, Database], tmp_path: Path) -> None:
    source, target = dbs
    lines = [json.dumps({"Item": item}) for item in items_of(source).values()]
    misplaced = json.dumps({"Item": {**json.loads(lines[0])["Item"], "pk": {"S": "elsewhere"}}})
    path = tmp_path / "data.json.gz"
    path.write_bytes(gzip.compress("\n".join([*lines, misplaced, '{"Item": 1}']).encode()))
    done = Imports(target, people).run(path, bad_rows=tmp_path / "bad.jsonl")
    assert done.written == 90
    told = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert [each["number"] for each in told][-2:] == [111, 112]
    assert target.check(people) == []


legacy = Table("legacy", key=("id", "part"))


class OldOrder(Entity, table=legacy, type="old"):
    number: int
    buyer: str
    note: str = ""

    @legacy.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One order."""
        return f"{number}", "order"


def test_another_table_of_another_layout(dbs: tuple[Database, Database]) -> None:
    source, target = dbs
    for number in range(5):
        source.create(OldOrder(number=number + 500, buyer=f"b{number}"))
    done = Imports(target, people).run_table(source, "legacy", Order)
    assert (done.read, done.written, done.bad, done.unknown) == (5, 5, 0, {"id": 5, "note": 5, "part": 5})
    assert target.get(Order.by_number(503)) == Order(number=503, buyer="b3")


def test_what_is_there_already(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text("\n".join(json.dumps({"number": n, "buyer": f"b{n}"}) for n in range(4)))
    with fresh() as db:
        db.create_table(people)
        db.create(Order(number=0, buyer="b0"))
        db.create(Order(number=1, buyer="other"))
        done = Imports(db, people).run(path, into=Order)
        assert (done.written, done.present, [each.number for each in done.bad_rows]) == (2, 1, [2])
        assert Imports(db, people).run(path, into=Order, mode="if_absent").present == 4
        assert db.get(Order.by_number(1)) == Order(number=1, buyer="other")
        assert Imports(db, people).run(path, into=Order, mode="replace").written == 4
        assert db.get(Order.by_number(1)) == Order(number=1, buyer="b1")


def test_an_item_of_another_type_is_not_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text(json.dumps({"number": 1, "buyer": "b1"}))
    with fresh() as db:
        db.create_table(people)
        item = read_item(encode(model_of(Order).item(Order(number=1, buyer="b1"))))
        db.run(db.port.send(PutItem(people.name, {**item, "_type": {"S": "bill"}})))
        done = Imports(db, people).run(path, into=Order, mode="if_absent")
        assert (done.written, done.present, done.bad) == (0, 0, 1)


def test_an_item_of_other_values_under_the_key_is_not_that_of_a_row(tmp_path: Path) -> None:
    accounts = Table("accounts")

    class Account(Entity, table=accounts, type="account", ambiguous=True):
        email: str

        @accounts.key
        @staticmethod
        def by_email(email: str) -> Key:
            return f"account#{email:lower}", "account"

    path = tmp_path / "accounts.jsonl"
    path.write_text("\n".join(json.dumps({"email": email}) for email in ("Ada", "ADA")))
    with fresh() as db:
        db.create_table(accounts)
        db.create(Account(email="Ada"))
        done = Imports(db, accounts).run(path, into=Account, mode="if_absent")
        assert (done.written, done.present, [row.number for row in done.bad_rows]) == (0, 1, [2])


def test_a_row_that_is_there_twice_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text("\n".join(json.dumps({"number": 1, "buyer": who}) for who in ("a", "b", "a")))
    with fresh() as db:
        done = Imports(db, people).run(path, into=Order)
        assert (done.written, done.present, [each.number for each in done.bad_rows]) == (1, 1, [2])
        Imports(db, people).run(path, into=Order, mode="replace")
        assert db.get(Order.by_number(1)) == Order(number=1, buyer="a")


def test_it_stops_at_so_many_bad_rows_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    rows: list[dict[str, Any]] = [{"number": n, "buyer": "b"} if n % 100 else {"number": "?"} for n in range(3000)]
    path.write_text("\n".join(map(json.dumps, rows)))
    with fresh() as db:
        done = Imports(db, people).run(path, into=Order, stop_at=7)
        assert (done.is_stopped, done.read, done.bad) == (True, 1000, 10)
        done = Imports(db, people).run(path, into=Order)
        assert (done.is_stopped, done.read, done.bad, done.written) == (False, 3000, 30, 2970)


def test_a_dry_run_counts_and_sends_nothing(dbs: tuple[Database, Database], tmp_path: Path) -> None:
    source, target = dbs
    Exports(source, people).export(tmp_path)
    target.create_table(people)
    with target.meter() as meter:
        done = Imports(target, people).run(tmp_path, dry_run=True)
    assert (done.written, done.bad, meter.requests) == (90, 0, 0)


def test_an_exact_import_wants_an_empty_table(dbs: tuple[Database, Database], tmp_path: Path) -> None:
    source, target = dbs
    Exports(source, people).export(tmp_path, keys=True)
    target.create(person(99))
    with pytest.raises(InvalidRequest, match="the table has items"):
        Imports(target, people).run(tmp_path)
    assert Imports(target, people).run(tmp_path, mode="replace").written == 110


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("number,buyer\n")
    (tmp_path / "rows.xml").write_text("")
    with fresh() as db:
        into = Imports(db, people)
        for wrong in (tmp_path / "none", tmp_path / "none.csv"):
            with pytest.raises(NotFound):
                into.run(wrong)
        kinds: list[tuple[str, Any]] = [("rows.csv", None), ("rows.xml", Order), ("rows.csv", OldOrder)]
        for name, kind in kinds:
            with pytest.raises(InvalidRequest):
                into.run(tmp_path / name, into=kind)
        with pytest.raises(InvalidRequest):
            into.run(tmp_path / "rows.csv", into=Order, stop_at=0)
        with pytest.raises(InvalidRequest):
            into.run(tmp_path / "rows.csv", into=Order, bad_rows=tmp_path / "rows.csv")


def test_it_keeps_to_a_rate(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text("\n".join(json.dumps({"number": n, "buyer": "b"}) for n in range(100)))
    with fresh() as db:
        began = db.port.monotonic()
        Imports(db, people).run(path, into=Order, rate=Rate(write_units=400))  # two units each, with the index
        assert db.port.monotonic() - began > 0.3


def test_killed_anywhere_nothing_is_doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, told = tmp_path / "people.jsonl", tmp_path / "bad.jsonl"
    write_rows(path, 600)
    with fresh() as db:
        killed, at = 0, 20
        while _is_killed(db, path, told, at, monkeypatch):
            killed, at = killed + 1, at * 2
        assert killed >= 4
        check_all(db, told, 600)


def test_a_file_that_was_changed_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it has its name, its length and its time."""
    path, told = tmp_path / "people.jsonl", tmp_path / "bad.jsonl"

    def write(name: str) -> None:
        rows = [{"email": f"{name}{n}@x.org", "name": f"N{n}"} for n in range(1_101)]
        path.write_text("\n".join(json.dumps(row) for row in rows))
        os.utime(path, (1, 1))

    with fresh() as db:
        write("a")
        assert _is_killed(db, path, told, 900, monkeypatch)
        write("b")
        done = Imports(db, people).run(path, into=Person)
        assert (done.read, done.written) == (1_101, 1_101)
        assert {each.email for each in db.scan(Person) if each.email < "b"} > {"a0@x.org"}
        assert len([each for each in db.scan(Person) if each.email > "b"]) == 1_101


def _is_killed(db: Database, path: Path, told: Path, at: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    left = at

    def kill(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    with monkeypatch.context() as patched:
        before_each(db, patched, kill)
        try:
            Imports(db, people).run(path, into=Person, bad_rows=told)
        except Killed:
            return True
    return False
