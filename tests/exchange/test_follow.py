"""A followed export: exactly one row for each item, as it is, whatever is killed, doubled or late."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from singletable import Database, Entity, InvalidRequest, Key, Table, connect, connect_async, field
from singletable.exchange import (
    AsyncFollower,
    DirectoryStore,
    Exports,
    Follower,
    ObjectStore,
    compaction,
    datasets_of,
    read_manifest,
    store_at,
)
from singletable.exchange.manifest import Following, write_manifest
from singletable.foundation import is_same_item
from singletable.reports.athena_tables import athena_statements
from singletable.streams.record_tail import RecordTail, TailedRecord
from tests.exchange.test_export import rows_in
from tests.exchange.test_table_exports import bucket_at
from tests.support.children import child
from tests.support.engines import fresh
from tests.support.raw import all_items, put_raw

ledger = Table("followed", stream="new_and_old")


class State(Enum):
    OPEN = "open"
    CLOSED = "closed"


class Account(Entity, table=ledger, type="account"):
    number: int
    balance: int = 0
    note: str = ""
    state: State = State.OPEN
    limit: Decimal = Decimal("12.50")
    tags: frozenset[str] = frozenset({"a"})
    counts: dict[str, int] = field(default_factory=lambda: {"visits": 1})

    @ledger.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One account."""
        return f"account#{number}", "account"


class Remark(Entity, table=ledger, type="remark"):
    number: int
    text: str

    @ledger.key
    @staticmethod
    def of_account(number: int) -> Key:
        """The remark on an account."""
        return f"account#{number}", "remark"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with fresh() as made:
        made.create_table(ledger)
        for number in range(30):
            made.create(Account(number=number))
        yield made
        assert {finding.type for finding in made.check(ledger)} <= {"ghost"}


def items_of(folder: Path) -> list[Any]:
    """The items that the rows of a followed export are."""
    by_name = {dataset.name: dataset.with_keys() for dataset in datasets_of(ledger)}
    manifest = read_manifest(store_at(folder))
    found: list[Any] = []
    for dataset in manifest.datasets:
        rows = rows_in(folder, dataset.name)
        assert sum(file.rows for file in dataset.files) == len(rows)
        found += rows if dataset.name == "_unknown" else [by_name[dataset.name].item(row) for row in rows]
    return found


def assert_equal(db: Database, folder: Path) -> None:
    """The rows are the items of the table, each once."""
    items, rows = db.run(all_items(db.port, ledger.name)), items_of(folder)
    assert len(items) == len(rows)
    known = {(item["pk"]["S"], item["sk"]["S"]): item for item in items}
    for row in rows:
        if "partition" in row:
            assert known.pop((row["partition"], row["sort"]))
        else:
            assert is_same_item(known.pop((row["pk"]["S"], row["sk"]["S"])), row)
    assert known == {}


def test_changes_become_rows(db: Database, tmp_path: Path) -> None:
    follower = Follower(db, ledger, tmp_path)
    first = follower.catch_up()
    assert_equal(db, tmp_path)
    assert first.scans == 1
    db.put(Account(number=3, balance=5))
    db.put(Account(number=3, balance=6))
    db.delete(Account.by_number(4))
    db.create(Account(number=100))
    db.create(Remark(number=3, text="late"))
    db.run(put_raw(db.port, Account, {"pk": {"S": "x"}, "sk": {"S": "y"}, "_type": {"S": "ghost"}}))
    with db.meter() as meter:
        second = follower.catch_up()
    assert (second.scans, second.changes, meter.read_units) == (0, 6, 0)
    assert second.complete_at > first.complete_at
    assert_equal(db, tmp_path)
    db.create(Account(number=4, note="again"))
    db.delete(Account.by_number(100))
    db.run(put_raw(db.port, Account, {"pk": {"S": "account#7"}, "sk": {"S": "account"}, "_type": {"S": "ghost"}}))
    assert follower.catch_up().changes == 3
    assert_equal(db, tmp_path)
    db.delete(Account.by_number(7))
    db.put(Account(number=7))
    assert follower.catch_up().scans == 0
    assert_equal(db, tmp_path)


# --- killed -----------------------------------------------------------------------------------------------------------
class Killed(BaseException):
    """The process is killed: nothing catches this."""


class MortalStore(DirectoryStore):
    """Dies at one of the verbs that change it: before it, or when it is done."""

    def __init__(self, directory: Path, dies_at: int, after: bool) -> None:
        super().__init__(directory)
        self.left, self.after = dies_at, after

    def _step(self, verb: Any, *arguments: Any) -> Any:
        self.left -= 1
        dies = self.left == 0
        if dies and not self.after:
            raise Killed
        done = verb(*arguments)
        if dies:
            raise Killed
        return done

    def write(self, path: str, data: bytes) -> None:
        self._step(super().write, path, data)

    def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
        return bool(self._step(super().write_if, path, data, before))

    def keep(self, path: str, draft: Path) -> int:
        return int(self._step(super().keep, path, draft))

    def delete(self, path: str) -> None:
        self._step(super().delete, path)


def change_some(db: Database, random: Random) -> None:
    """Puts, creations and deletions of a few items, several of one item among them."""
    for _ in range(12):
        number = random.randrange(40)
        if random.random() < 0.3:
            db.delete(Account.by_number(number))
        else:
            state = random.choice(list(State))
            db.put(Account(number=number, balance=random.randrange(1000), state=state))


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_each_step_of_a_run(db: Database, tmp_path: Path, after: bool) -> None:
    random, folder = Random(7), tmp_path / "followed"
    Follower(db, ledger, folder).catch_up()
    kills = dies_at = 0
    while kills == dies_at:
        dies_at += 1
        change_some(db, random)
        try:
            Follower(db, ledger, MortalStore(folder, dies_at, after)).catch_up()
        except Killed:
            kills += 1
            rows = items_of(folder)  # what readers see is whole, before or after
            assert len({repr((row["pk"], row["sk"])) for row in rows}) == len(rows)
        assert Follower(db, ledger, folder).catch_up().scans == 0
        assert_equal(db, folder)
    assert kills >= 8
    names = {path.name for path in folder.rglob("*") if path.is_file() and "_changes" in path.parts}
    assert all(name.startswith(".writing-") for name in names)


def follow_until_killed(target: str, folder: str) -> None:
    """In a child: quick rounds, so that a kill falls into any of them."""
    with connect(target) as db:
        sys.stdout.write("follows\n")
        sys.stdout.flush()
        Follower(db, ledger, folder).run(poll_seconds=0.01, flush_seconds=0.02, compact_seconds=0.03)


@pytest.mark.embedded("its processes share one file")
def test_kill_9_under_writes(tmp_path: Path) -> None:
    random, folder = Random(11), tmp_path / "followed"
    target = f"local:{tmp_path / 'data.db'}"
    with connect(target) as db:
        db.create_table(ledger)
        for number in range(40):
            db.create(Account(number=number))
        for _ in range(3):
            with child(follow_until_killed, target, str(folder)) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == b"follows\n"
                for _ in range(random.randrange(5, 25)):
                    change_some(db, random)
        assert Follower(db, ledger, folder).catch_up().scans <= 1
        assert_equal(db, folder)


# --- doubled and late -------------------------------------------------------------------------------------------------
async def records_of(db: Database) -> tuple[str, list[Any]]:
    tail = RecordTail(db.port, ledger, "horizon")
    found = [one.record for one in await tail.read() if isinstance(one, TailedRecord)]
    return tail.stream, found


def event_of(stream: str, records: list[Any]) -> dict[str, Any]:
    """What Lambda passes."""
    return {"Records": [{**msgspec.json.decode(msgspec.json.encode(r)), "eventSourceARN": stream} for r in records]}


@pytest.mark.parametrize("seed", range(4))
def test_records_that_come_twice_late_and_in_any_order(db: Database, tmp_path: Path, seed: int) -> None:
    """As from AWS Lambda, which passes batches again; compacted in between, so that a record is older than its row."""
    random = Random(seed)
    Follower(db, ledger, tmp_path).catch_up()
    for _ in range(6):
        change_some(db, random)
    stream, records = db.run(records_of(db))
    sent = [*records, *random.sample(records, len(records) // 2)]
    random.shuffle(sent)
    handler = Follower(db, ledger, tmp_path).lambda_handler(compact_seconds=0.0)
    while sent:
        size = random.randrange(1, 9)
        batch, sent = sent[:size], sent[size:]
        event = event_of(stream, batch)
        assert handler(event) == {"batchItemFailures": []}
        if random.random() < 0.2:
            handler(event)
    assert_equal(db, tmp_path)
    assert Follower(db, ledger, tmp_path).catch_up().scans == 0
    assert_equal(db, tmp_path)


def test_lambda_shows_no_item_as_it_was_before_the_scan(db: Database, tmp_path: Path) -> None:
    """The first batches that it passes may be of changes from before the scan: they wait for one from after it."""
    db.put(Account(number=1, balance=1))
    stream, before = db.run(records_of(db))
    db.put(Account(number=1, balance=2))
    Exports(db, ledger).export(tmp_path, keys=True)
    manifest = read_manifest(store_at(tmp_path))
    since = manifest.complete_at.timestamp() - 900
    write_manifest(store_at(tmp_path), replace(manifest, following=Following(stream, since)))
    handler = Follower(db, ledger, tmp_path).lambda_handler(compact_seconds=0.0)
    handler(event_of(stream, before))
    assert_equal(db, tmp_path)
    assert list(store_at(tmp_path).list("_changes/"))
    _, all_records = db.run(records_of(db))
    late = replace(manifest, written_at=manifest.complete_at - timedelta(hours=1), following=Following(stream, since))
    write_manifest(store_at(tmp_path), late)
    handler(event_of(stream, all_records[len(before) :]))
    assert not list(store_at(tmp_path).list("_changes/"))
    assert_equal(db, tmp_path)


def test_athena_is_told_that_it_can_not_read_a_followed_export(db: Database, tmp_path: Path) -> None:
    follower = Follower(db, ledger, tmp_path)
    follower.catch_up()
    change_some(db, Random(3))
    manifest = follower.catch_up().manifest
    with pytest.raises(InvalidRequest, match="Make an export for Athena"):
        athena_statements(manifest, "s3://reports", "bank", ())


# --- where changes may be missing -------------------------------------------------------------------------------------
def two_days_ago(manifest: dict[str, Any]) -> None:
    manifest["complete_at"] = (datetime.now(timezone.utc) - timedelta(days=2)).isoformat()


def of_another_stream(manifest: dict[str, Any]) -> None:
    manifest["following"]["stream"] += "x"


def of_another_class(manifest: dict[str, Any]) -> None:
    manifest["fingerprint"] = manifest["datasets"][0]["digest"] = "before"


def long_unread(manifest: dict[str, Any]) -> None:
    for position in manifest["following"]["positions"].values():
        position["read_at"] -= 48 * 3600


def without_keys(manifest: dict[str, Any]) -> None:
    manifest["keys"] = False


@pytest.mark.parametrize(
    "change", [two_days_ago, of_another_stream, of_another_class, long_unread, without_keys], ids=lambda f: f.__name__
)
def test_the_table_is_scanned_again(db: Database, tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    follower = Follower(db, ledger, tmp_path)
    follower.catch_up()
    change_some(db, Random(1))
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    assert follower.catch_up().scans == 1
    assert_equal(db, tmp_path)
    change_some(db, Random(2))
    assert follower.catch_up().scans == 0
    assert_equal(db, tmp_path)


def test_files_that_no_manifest_names_are_swept(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(compaction, "DRAFT_SECONDS", 0.0)
    (tmp_path / "notes.txt").write_text("not an export's")
    (tmp_path / "_changes").mkdir()
    for draft in (tmp_path / ".writing-0a-manifest.json", tmp_path / "_changes" / ".writing-0b-x.json"):
        draft.write_text("half")
        os.utime(draft, (1.0, 1.0))
    follower = Follower(db, ledger, tmp_path)
    for seed in range(12):
        change_some(db, Random(seed))
        follower.catch_up()
    manifest = read_manifest(store_at(tmp_path))
    assert manifest.following is not None
    named = {file.path for dataset in manifest.datasets for file in dataset.files} | {manifest.following.versions}
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files - {"manifest.json", ".lock", "notes.txt"} == named
    assert max(len(dataset.files) for dataset in manifest.datasets) <= compaction.MOST_SMALL + 1
    assert_equal(db, tmp_path)


class Interrupted(DirectoryStore):
    """Something happens before its manifest is replaced."""

    def __init__(self, directory: Path, happens: Callable[[], object]) -> None:
        super().__init__(directory)
        self._happens = happens

    def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
        if path == "manifest.json":
            self._happens()
        return super().write_if(path, data, before)


def test_a_compaction_keeps_its_files_from_the_sweep_of_another(db: Database, tmp_path: Path) -> None:
    """The other had its manifest written before this one began, and sweeps only now."""
    Follower(db, ledger, tmp_path).catch_up()
    change_some(db, Random(1))
    manifest = Follower(db, ledger, tmp_path).catch_up().manifest
    change_some(db, Random(2))
    store = Interrupted(tmp_path, lambda: compaction._sweep(store_at(tmp_path), manifest, db.port.now()))
    Follower(db, ledger, store).catch_up()
    assert_equal(db, tmp_path)


def test_lambda_leaves_changes_of_another_declaration_in_the_log(
    db: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A program whose class has one attribute more: its rows would stand in files of other columns."""
    Follower(db, ledger, tmp_path).catch_up()
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    of_another_class(manifest)
    path.write_text(json.dumps(manifest))
    before = path.read_bytes()
    change_some(db, Random(4))
    stream, records = db.run(records_of(db))
    handler = Follower(db, ledger, tmp_path).lambda_handler(compact_seconds=0.0)
    assert handler(event_of(stream, records)) == {"batchItemFailures": []}
    assert path.read_bytes() == before
    assert "declared otherwise" in caplog.text
    assert Follower(db, ledger, tmp_path).catch_up().scans == 1
    assert_equal(db, tmp_path)


def test_a_reader_keeps_its_files_for_an_hour(db: Database, tmp_path: Path) -> None:
    follower = Follower(db, ledger, tmp_path)
    follower.catch_up()
    before = read_manifest(store_at(tmp_path))
    for seed in range(3):
        change_some(db, Random(seed))
        follower.catch_up()
    for dataset in before.datasets:
        for file in dataset.files:
            assert (tmp_path / file.path).exists()


def test_a_table_without_a_stream_is_refused(tmp_path: Path) -> None:
    other = Table("quiet")
    with fresh() as made, pytest.raises(InvalidRequest, match="no stream of new images"):
        Follower(made, other, tmp_path).catch_up()


# --- in a bucket ------------------------------------------------------------------------------------------------------
def test_in_a_bucket(db: Database, aws_emulator: str, tmp_path: Path) -> None:
    bucket, store = bucket_at(aws_emulator)
    place = ObjectStore(store, f"s3://{bucket}")
    for seed in range(3):
        change_some(db, Random(seed))
        Follower(db, ledger, place).catch_up()
    manifest = read_manifest(place)
    for dataset in manifest.datasets:
        for file in dataset.files:
            (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file.path).write_bytes(place.read(file.path) or b"")
    (tmp_path / "manifest.json").write_bytes(place.read("manifest.json") or b"")
    assert_equal(db, tmp_path)
    text = place.read("manifest.json")
    assert place.write_if("manifest.json", b"other", text)
    assert not place.write_if("manifest.json", b"late", text)
    assert not place.write_if("manifest.json", b"new", None)
    assert place.write_if("another", b"new", None)
    assert place.read("manifest.json") == b"other"


@pytest.mark.embedded("two databases share one file")
async def test_both_shells(kind: str, tmp_path: Path) -> None:
    target = f"local:{tmp_path / 'data.db'}"
    with connect(target) as made:
        made.create(Account(number=1))
        if kind == "awaiting":
            async with connect_async(target) as other:
                done = await AsyncFollower(other, ledger, tmp_path / "followed").catch_up()
        else:
            done = Follower(made, ledger, tmp_path / "followed").catch_up()
        assert (done.scans, done.manifest.rows) == (1, 1)
        assert_equal(made, tmp_path / "followed")
