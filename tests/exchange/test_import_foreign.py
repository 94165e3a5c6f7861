"""Imports of a table that another program made: ids in keys are kept, what no class takes is named, by the command."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import boto3
import pytest
from click.testing import CliRunner

from singletable import ANY, Database, Entity, InvalidRequest, Key, Table, connect, field
from singletable.cli.app import app
from singletable.errors import NotConfigured
from singletable.exchange import AsyncImports, Exports, ImportCost, Imports, datasets_of
from singletable.exchange.foreign_rows import ForeignRows, kind_of
from singletable.exchange.import_cost import predict_import
from singletable.exchange.import_files import FileRow
from singletable.exchange.row_import import OTHER_KINDS, with_more_left_out
from singletable.flow import Operation, WrappedPort
from singletable.tables import N
from singletable.values import EpochSeconds
from singletable_local import Engine
from tests.exchange import legacy_shop
from tests.exchange.legacy_shop import legacy
from tests.migrations.watching import Killed, before_each
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items

shop = Table("shop", indexes=["gsi1"])


class Customer(Entity, table=shop, type="customer"):
    user: str
    name: str
    joined: datetime

    @shop.key
    @staticmethod
    def of(user: str) -> Key:
        return f"customer#{user}", "customer"


class Order(Entity, table=shop, type="order"):
    number: int
    user: str
    status: Literal["open", "paid"]
    total: int
    note: str = ""

    @shop.key
    @staticmethod
    def by_number(number: int) -> Key:
        return f"order#{number}", "order"

    @shop.index("gsi1")
    @staticmethod
    def of_user(user: str, number: int = ANY) -> Key:
        return f"orders#{user}", f"{number}"


class Line(Entity, table=shop, type="line"):
    order: int
    sku: str
    count: int

    @shop.key
    @staticmethod
    def of(order: int, sku: str = ANY) -> Key:
        return f"order#{order}", f"line#{sku}"


class Stock(Entity, table=shop, type="stock"):
    sku: str = field(unique=True)
    tags: set[str] = field(default_factory=set[str])

    @shop.key
    @staticmethod
    def of(sku: str) -> Key:
        return f"stock#{sku}", "stock"


INTO: dict[type[Any], type[Any]] = {
    legacy_shop.Profile: Customer,
    legacy_shop.Order: Order,
    legacy_shop.Line: Line,
    legacy_shop.Stock: Stock,
}
LEFT = {
    "SESSION#* / TOKEN#*: no class of orders explains it": 3,
    "AUDIT#* / *: no class of orders explains it": 3,
}
NOTE = "by the other program"
"""An attribute that the class there does not declare, and the one here does."""
NOON = datetime(2026, 1, 31, tzinfo=timezone.utc)
pytestmark = pytest.mark.embedded("the other program writes at an engine's port")


@pytest.fixture(scope="module")
def old() -> Iterator[Engine]:
    """The engine of the table of the other program."""
    engine = Engine.start(exposed=True)
    with connect(engine.url) as db:
        db.create_table(legacy)
    place: Any = {"endpoint_url": engine.url, "region_name": "local"}
    resource: Any = boto3.resource("dynamodb", aws_access_key_id="x", aws_secret_access_key="x", **place)
    legacy_shop.write(resource.Table("orders"))
    resource.meta.client.close()
    yield engine
    engine.stop()


def check_all(db: Database) -> None:
    """All of it is there, by the classes of one's own."""
    assert db.check(shop) == []
    assert db.get(Customer.of("u2")) == Customer(user="u2", name="U2", joined=NOON + timedelta(seconds=2))
    orders = db.all(Order.of_user("u1"))
    assert [(order.number, order.status, order.total) for order in orders] == [(n, "paid", n * 10) for n in range(5, 9)]
    assert db.all(Line.of(7)) == [Line(order=7, sku="s1", count=2)]
    assert [db.get(Stock.of(f"s{n}")) for n in range(2)] == [Stock(sku="s0"), Stock(sku="s1", tags={"a", "b"})]
    assert sum(1 for kind in INTO.values() for _ in db.scan(kind)) == 30


def test_the_command_imports_a_table_by_its_classes(old: Engine, tmp_path: Path) -> None:
    target = f"local:{tmp_path / 'shop.db'}"
    words = ["import", f"{__name__}:shop", "orders", "--from", old.url, "--of", "tests.exchange.legacy_shop"]
    words += ["--as", "Profile=Customer", "--db", target, "--bad-rows", str(tmp_path / "bad.jsonl")]
    dry = CliRunner().invoke(app, [*words, "--dry-run"])
    assert dry.exit_code == 0, dry.output
    assert "36 rows of orders: 30 to write, 0 bad" in dry.output
    assert "orders: 36 items, the service gives no size, 36 write units at least" in dry.stderr
    words[2] = "olden"  # as the table is called in the account
    ran = CliRunner().invoke(app, [*words, "--table-name", "olden=orders"])
    assert ran.exit_code == 0, ran.output
    lines = ran.stdout.splitlines()
    assert lines[0] == "36 rows of olden: 30 written, 0 bad"
    assert [line.strip() for line in lines[1:]] == [f"left out: 3 rows of {kind}" for kind in sorted(LEFT)]
    with connect(target) as db:
        check_all(db)
        assert db.get(Order.by_number(1)) == Order(number=1, user="u0", status="paid", total=10, note=NOTE)


def test_classes_of_no_common_name_are_told(old: Engine, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(
        "from singletable import Entity, Key, Table\nother = Table('other')\n"
        "class Own(Entity, table=other, type='own'):\n    id: str\n    @other.key\n    @staticmethod\n"
        "    def of(id: str) -> Key:\n        return f'OWN#{id}', 'OWN'\n"
    )
    of = ["--from", old.url, "--of", "tests.exchange.legacy_shop", "--db", f"local:{tmp_path / 'shop.db'}"]
    ran = CliRunner().invoke(app, ["import", str(tmp_path / "other.py"), "orders", *of])
    assert ran.exit_code == 2, ran.output
    assert "No class here is called as one of tests.exchange.legacy_shop" in ran.stderr
    assert "Own here. Say --as OLD=NEW." in ran.stderr


def test_each_source_of_the_items_gives_the_same(old: Engine, tmp_path: Path) -> None:
    with connect(old.url) as source:
        for keys in (False, True):
            Exports(source, legacy).export(tmp_path / f"folder {keys}", keys=keys)
        items = source.run(all_items(source.port, "orders"))
        path = tmp_path / "data.json.gz"
        path.write_bytes(gzip.compress("\n".join(json.dumps({"Item": item}) for item in items).encode()))
        with fresh() as db:
            done = Imports(db, shop).run_table(source, "orders", INTO)
            assert (done.read, done.written, done.bad, done.left_out, done.unknown) == (36, 30, 0, LEFT, {})
            check_all(db)
    for place in ("folder False", "folder True", "data.json.gz"):
        with fresh() as db:
            done = Imports(db, shop).run(tmp_path / place, into=INTO, unknown="report")
            assert (done.written, done.bad_rows, done.left_out) == (30, (), LEFT), place
            check_all(db)


def killer(requests: int) -> Callable[[Any], None]:
    left = iter(range(requests))

    def kill(operation: Any) -> None:
        if next(left, None) is None:
            raise Killed

    return kill


def test_a_killed_import_goes_on_and_doubles_nothing(old: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("singletable.exchange.import_parts.PAGE", 10)
    with connect(old.url) as source, fresh() as db:
        for requests in range(1, 14):  # each point of the first pages
            with monkeypatch.context() as patched:
                before_each(db, patched, killer(requests))
                with pytest.raises(Killed):
                    Imports(db, shop).run_table(source, "orders", INTO)
        done = Imports(db, shop).run_table(source, "orders", INTO)
        assert (done.read, done.written + done.present, done.bad, done.left_out) == (36, 30, 0, LEFT)
        assert done.present > 0
        check_all(db)


class Noted(Entity, table=shop, type="noted"):
    sku: str

    @shop.key
    @staticmethod
    def of(sku: str) -> Key:
        return f"noted#{sku}", "noted"


class Numbered(Entity, table=shop, type="numbered"):
    number: Decimal
    word: str = ""

    @shop.key
    @staticmethod
    def of(number: Decimal) -> Key:
        return f"numbered#{number}", "numbered"


class Priced(Entity, table=shop, type="priced"):
    number: int
    total: Decimal

    @shop.key
    @staticmethod
    def of(number: int) -> Key:
        return f"priced#{number}", "priced"


class Tagged(Entity, table=shop, type="tagged"):
    sku: str
    tags: set[int] = field(default_factory=set[int])

    @shop.key
    @staticmethod
    def of(sku: str) -> Key:
        return f"tagged#{sku}", "tagged"


class Worded(Entity, table=shop, type="worded"):
    order: int
    sku: int

    @shop.key
    @staticmethod
    def of(order: int) -> Key:
        return f"worded#{order}", "worded"


def test_what_the_own_class_lacks_is_refused_or_named_or_kept(old: Engine) -> None:
    into: dict[type[Any], type[Any]] = {legacy_shop.Order: Line}
    with connect(old.url) as source, fresh() as db:
        run = Imports(db, shop).run_table
        with pytest.raises(InvalidRequest, match="Order has attributes that Line has not: user, number, status, total"):
            run(source, "orders", into, unknown="refuse")
        told = run(source, "orders", into, ignore=["user"], dry_run=True)
        assert (told.bad, {row.reason for row in told.bad_rows}) == (12, {"order: it is not there, and has no default"})
        assert told.left_out["Line: no class here takes it"] == 12
        into = {legacy_shop.Stock: Noted, legacy_shop.Order: Numbered}
        done = run(source, "orders", into, unknown="keep")
        assert (done.bad, done.unknown["note"], done.unknown["tags"]) == (0, 12, 2)
        (item,) = (i for i in db.run(all_items(db.port, "shop")) if i.get("number") == {"N": "1"})
        assert {item[name]["S"] for name in ("user", "status", "note")} == {"u0", "paid", NOTE}
        refused = run(source, "orders", {legacy_shop.Line: Line}, unknown="refuse", mode="if_absent")
        assert (refused.written, refused.bad) == (12, 0)
        declared = {legacy_shop.Order: Numbered}
        refused = run(source, "orders", declared, ignore=["user", "status", "total"], unknown="refuse", dry_run=True)
        assert {row.reason for row in refused.bad_rows} == {"note: the class has no such attribute"}


async def test_the_cost_of_an_import_by_what_the_service_says() -> None:
    class Described(WrappedPort):
        async def send(self, operation: Operation[Any]) -> Any:
            assert operation.request().operation == "DescribeTable"
            return {"Table": {"ItemCount": 1_000, "TableSizeBytes": 1_500_000}}

        async def send_all(self, operations: Sequence[Operation[Any]]) -> list[Any]:
            return [await self.send(operation) for operation in operations]

    async with fresh_async() as db:
        assert await predict_import(Described(db.port), "orders") == ImportCost(1_000, 1_500_000, 366.2, 2_000)
        with pytest.raises(NotConfigured, match="is missing"):
            await AsyncImports(db, shop).predict_table(db, "nowhere")


def test_classes_of_two_tables_are_refused(old: Engine) -> None:
    with connect(old.url) as source, fresh() as db:
        with pytest.raises(InvalidRequest, match="of one table, not of orders, shop"):
            Imports(db, shop).run_table(source, "orders", {legacy_shop.Order: Order, Line: Line})
        with pytest.raises(InvalidRequest, match="Order is not a class of the tables"):
            Imports(db, shop).run_table(source, "orders", {legacy_shop.Stock: legacy_shop.Order})


def test_kinds_without_end_are_counted_as_one() -> None:
    counts = with_more_left_out({"orders: why": 7}, [f"K{n}#*" for n in range(60)])
    assert (len(counts), counts[OTHER_KINDS], sum(counts.values())) == (51, 11, 67)
    assert with_more_left_out(counts, ["K70#*", "K1#*"])["K1#*"] == 2


# --- one row ----------------------------------------------------------------------------------------------------------
ITEM = {"PK": {"S": "USER#u"}, "SK": {"S": "ORDER#7"}, "status": {"S": "paid"}, "amt": {"N": "5"}, "extra": {"N": "1"}}
OWN = {dataset.model.kind: dataset for dataset in datasets_of(shop)}


def rows(*pairs: tuple[type[Any], type[Any]], unknown: Any = "report", ignored: Sequence[str] = ()) -> ForeignRows:
    return ForeignRows({kind: OWN[taker] for kind, taker in pairs}, unknown, ignored)


ORDERS = rows((legacy_shop.Order, Order))


def test_a_row_has_the_values_that_its_class_declares_and_the_rest_beside() -> None:
    row = ORDERS.read(FileRow(3, item={**ITEM, "note": {"S": "n"}}, rest={"column": 2}, size=9))
    assert (row.number, row.size, row.dataset) == (3, 9, OWN[Order])
    assert row.item == {
        "number": {"N": "7"}, "user": {"S": "u"}, "status": {"S": "paid"}, "total": {"N": "5"}, "note": {"S": "n"},
    }  # fmt: skip
    assert row.rest == {"column": 2, "extra": 1}
    ignoring = rows((legacy_shop.Order, Order), ignored=["extra"])
    assert ignoring.read(FileRow(3, item=ITEM)).rest == {}


def test_a_value_of_another_type_is_taken_if_nothing_of_it_is_lost() -> None:
    numbered = rows((legacy_shop.Order, Numbered))
    row = numbered.read(FileRow(1, item={**ITEM, "word": {"S": "kept"}}))
    assert row.item == {"number": {"N": "7"}, "word": {"S": "kept"}}
    assert row.rest == {"extra": 1, "user": "u", "status": "paid", "total": 5}
    worded = rows((legacy_shop.Line, Worded)).read(
        FileRow(1, item={"PK": {"S": "LINES#1"}, "SK": {"S": "LINE#s"}, "count": {"N": "2"}})
    )
    assert worded.reason.startswith("sku: a whole number is wanted")
    large = rows((legacy_shop.Order, Priced))
    assert large.read(FileRow(1, item=ITEM)).item == {"number": {"N": "7"}, "total": {"N": "5"}}
    beyond = large.read(FileRow(1, item={**ITEM, "amt": {"N": str(2**64)}}))
    assert beyond.reason == "total: a value that no column holds"
    stock, tagged = {"PK": {"S": "STOCK#s"}, "SK": {"S": "STOCK"}, "sku": {"S": "s"}}, rows((legacy_shop.Stock, Tagged))
    assert "a whole number is wanted" in tagged.read(FileRow(1, item={**stock, "tags": {"SS": ["a"]}})).reason
    assert tagged.read(FileRow(1, item=stock)).item == {"sku": {"S": "s"}}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (FileRow(1, reason="it is not an item"), "it is not an item"),
        (FileRow(1), ""),
        (FileRow(1, item={**ITEM, "amt": {"S": "x"}}), "amt: stored as S, not as N"),
    ],
)
def test_a_row_that_is_none_says_why(row: FileRow, reason: str) -> None:
    read = ORDERS.read(row)
    assert (read.reason, read.item, read.left) == (reason, None, "")


def test_the_kind_of_what_no_class_explains_has_no_ids() -> None:
    typed = Table("typed", foreign=True, type_attribute="entity")
    numbers = Table("numbers", key=("device", N("at")), foreign=True)
    keys = {"PK": {"S": "SESSION#ada"}, "SK": {"S": "2026-01-31"}}
    assert kind_of(legacy, keys) == "SESSION#* / *"
    assert kind_of(legacy, {**keys, "SK": {"S": "PROFILE"}}) == "SESSION#* / PROFILE"
    assert kind_of(typed, {"pk": {"S": "a"}, "sk": {"S": "b"}, "entity": {"S": "session"}}) == "session"
    assert kind_of(numbers, {"device": {"S": "ada@x.org"}, "at": {"N": "5"}}) == "* / *"


def test_an_import_of_other_classes_does_not_go_on_with_one_before() -> None:
    different = [
        ORDERS,
        rows((legacy_shop.Order, Numbered)),
        rows((legacy_shop.Line, Line)),
        rows((legacy_shop.Order, Order), ignored=["extra"]),
        rows((legacy_shop.Order, Order), unknown="keep"),
    ]
    assert len({repr(each.identity) for each in different}) == len(different)
    assert ORDERS.identity == rows((legacy_shop.Order, Order)).identity


def test_a_table_of_any_layout_names_what_it_leaves(old: Engine) -> None:
    with connect(old.url) as source, fresh() as db:
        run = Imports(db, shop).run_table
        told = run(source, "orders", Stock, dry_run=True)
        assert (told.written, told.unknown) == (3, {"PK": 3, "SK": 3})
        assert run(source, "orders", Stock, unknown="refuse", dry_run=True).written == 0
        refused = run(source, "orders", Stock, unknown="refuse", ignore=["PK", "SK"], dry_run=True)
        assert refused.written == 3
        assert "until: the class has no such attribute" in {row.reason for row in refused.bad_rows}


def test_keys_that_are_attributes_and_numbers_are_values_too() -> None:
    readings = Table("readings", key=("device", N("at")), foreign=True, type_attribute="kind")

    class Reading(Entity, table=readings, type="reading", stamp={"_v": "1"}):
        device: str
        at: EpochSeconds
        state: str | None = None

        @readings.key
        @staticmethod
        def of(device: str, at: EpochSeconds = ANY) -> Key:
            return f"{device}", f"{at}"

    class Measured(Entity, table=shop, type="measured"):
        device: str
        at: datetime
        state: str = "ok"

        @shop.key
        @staticmethod
        def of(device: str, at: datetime = ANY) -> Key:
            return f"measured#{device}", f"{at}"

    target = next(dataset for dataset in datasets_of(shop) if dataset.model.kind is Measured)
    keys = {"device": {"S": "d#1"}, "at": {"N": "1769817600"}, "kind": {"S": "reading"}}
    reader = ForeignRows({Reading: target}, "refuse", ())
    row = reader.read(FileRow(1, item={**keys, "_v": {"S": "1"}}))
    assert (row.reason, row.rest) == ("", {})
    assert row.item is not None
    assert target.model.codec.load(row.item) == Measured(device="d#1", at=NOON)
    other = reader.read(FileRow(1, item={**keys, "_v": {"S": "2"}}))  # of another version of its program
    assert other.left == "reading: no class of readings explains it"
