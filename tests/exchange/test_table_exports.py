"""DynamoDB's exports to S3: what is read from one is what a scan reads; how one is begun and waited for."""

from __future__ import annotations

import gzip
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast
from urllib.request import Request as UrlRequest, urlopen

import pytest
from obstore.store import S3Store

from singletable import Database, Entity, InvalidRequest, Key, Table, attr, connect, connect_async
from singletable.errors import Corrupt, NotConfigured, NotFound, NotSupported, Unavailable
from singletable.exchange import Imports, ObjectStore
from singletable.exchange.exported_items import ExportedTable
from singletable.exchange.table_export_files import open_table_export
from singletable.exchange.table_exports import TableExports
from singletable.exchange.table_exports_async import AsyncTableExports
from singletable.foundation import ScanSegment, scan_pages
from singletable.migrations import Backups
from tests.exchange.table_export_layout import change, write_around, write_full, write_incremental
from tests.support.emulators import MOTO
from tests.support.engines import fresh
from tests.support.raw import all_items, put_raw

shop = Table("shop", indexes=["gsi1"])
NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


beside = Table("beside")


class Beside(Entity, table=beside, type="beside"):
    id: str

    @beside.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"beside#{id}", "beside"


class Order(Entity, table=shop, type="order"):
    number: int
    state: str = "open"

    @shop.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One order."""
        return f"order#{number}", "order"

    @shop.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int) -> Key:
        """The orders of a state."""
        return f"state#{state}", f"{number}"


EVERY_KIND: Mapping[str, Any] = {
    "pk": {"S": "every#1"},
    "sk": {"S": "kind"},
    "text": {"S": 'line\nbreak, "quotes", \\ and \u00e9\U0001f600'},
    "empty": {"S": ""},
    "whole": {"N": "12345678901234567890123456789012345678"},
    "thousands": {"N": "2000"},
    "fraction": {"N": "-0.000123"},
    "zero": {"N": "0"},
    "bytes": {"B": "AAH/"},
    "yes": {"BOOL": True},
    "no": {"BOOL": False},
    "nothing": {"NULL": True},
    "list": {"L": [{"S": "a"}, {"N": "1"}, {"L": []}, {"M": {"deep": {"SS": ["x"]}}}, {"NULL": True}]},
    "map": {"M": {"a b": {"N": "1.5"}, "$weird": {"S": "x"}, "": {"BOOL": True}}},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2.5"]},
    "blobs": {"BS": ["AA==", "AQ=="]},
}


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        for number in range(50):
            made.create(Order(number=number))
        made.run(put_raw(made.port, Order, EVERY_KIND))
        yield made


def scanned(db: Database) -> dict[tuple[str, str], Any]:
    """All items, as a scan reads them, by their keys."""
    return by_key(db.run(_scan(db)))


async def _scan(db: Database) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    segment: ScanSegment | None = ScanSegment(0, 1)
    while segment is not None:
        (page,) = await scan_pages(db.port, shop, [segment])
        found += page.items
        segment = None if page.after is None else segment.moved(page.after)
    return found


def by_key(items: Iterator[Any] | Sequence[Any]) -> dict[tuple[str, str], Any]:
    found = {(item["pk"]["S"], item["sk"]["S"]): _unordered(item) for item in items}
    assert len(found) > 0
    return found


def _unordered(value: Any) -> Any:
    """Sets have no order."""
    if isinstance(value, dict):
        said = cast("dict[str, Any]", value)
        return {name: sorted(v) if name in ("SS", "NS", "BS") else _unordered(v) for name, v in said.items()}
    return [_unordered(each) for each in value] if isinstance(value, list) else value


def read(*places: Path) -> ExportedTable:
    return ExportedTable(shop, [open_table_export(str(place)) for place in places])


# --- reading ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prefix", ["", "2026-Nov"])
def test_a_full_export_has_the_items_of_a_scan(db: Database, tmp_path: Path, prefix: str) -> None:
    items = scanned(db)
    place = write_full(tmp_path, "shop", items.values(), at=NOON, prefix=prefix)
    with db.meter() as meter:
        exported = read(place)
        assert by_key(exported.items()) == items
    assert (meter.requests, meter.read_units) == (0, 0)
    assert (exported.count, exported.complete_at) == (51, NOON)
    assert by_key(read(place / "manifest-summary.json").items()) == items


def test_incremental_exports_go_on_from_a_full_one(db: Database, tmp_path: Path) -> None:
    before = scanned(db)
    base = write_full(tmp_path, "shop", before.values(), at=NOON)
    db.delete(Order.by_number(1))
    db.update(Order.by_number(2), attr(Order.state).set("sent"))
    db.create(Order(number=70))
    middle = scanned(db)
    first = records(before, middle, NOON + HOUR / 2)
    db.update(Order.by_number(2), attr(Order.state).set("paid"))
    db.create(Order(number=1, state="again"))
    db.delete(Order.by_number(70))
    after = scanned(db)
    second = records(middle, after, NOON + 3 * HOUR / 2)
    one = write_incremental(tmp_path, "shop", first, since=NOON, until=NOON + HOUR, id="01-one")
    both: Mapping[str, Any] = {"since": NOON + HOUR, "until": NOON + 2 * HOUR}
    two = write_incremental(tmp_path, "shop", second, **both, id="02-two")
    assert by_key(read(base, one).items()) == middle
    exported = read(two, base, one)  # in any order
    assert by_key(exported.items()) == after
    assert exported.complete_at == NOON + 2 * HOUR


def records(old: Mapping[Any, Any], new: Mapping[Any, Any], at: datetime) -> list[Any]:
    places = {*old, *new}
    return [change(("pk", "sk"), old.get(p), new.get(p), at) for p in sorted(places) if old.get(p) != new.get(p)]


def test_of_an_item_in_several_exports_the_last_write_counts(db: Database, tmp_path: Path) -> None:
    """Exports whose times overlap, and one that ends before the base: it has the item as it was earlier."""
    db.update(Order.by_number(3), attr(Order.state).set("base"))
    items = scanned(db)
    base = write_full(tmp_path, "shop", items.values(), at=NOON)
    place = ("order#a3", "order")

    def written(state: str, at: datetime) -> list[Any]:
        return [change(("pk", "sk"), None, {**items[place], "state": {"S": state}}, at)]

    late = write_incremental(
        tmp_path, "shop", written("late", NOON + HOUR), since=NOON, until=NOON + 2 * HOUR, id="01-a"
    )
    early = write_incremental(
        tmp_path, "shop", written("early", NOON + HOUR / 2), since=NOON - HOUR, until=NOON + HOUR, id="01-b"
    )
    past = write_incremental(
        tmp_path, "shop", written("past", NOON - HOUR), since=NOON - 2 * HOUR, until=NOON, id="01-c"
    )
    assert by_key(read(base, past).items()) == items
    assert by_key(read(base, early, late, past).items())[place]["state"] == {"S": "late"}


def test_a_copy_of_the_directory_alone_is_read(db: Database, tmp_path: Path) -> None:
    items = scanned(db)
    place = write_full(tmp_path, "shop", items.values(), at=NOON, prefix="deep/prefix")
    copy = tmp_path / "downloads" / "shop-friday"
    copy.parent.mkdir()
    place.rename(copy)
    assert by_key(read(copy).items()) == items


# --- what is refused --------------------------------------------------------------------------------------------------
def truncate(place: Path) -> None:
    file = next(place.glob("data/*.gz"))
    file.write_bytes(file.read_bytes()[:-20])


def flip(place: Path) -> None:
    file = next(place.glob("data/*.gz"))
    content = gzip.decompress(file.read_bytes()).replace(b"open", b"oqen")
    file.write_bytes(gzip.compress(content))


def lose_file(place: Path) -> None:
    next(place.glob("data/*.gz")).unlink()


def lose_line(place: Path) -> None:
    """Of the list of files, which then has no checksum of its own either."""
    files = place / "manifest-files.json"
    files.write_text("".join(files.read_text().splitlines(keepends=True)[1:]))
    files.with_suffix(".checksum").unlink()


def change_list(place: Path) -> None:
    files = place / "manifest-files.json"
    files.write_text(files.read_text().replace("itemCount", "itemCounts"))


def garble(place: Path) -> None:
    """A line that is not a record, in a file whose checksum is right."""
    file = next(place.glob("data/*.gz"))
    file.write_bytes(gzip.compress(b'{"Item": {"pk": {"S": "secret"}\n'))
    files = place / "manifest-files.json"
    lines = [json.loads(line) for line in files.read_text().splitlines()]
    files.write_text("".join(json.dumps({**line, "md5Checksum": ""}) + "\n" for line in lines))
    files.with_suffix(".checksum").unlink()


def lead_out(place: Path) -> None:
    """The list names a file beside the export."""
    files = place / "manifest-files.json"
    lines = [json.loads(line) for line in files.read_text().splitlines()]
    outside = "x/AWSDynamoDB/../../secret.json.gz"
    files.write_text("".join(json.dumps({**line, "dataFileS3Key": outside}) + "\n" for line in lines))
    files.with_suffix(".checksum").unlink()


DAMAGES: Sequence[tuple[Callable[[Path], None], str]] = (
    (truncate, "ends too early"),
    (flip, "its MD5 differs"),
    (lose_file, "lacks 01693685827463-2d8752fd/data/.*which its manifest names"),
    (lose_line, "the summary says 51 items, the list of files 34"),
    (change_list, "differs from its .checksum file"),
    (garble, "record 1: it is not a record"),
    (lead_out, "names files outside of it"),
)


@pytest.mark.parametrize(("damage", "said"), DAMAGES, ids=[damage.__name__ for damage, _ in DAMAGES])
def test_a_damaged_export_is_refused(db: Database, tmp_path: Path, damage: Callable[[Path], None], said: str) -> None:
    place = write_full(tmp_path, "shop", scanned(db).values(), at=NOON)
    damage(place)
    with pytest.raises((Corrupt, Unavailable), match=said) as refused:
        list(read(place).items())
    assert "secret" not in str(refused.value)


def test_an_export_without_a_summary_is_not_complete(tmp_path: Path) -> None:
    place = write_full(tmp_path, "shop", [EVERY_KIND], at=NOON)
    (place / "manifest-summary.json").unlink()
    with pytest.raises(NotConfigured, match=r"has no manifest-summary.json.*writes the summary last"):
        open_table_export(str(place))


def test_an_export_in_ion_is_refused(tmp_path: Path) -> None:
    place = write_full(tmp_path, "shop", [EVERY_KIND], at=NOON)
    summary = place / "manifest-summary.json"
    summary.with_suffix(".checksum").unlink()
    summary.write_text(summary.read_text().replace('"DYNAMODB_JSON"', '"ION"'))
    with pytest.raises(InvalidRequest, match=r"an export in 'ION', which is not read.*with the format DYNAMODB_JSON"):
        open_table_export(str(place))


def test_exports_that_do_not_follow_each_other_are_refused(tmp_path: Path) -> None:
    base = write_full(tmp_path, "shop", [EVERY_KIND], at=NOON)
    other = write_full(tmp_path, "else", [EVERY_KIND], at=NOON, id="02-other")
    later = write_incremental(tmp_path, "shop", [], since=NOON + HOUR, until=NOON + 2 * HOUR)
    with pytest.raises(InvalidRequest, match="no export has the changes from 2026-11-20 12:00:00") as refused:
        read(base, later)
    assert refused.value.table == "shop"
    with pytest.raises(InvalidRequest, match="0 of the 1 exports given are full ones"):
        read(later)
    with pytest.raises(InvalidRequest, match="of several tables: else, shop"):
        read(base, write_incremental(tmp_path, "else", [], since=NOON, until=NOON + HOUR, id="03-else"))
    with pytest.raises(InvalidRequest, match="2 of the 2 exports"):
        read(base, other)
    with pytest.raises(InvalidRequest, match="names no export"):
        open_table_export("s3://")


# --- as DynamoDB makes them -------------------------------------------------------------------------------------------
@pytest.mark.embedded("it says what that engine lacks")
def test_an_engine_without_exports_says_so() -> None:
    with connect("local") as db:
        db.create_table(shop)
        with pytest.raises(NotSupported):
            TableExports(db, shop).start("s3://exports/shop")
        with pytest.raises(InvalidRequest, match="not a place in S3"):
            TableExports(db, shop).start("exports")


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with MOTO.running() as url:
        yield url


@pytest.fixture
def on_moto(moto: str) -> Iterator[Database]:
    with connect(moto) as made:
        made.create_table(shop)
        for number in range(30):
            made.create(Order(number=number))
        # moto answers a map with an empty name wrongly
        made.run(put_raw(made.port, Order, {name: value for name, value in EVERY_KIND.items() if name != "map"}))
        yield made
        made.delete_table(shop)


def bucket_at(url: str) -> Any:
    """A new bucket of an emulator, as obstore reads it."""
    bucket = f"exports-{secrets.token_hex(4)}"
    with urlopen(UrlRequest(f"{url}/{bucket}", method="PUT"), timeout=10) as answer:
        assert answer.status == 200
    options: dict[str, Any] = {"client_options": {"allow_http": True}}
    options |= {"access_key_id": "test", "secret_access_key": "test", "region": "us-east-1"}
    return bucket, S3Store(bucket, endpoint=url, **options)


def test_an_export_that_an_emulator_made_is_read(on_moto: Database, moto: str, tmp_path: Path) -> None:
    """moto writes the data file, and no manifest: the test writes that around it."""
    Backups(on_moto, shop).switch_recovery(True)
    bucket, store = bucket_at(moto)
    exports = TableExports(on_moto, shop)
    with on_moto.meter() as meter:
        made = exports.wait(exports.start(f"s3://{bucket}/2026-Nov"))
    assert (meter.read_units, made.status, made.items, made.bucket) == (0, "COMPLETED", 31, bucket)
    assert exports.describe(made.arn) == made
    written = ObjectStore(store, f"s3://{bucket}")
    (found,) = written.list("2026-Nov/AWSDynamoDB")
    content = written.read(found)
    assert content is not None
    place = write_around(tmp_path, "shop", content, made.items or 0, at=NOON)
    assert by_key(read(place).items()) == scanned(on_moto)


def test_without_recovery_nothing_is_begun(on_moto: Database) -> None:
    with pytest.raises(NotConfigured, match=r"recovery is off.*backup recovery MODULE --on"):
        TableExports(on_moto, shop).start("s3://exports/shop")


def test_a_bucket_that_is_missing_fails_the_export(on_moto: Database) -> None:
    Backups(on_moto, shop).switch_recovery(True)
    exports = TableExports(on_moto, shop)
    with pytest.raises(Unavailable, match=r"S3NoSuchBucket.*Look at the bucket no-such-bucket"):
        exports.wait(exports.start("s3://no-such-bucket/2026"))


def test_times_of_an_export(on_moto: Database) -> None:
    Backups(on_moto, shop).switch_recovery(True)
    exports = TableExports(on_moto, shop)
    with pytest.raises(InvalidRequest, match="has a zone"):
        exports.start("s3://exports", at=datetime(2026, 11, 20))
    with pytest.raises(InvalidRequest, match="of one time, or of the changes since one"):
        exports.start("s3://exports", at=NOON, since=NOON)


async def test_an_export_is_begun_waited_for_and_described(aws_emulator: str, kind: str) -> None:
    """ministack says what an export is, in progress and then complete, and writes none."""
    table = Table(f"shop-{secrets.token_hex(4)}")
    states: list[str] = []
    with connect(aws_emulator) as db:
        db.create_table(table)
        Backups(db, table).switch_recovery(True)
        if kind == "blocking":
            exports = TableExports(db, table)
            made = exports.wait(exports.start("s3://exports/2026/shop/", **TIMES), progress=states.append)
        else:
            async with connect_async(aws_emulator) as other:
                awaiting = AsyncTableExports(other, table)
                begun = await awaiting.start("s3://exports/2026/shop/", **TIMES)
                assert (begun.status, begun.items) == ("IN_PROGRESS", None)
                made = await awaiting.wait(begun, progress=states.append)
        assert (made.status, made.kind) == ("COMPLETED", "incremental")
        assert made.location == f"s3://exports/2026/shop/AWSDynamoDB/{made.arn.rsplit('/', 1)[1]}"
        assert set(states) <= {"IN_PROGRESS"}
        with pytest.raises(NotFound, match="the export does not exist"):
            TableExports(db, table).describe(f"{made.arn}x")
        db.delete_table(table)


TIMES: Mapping[str, Any] = {"since": NOON, "until": NOON + HOUR}


# --- imported ---------------------------------------------------------------------------------------------------------
def test_an_export_is_imported_item_by_item(db: Database, tmp_path: Path) -> None:
    db.run(put_raw(db.port, Order, {**EVERY_KIND, "_type": {"S": "ghost"}}))
    items = db.run(all_items(db.port, "shop"))
    where = write_full(tmp_path, "another-name", items, at=NOON)
    with fresh() as target:
        done = Imports(target, shop).run(where)
        assert (done.read, done.written, done.bad) == (51, 51, 0)
        assert _sorted(target.run(all_items(target.port, "shop"))) == _sorted(items)
        with pytest.raises(InvalidRequest, match="the table has items"):
            Imports(target, shop).run(where)
        assert Imports(target, shop).run(where, mode="replace").written == 51


@pytest.mark.embedded("it gives tables names of its own")
@pytest.mark.parametrize("named", ["shop", "shop-7"])
def test_an_export_is_of_a_table_by_either_of_its_names(db: Database, tmp_path: Path, named: str) -> None:
    items = db.run(all_items(db.port, "shop"))
    where = write_full(tmp_path, named, items, at=NOON)
    with fresh(tables={"shop": "shop-7"}) as target:
        assert Imports(target, shop, beside).run(where).written == 51
        assert len(target.run(all_items(target.port, "shop"))) == 51
    other = write_full(tmp_path / "other", "shop-8", items, at=NOON)
    with fresh() as target, pytest.raises(InvalidRequest, match="is of the table shop-8, which was not given"):
        Imports(target, shop, beside).run(other)


def test_what_can_not_be_imported(db: Database, tmp_path: Path) -> None:
    keyless = [
        {"pk": {"S": "a"}, "sk": {"N": "1"}},
        {"other": {"S": "x"}},
        {"pk": {"S": "order#1"}, "sk": {"S": "order"}},
    ]
    where = write_full(tmp_path / "keyless", "shop", keyless, at=NOON)
    with fresh() as target:
        done = Imports(target, shop).run(where, bad_rows=tmp_path / "bad.jsonl")
        assert (done.written, [row.reason for row in done.bad_rows]) == (
            1,
            ["it has no key of the table: the texts pk and sk"] * 2,
        )
    where = write_full(tmp_path / "damaged", "shop", db.run(all_items(db.port, "shop")), at=NOON, files=1)
    (file,) = where.rglob("*.json.gz")
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"open", b"shut", 1)))
    with fresh() as target:
        with pytest.raises(Corrupt, match="its MD5 differs"):
            Imports(target, shop).run(where)
        assert [item for item in target.run(all_items(target.port, "shop")) if item["_type"]["S"] == "order"] == []
    since = write_incremental(tmp_path, "shop", [], since=NOON, until=NOON + HOUR)
    with fresh() as target, pytest.raises(InvalidRequest, match="what changed in a while"):
        Imports(target, shop).run(since)


def _sorted(items: list[Any]) -> list[Any]:
    return sorted((_in_order(item) for item in items), key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


def _in_order(item: dict[str, Any]) -> dict[str, Any]:
    return {n: {t: sorted(v) if t in ("SS", "NS", "BS") else v for t, v in value.items()} for n, value in item.items()}
