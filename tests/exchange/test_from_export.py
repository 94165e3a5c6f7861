"""`from_export`: what reads a whole table reads its export instead, sends nothing, and says what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from gzip import compress, decompress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from obstore.store import S3Store

from singletable import Database, InvalidRequest
from singletable.errors import Corrupt, NotConfigured, Unavailable
from singletable.exchange import ExportedItems, Exports, ObjectStore, export_of
from singletable.foundation import PageRead, ScanSegment, advanced, all_segments, flows, scan_pages
from singletable.records.check import RecordCheck
from singletable.records.check_passes import ItemCheck
from singletable.reports import AsyncStats, Stats, TableShape
from tests.exchange.models import Customer, order, shop
from tests.exchange.table_export_layout import change, write_full, write_incremental
from tests.exchange.test_export_s3 import environment
from tests.exchange.test_table_exports import bucket_at
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items, put_raw, stored

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[order(n) for n in range(60)])
        for n in range(5):
            made.create(Customer(email=f"c{n}@example.org", name=f"n{n}"))
        yield made


def exported(db: Database, folder: Path, at: datetime = NOON) -> ExportedItems:
    return export_of(shop, str(write_full(folder, shop.name, db.run(all_items(db.port, shop.name)), at=at)))


def pages_of(db: Database, source: ExportedItems, page: int, left: tuple[ScanSegment, ...]) -> list[PageRead]:
    port, pages = source.over(db.port), list[PageRead]()
    while left:
        now = db.run(scan_pages(port, shop, left, page=page))
        pages += now
        left = advanced(left, now)
    return pages


def spoil(db: Database) -> None:
    """Findings of four kinds: two of an item alone, and a guard and a type."""
    item: Any = db.run(stored(db.port, Customer.by_email("c1@example.org")))
    unguarded = {**item, "pk": {"S": "customer#c9@example.org"}, "email": {"S": "c9@example.org"}, "name": {"S": "n9"}}
    db.run(put_raw(db.port, Customer, unguarded))
    db.run(put_raw(db.port, Customer, {**item, "name": {"N": "1"}}))
    db.run(put_raw(db.port, Customer, {"pk": {"S": "x"}, "sk": {"S": "y"}, "_type": {"S": "ghost"}}))


def _text(item: Any) -> str:
    """Without the order of attributes and of sets, which is no item's."""
    return str(sorted((name, sorted(str(value))) for name, value in item.items()))


# --- the port ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("page", "segments"), [(1_000, 1), (7, 1), (1, 1), (9, 4)])
def test_the_pages_have_each_item_once(db: Database, tmp_path: Path, page: int, segments: int) -> None:
    source = exported(db, tmp_path)
    pages = pages_of(db, source, page, all_segments(segments))
    items = [item for each in pages for item in each.items]
    assert sorted(map(_text, items)) == sorted(map(_text, db.run(all_items(db.port, shop.name))))
    assert max(len(each.items) for each in pages) == min(page, len(items))


def test_a_page_is_given_again_and_a_reading_goes_on_anywhere(db: Database, tmp_path: Path) -> None:
    """A round that is begun again, and a run that goes on after a kill, at every position."""
    source = exported(db, tmp_path)
    whole = pages_of(db, source, 10, all_segments(1))
    port = source.over(db.port)
    segment = ScanSegment(0, 1)
    for page in whole:
        again = [db.run(scan_pages(port, shop, [segment], page=10)) for _ in range(2)]
        anew = db.run(scan_pages(source.over(db.port), shop, [segment], page=10))
        assert again == [[page], [page]] == [anew, anew]
        if page.after is not None:
            segment = segment.moved(page.after)
    lost = segment.moved({"pk": {"S": "nobody"}, "sk": {"S": "x"}})
    with pytest.raises(InvalidRequest, match="lacks the item at which the earlier reading ended"):
        db.run(scan_pages(port, shop, [lost]))


def test_a_page_has_a_megabyte_at_most(tmp_path: Path) -> None:
    with fresh() as db:
        items = [{"pk": {"S": f"{n}"}, "sk": {"S": "x"}, "text": {"S": "x" * 300_000}} for n in range(10)]
        source = export_of(shop, str(write_full(tmp_path, shop.name, items, at=NOON)))
        assert [len(page.items) for page in pages_of(db, source, 1_000, all_segments(1))] == [4, 4, 2]


# --- stats ------------------------------------------------------------------------------------------------------------
def test_stats_are_those_of_the_table_for_no_request(db: Database, tmp_path: Path) -> None:
    source = exported(db, tmp_path)
    live = Stats(db, shop).read(changes=0)
    db.delete(Customer.by_email("c1@example.org"))
    with db.meter() as meter:
        shape = Stats(db, shop).read(from_export=source)
    assert (meter.requests, meter.read_units, shape.as_of, live.as_of) == (0, 0, NOON, None)
    assert shape.left_out == (
        "hottest keys: they are counted from the changes of the table's stream, which no export has",
    )
    assert _without_ties(replace(shape, as_of=None, left_out=())) == _without_ties(live)


def _without_ties(shape: TableShape) -> TableShape:
    """Without the lists of largest ones: those of one size come in the order of the scan."""
    indexes = tuple(replace(index, largest=()) for index in shape.indexes)
    return replace(shape, indexes=indexes, collections=(), large_items=())


async def test_the_awaiting_shell_reads_the_same(db: Database, tmp_path: Path) -> None:
    source = exported(db, tmp_path)
    async with fresh_async() as other:
        assert await AsyncStats(other, shop).read(from_export=source) == Stats(db, shop).read(from_export=source)


def test_later_exports_are_merged(db: Database, tmp_path: Path) -> None:
    before = db.run(all_items(db.port, shop.name))
    base = write_full(tmp_path, shop.name, before, at=NOON)
    old = db.run(stored(db.port, Customer.by_email("c1@example.org")))
    records = [change(("pk", "sk"), old, None, NOON)]
    more = write_incremental(tmp_path, shop.name, records, since=NOON, until=NOON + HOUR)
    shape = Stats(db, shop).read(from_export=export_of(shop, str(base), str(more)))
    assert (shape.seen, shape.as_of) == (len(before) - 1, NOON + HOUR)
    with pytest.raises(InvalidRequest, match="0 of the 1 exports given are full ones"):
        export_of(shop, str(more))


def test_a_folder_of_our_own_export(db: Database, tmp_path: Path) -> None:
    Exports(db, shop).export(tmp_path / "own", keys=True)
    source = export_of(shop, str(tmp_path / "own"))
    with db.meter() as meter:
        shape = Stats(db, shop).read(from_export=source)
    assert (shape.seen, meter.requests) == (70, 0)
    Exports(db, shop).export(tmp_path / "bare")
    with pytest.raises(InvalidRequest, match="made without keys"):
        export_of(shop, str(tmp_path / "bare"))


def test_an_export_in_s3(db: Database, tmp_path: Path, aws_emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the environment, as an import reads it."""
    environment(monkeypatch, aws_emulator)
    exported(db, tmp_path)
    bucket, store = bucket_at(aws_emulator)
    for file in sorted(tmp_path.rglob("*")):
        if file.is_file():
            ObjectStore(store, "s3").write(f"2026/{file.relative_to(tmp_path).as_posix()}", file.read_bytes())
    assert isinstance(store, S3Store)
    source = export_of(shop, f"s3://{bucket}/2026/AWSDynamoDB/01693685827463-2d8752fd")
    assert Stats(db, shop).read(from_export=source).seen == 70


# --- check ------------------------------------------------------------------------------------------------------------
def test_a_check_finds_what_items_show_alone(db: Database, tmp_path: Path) -> None:
    assert db.check(shop, from_export=exported(db, tmp_path / "sound")) == []
    spoil(db)
    source = exported(db, tmp_path / "spoilt")
    live = {finding.code for finding in db.check(shop)}
    db.delete(Customer.by_email("c3@example.org"))
    with db.meter() as meter:
        findings = db.check(shop, from_export=source)
    assert meter.requests == 0
    assert {finding.code for finding in findings} == {"item.unreadable", "type.unknown"}
    assert live - {finding.code for finding in findings} == {"guard.missing", "guard.orphan"}


def test_a_check_names_what_it_leaves_out(db: Database, tmp_path: Path) -> None:
    _, left_out = flows.check_passes(shop, (), is_sample=False, from_export=exported(db, tmp_path))
    compared = RecordCheck(shop).beside
    assert compared.startswith("guards of unique values")
    since = "what was written since 2026-11-20 12:00:00 UTC: the export shows that moment"
    assert left_out == [f"{compared}: an export has each item alone", since]


def test_a_check_of_another_layer_is_never_left_out_in_silence() -> None:
    """One that says nothing of exports is named by its class; each of the library's own says what it compares."""

    class Silent(ItemCheck):
        async def findings(self, port: Any, items: Any) -> list[Any]:
            return []

    class Alone(Silent):
        def alone(self, items: Any, now: float) -> list[Any]:
            return []

    assert (Silent().is_compared, Alone().is_compared) == (True, False)
    for layer in ("documents", "graph", "sync", "tasks"):
        import_module(f"singletable.{layer}.check")
    own = [kind for kind in _checks(ItemCheck) if kind.__module__.startswith("singletable.")]
    assert {kind.__name__ for kind in own} >= {"RecordCheck", "TaskCheck", "GraphCheck", "DocumentCheck", "SyncCheck"}
    assert [kind for kind in own if not kind.beside] == []


def _checks(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _checks(each)


# --- what is refused --------------------------------------------------------------------------------------------------
def test_an_export_of_another_table_is_refused(db: Database, tmp_path: Path) -> None:
    source = export_of(shop, str(write_full(tmp_path, "other", [], at=NOON)))
    for call in (lambda: Stats(db, shop).read(from_export=source), lambda: db.check(shop, from_export=source)):
        with pytest.raises(InvalidRequest, match="is an export of table other, and this one is exchange-shop") as met:
            call()
        assert "--table-name exchange-shop=other" in (met.value.hint or "")


def test_a_sample_of_an_export_is_refused(db: Database, tmp_path: Path) -> None:
    source = exported(db, tmp_path)
    for call in (
        lambda: Stats(db, shop).read(sample=0.5, from_export=source),
        lambda: db.check(shop, sample=0.5, from_export=source),
    ):
        with pytest.raises(InvalidRequest, match="an export is read whole"):
            call()


def test_a_damaged_export_is_named(db: Database, tmp_path: Path) -> None:
    source = exported(db, tmp_path)
    place = Path(source.where)
    file = sorted(place.glob("data/*.gz"))[1]
    whole = file.read_bytes()
    seen: list[int] = []
    for content, why in ((whole[:-9], "the file ends too early"), (whole[:40] + b"x" + whole[41:], file.name)):
        file.write_bytes(content)
        with pytest.raises(Corrupt, match=why):
            Stats(db, shop).read(from_export=source, progress=seen.append)
    other = sorted(place.glob("data/*.gz"))[0]
    file.write_bytes(other.read_bytes())
    with pytest.raises(Corrupt, match="its MD5 differs"):
        db.check(shop, from_export=source)
    file.unlink()
    with pytest.raises(Unavailable, match=rf"lacks .*{file.name}, which its manifest names"):
        Stats(db, shop).read(from_export=source)
    summary = place / "manifest-summary.json"
    summary.write_bytes(summary.read_bytes() + b" ")
    with pytest.raises(Corrupt, match="was changed: its MD5 differs"):
        export_of(shop, str(place))
    summary.unlink()
    with pytest.raises(NotConfigured):
        export_of(shop, str(place))


def test_nothing_of_a_file_is_used_before_its_checksum_is_known(tmp_path: Path) -> None:
    """An item that somebody has put into a file is no finding, no count and nobody's."""
    with fresh() as db:
        items = [{"pk": {"S": f"{n:03}"}, "sk": {"S": "x"}} for n in range(30)]
        source = export_of(shop, str(write_full(tmp_path, shop.name, items, at=NOON, files=1)))
        (file,) = Path(source.where).glob("data/*.gz")
        file.write_bytes(compress(decompress(file.read_bytes()).replace(b'"S":"007"', b'"S":"bad"')))
        rounds: list[Any] = []
        with pytest.raises(Corrupt, match="its MD5 differs"):
            db.check(shop, from_export=source, progress=rounds.append)
        assert rounds == []
