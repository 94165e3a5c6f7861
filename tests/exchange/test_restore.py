"""A restore brings a table back with leases, dead letters and contents, from each source; killed, it goes on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import structs

from singletable import Database, InvalidRequest, Table, connect
from singletable.cli.app import app as program
from singletable.documents import Documents, LocalBlobs
from singletable.errors import Conflict, Denied, SingletableError, Unavailable
from singletable.exchange import Restore, TableCopy
from singletable.exchange.restore_run import RestoreRun
from singletable.exchange.restore_sources import CopySource, ServiceSource
from singletable.migrations import Backups
from singletable.release import Hold
from singletable.streams.state import state_entities
from singletable.tables import Description, backups as backups_of_tables, describe, live_settings
from singletable.tables.backups import Recovery, begin_backup, list_backups
from tests.exchange.restored import Cell, Order, Page, fill, items_in, shop, write
from tests.exchange.table_export_layout import write_full
from tests.migrations.watching import Killed, before_each
from tests.support.emulators import MOTO
from tests.support.raw import all_items

pytestmark = pytest.mark.embedded("its engines are its own: moto has backups, the embedded one has a file")


@dataclass
class Backed:
    """A database that was filled and backed up, what was in it, and what it is restored from."""

    db: Database
    blobs: LocalBlobs
    items: Any
    leases: Any
    contents: dict[str, bytes]
    source: dict[str, Any]

    def is_back(self, db: Database, to: str, blobs: LocalBlobs) -> None:
        """Everything is in `to` as it was, and it is held."""
        assert items_in(db, to) == self.items
        assert contents_in(blobs) == self.contents
        assert held_by(db, to).startswith("restored from ")
        settings = db.run(settings_of(db, to))
        assert (settings.stream, settings.ttl) == ("new_and_old", "_ttl")


async def nobody_waits(seconds: float) -> None:
    """Workers that run are given seconds to notice a hold: here none runs."""


def held_by(db: Database, table: str) -> str:
    """Why a table is held."""
    (item,) = (item for item in db.run(all_items(db.port, table)) if item["_type"]["S"] == "_hold")
    assert "opened_at" not in item
    return str(item["why"]["S"])


def contents_in(blobs: LocalBlobs) -> dict[str, bytes]:
    """The files of contents, as bytes."""
    paths = [path for path in blobs.list("") if path.endswith(".json.gz") and not path.startswith("=backups/")]
    return {path: (blobs.directory / path).read_bytes() for path in paths}


async def settings_of(db: Database, table: str) -> Any:
    definition = structs.replace(shop.definition, name=table)
    description = await describe(db.port, definition)
    assert description is not None
    return await live_settings(db.port, definition, description, recovery=True, tags=True)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backed]:
    """A folder with a copy of a data file and its contents; the live ones are gone."""
    folder = tmp_path_factory.mktemp("copied")
    blobs = LocalBlobs(folder / "blobs")
    with connect(f"local:{folder / 'live.db'}") as db:
        fill(db, blobs)
        items, leases = items_in(db, "shop"), items_in(db, "shop-leases")
        Backups(db, shop, blobs=blobs).copy(folder / "monday", with_contents=True)
        contents = contents_in(blobs)
        Documents(db, Page, blobs=blobs).delete("p1")
    with connect(f"local:{folder / 'monday' / 'data.db'}") as copy:
        source = {"copy": copy, "contents": folder / "monday" / "blobs"}
        yield Backed(copy, blobs, items, leases, contents, source)


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backed]:
    """A backup on demand; the document is deleted since."""
    blobs = LocalBlobs(tmp_path_factory.mktemp("moto") / "blobs")
    with MOTO.running() as url, connect(url) as db:
        fill(db, blobs)
        items, leases, contents = items_in(db, "shop"), items_in(db, "shop-leases"), contents_in(blobs)
        backup = Backups(db, shop, blobs=blobs).create("monday")
        Documents(db, Page, blobs=blobs).delete("p1")
        yield Backed(db, blobs, items, leases, contents, {"backup": backup.arn})


@pytest.mark.parametrize("to", ["shop", "shop-monday"])
def test_from_a_copy_of_a_data_file(copied: Backed, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = LocalBlobs(tmp_path / "blobs")
    with connect(f"local:{tmp_path / 'new.db'}") as db:
        monkeypatch.setattr(db.port, "sleep", nobody_waits)
        restore = Restore(db, shop, to=to, blobs=blobs)
        plan = restore.plan(**copied.source)
        assert [step.name for step in plan.steps] == ["make", "hold", "items", "beside", "contents", "settings"]
        assert db.describe_table(shop) is None
        restored = restore.run(**copied.source)
        assert (restored.items, restored.beside) == (len(copied.items), (f"{to}-leases",))
        assert (restored.contents.copied, restored.contents.damaged) == (len(copied.contents), ())
        copied.is_back(db, to, blobs)
        assert items_in(db, f"{to}-leases") == copied.leases
        assert restore.plan(**copied.source).steps == ()
        (note,) = restore.run(**copied.source).notes
        assert "nothing was done now" in note


def test_a_table_comes_back_under_its_name_in_the_account(copied: Backed, tmp_path: Path) -> None:
    """Where it is not the declared one, and none is said: the program finds it there, and its workers the hold."""
    blobs, names = LocalBlobs(tmp_path / "blobs"), {"shop": "shop-7"}
    with connect(f"local:{tmp_path / 'new.db'}", tables=names) as db, connect(f"local:{tmp_path / 'new.db'}") as plain:
        restore = Restore(db, shop, blobs=blobs)
        assert restore.plan(**copied.source).table == "shop-7"
        restored = restore.run(**copied.source)
        assert (restored.table, restored.beside) == ("shop-7", ("shop-7-leases",))
        copied.is_back(db, "shop", blobs)
        copied.is_back(plain, "shop-7", blobs)
        assert plain.describe_table(shop) is None
        assert Restore(db, shop, to="shop", blobs=blobs).run(**copied.source).table == "shop"
        copied.is_back(plain, "shop", blobs)


def test_backups_of_a_table_of_another_name(moto: Backed, tmp_path: Path) -> None:
    """The service says names of the account: of the leases of a backup, too."""
    blobs = LocalBlobs(tmp_path / "blobs")
    with connect(moto.db.target.endpoint.url, tables={"shop": "mall"}) as db:
        fill(db, blobs, orders=1)
        backups = Backups(db, shop, blobs=blobs)
        made = backups.create("tuesday")
        assert (made.table, {known.table for known in backups.list()}) == ("shop", {"shop"})
        restored = Restore(db, shop, to="mall-8", blobs=blobs).run(backup=made.arn)
        assert (restored.table, restored.beside) == ("mall-8", ("mall-8-leases",))
        assert items_in(moto.db, "mall-8") == items_in(db, "shop")
        assert Restore(db, shop, to="mall-9", blobs=blobs).run(at="latest").table == "mall-9"
        assert items_in(moto.db, "mall-9") == items_in(db, "shop")
        backups.delete(made.arn)
        assert db.run(list_backups(db.port, "shop-leases")) == []


def test_contents_are_kept_for_a_table_of_another_name(
    copied: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The live table has the same store, and deletes the document."""
    blobs = LocalBlobs(tmp_path / "blobs")
    with connect(f"local:{tmp_path / 'new.db'}") as db:
        monkeypatch.setattr(db.port, "sleep", nobody_waits)
        Restore(db, shop, blobs=blobs).run(**copied.source)
        puts, put = list[str](), blobs.put

        def noted(path: str, data: bytes) -> bool:
            puts.append(path)
            return put(path, data)

        monkeypatch.setattr(blobs, "put", noted)
        Restore(db, shop, to="shop-monday", blobs=blobs).run(**copied.source)
        assert puts[0].startswith("=backups/open/")
        Documents(db, Page, blobs=blobs).delete("p1")
        assert contents_in(blobs) == copied.contents
        assert list(blobs.list("=backups/open/")) == []
        (note,) = Restore(db, shop, to="shop-bare").run(**copied.source).notes
        assert "no blob store is configured" in note


def test_the_stream_begins_when_all_is_there(copied: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nothing which the restore writes is a change. A table of leases that is in use stays as it is."""
    sent: list[str] = []

    def watch(operation: Any) -> None:
        request = operation.request()
        is_stream = request.operation == "CreateTable" and b'"StreamEnabled":true' in request.body
        sent.append("CreateTable with a stream" if is_stream else request.operation)

    with connect("local") as db:
        monkeypatch.setattr(db.port, "sleep", nobody_waits)
        letter: Any = state_entities(shop, "own").dead_letter
        db.put(letter(consumer="others", stream="gone", shard="s", sequence="1", part=0, payload=b"another"))
        before = items_in(db, "shop-leases")
        with monkeypatch.context() as patched:
            before_each(db, patched, watch)
            restored = Restore(db, shop, blobs=LocalBlobs(tmp_path)).run(**copied.source)
        assert (restored.beside, items_in(db, "shop-leases")) == ((), before)
    assert "CreateTable with a stream" not in sent
    assert "UpdateTable" in sent[max(n for n, name in enumerate(sent) if name == "BatchWriteItem") :]
    assert "UpdateTable" not in sent[: sent.index("BatchWriteItem")]


def test_a_name_that_is_taken_is_refused(copied: Backed) -> None:
    with connect("local") as db:
        db.create(Order(number=70))
        for attempt in (Restore(db, shop).plan, Restore(db, shop).run):
            with pytest.raises(InvalidRequest, match="a table of this name is there"):
                attempt(**copied.source)
        assert len(list(db.scan(Order))) == 1
        with pytest.raises(InvalidRequest, match="has one source"):
            Restore(db, shop).run()


def killed_at(db: Database, monkeypatch: pytest.MonkeyPatch, step: int, restore: Restore, source: Any) -> bool:
    """Whether the process ended before a step: a request, or calls of functions."""
    steps, call_all = 0, db.port.call_all

    def happens(_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == step:
            raise Killed

    async def watched(calls: Any) -> Any:
        happens(calls)
        return await call_all(calls)

    with monkeypatch.context() as patched:
        before_each(db, patched, happens)
        patched.setattr(db.port, "call_all", watched)
        try:
            restore.run(**source)
        except Killed:
            return True
    return False


def test_a_copy_that_is_killed_goes_on(copied: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 24, 28, 33, 38, 44)
    kills = 0
    with connect("local") as db:
        for step in steps:
            blobs, to = LocalBlobs(tmp_path / f"blobs{step}"), f"shop-{step}"
            restore = Restore(db, shop, to=to, blobs=blobs)
            kills += killed_at(db, monkeypatch, step, restore, copied.source)
            restore.run(**copied.source)
            copied.is_back(db, to, blobs)
            assert items_in(db, f"{to}-leases") == copied.leases
    assert kills >= 10


def test_from_a_backup(moto: Backed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before each of its first requests, under names of its own. The contents stayed in the store."""
    db, kills = moto.db, 0
    for step in range(1, 60, 3):
        restore = Restore(db, shop, to=f"shop-{step}", blobs=moto.blobs)
        was_killed = killed_at(db, monkeypatch, step, restore, moto.source)
        kills += was_killed
        restored = restore.run(**moto.source) if was_killed else None
        moto.is_back(db, f"shop-{step}", moto.blobs)
        assert items_in(db, f"shop-{step}-leases") == moto.leases
        settings = db.run(settings_of(db, f"shop-{step}"))
        assert (settings.point_in_time_recovery, settings.tags) == (True, {"team": "shop"})
        if restored is None:
            break
    assert kills >= 10
    restored = restore.run(**moto.source)
    assert "nothing was done now" in restored.notes[0]


def test_a_backup_whose_answer_is_lost_is_kept(moto: Backed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service has it. The same command makes another one, and the contents of both are kept."""
    db, pages, backups = moto.db, Documents(moto.db, Page, blobs=moto.blobs), Backups(moto.db, shop, blobs=moto.blobs)
    pages.create("o1", "p2")
    pages.apply("p2", [write(id="c1", text="Tuesday " * 80).by("ada", 1)])
    kept = contents_in(moto.blobs)
    for request, error in (("CreateBackup", Denied), ("DescribeBackup", Unavailable), ("CreateBackup", Denied)):
        with monkeypatch.context() as patched:
            before_each(db, patched, partial(fail_at, request, error))
            with pytest.raises(error):
                backups.create("tuesday")
        is_open = list(moto.blobs.list("=backups/open/")) != []
        assert is_open == any(backup.name == "tuesday" for backup in backups.list())
    pages.delete("p2")
    assert contents_in(moto.blobs) == kept
    second = backups.create("tuesday")
    assert list(moto.blobs.list("=backups/open/")) == []
    first, _ = named = [backup for backup in backups.list() if backup.name == "tuesday"]
    assert named[1] == second
    backups.delete(second.arn)
    assert contents_in(moto.blobs) == kept
    backups.delete(first.arn)
    assert contents_in(moto.blobs) != kept


def test_a_backup_that_another_one_of_its_name_ended_says_so(moto: Backed, monkeypatch: pytest.MonkeyPatch) -> None:
    """They share the marker that keeps everything: what was deleted after the first one's end is missing."""
    backups = Backups(moto.db, shop, blobs=moto.blobs)

    def another_ends(operation: Any) -> None:
        if operation.request().operation == "DescribeBackup":
            for path in list(moto.blobs.list("=backups/open/")):
                moto.blobs.delete(path)

    with monkeypatch.context() as patched:
        before_each(moto.db, patched, another_ends)
        with pytest.raises(Conflict, match="another backup named 'friday' ended while this one was made"):
            backups.create("friday")
    for backup in [*backups.list()]:
        if backup.name == "friday":
            backups.delete(backup.arn)
    backups.delete(backups.create("friday").arn)


def fail_at(name: str, error: type[SingletableError], operation: Any) -> None:
    if operation.request().operation == name:
        raise error("it was refused, or its answer lost")


def test_a_backup_has_the_leases_of_its_own(moto: Backed) -> None:
    """Two have one name, and the first has none: the second's are not deleted with it."""
    db, backups = moto.db, Backups(moto.db, shop, blobs=moto.blobs)
    first = db.run(begin_backup(db.port, "shop", "nightly"))
    second = backups.create("nightly")
    backups.delete(first)
    assert [known.name for known in db.run(list_backups(db.port, "shop-leases"))].count("nightly") == 1
    backups.delete(second.arn)
    assert "nightly" not in [known.name for known in db.run(list_backups(db.port, "shop-leases"))]


def test_to_a_time(moto: Backed, monkeypatch: pytest.MonkeyPatch) -> None:
    db, restore = moto.db, Restore(moto.db, shop, to="shop-latest", blobs=moto.blobs)
    assert killed_at(db, monkeypatch, 5, restore, {"at": "latest"})
    assert items_in(db, "shop-latest")  # the service made it, and it has no record yet
    restored = restore.run(at="latest")
    assert (restored.source, restored.beside) == ("shop as late as it can be", ())
    assert restored.notes == ("shop-leases is not brought back: its recovery is off",)
    Backups(db, shop).switch_recovery(True)
    restored = Restore(db, shop, to="shop-later", blobs=moto.blobs).run(at="latest")
    assert restored.beside == ("shop-later-leases",)
    assert items_in(db, "shop-later-leases") == moto.leases
    assert db.get(Order.by_number(1)) == Order(number=1)
    then = datetime.now(timezone.utc)
    taken: list[tuple[str, Any]] = [("shop-later", then), ("shop", "latest")]
    for to, at in taken:  # another restore made it, or it is the live one
        with pytest.raises(InvalidRequest, match="this restore has not made it"):
            Restore(db, shop, to=to, blobs=moto.blobs).run(at=at)
    with pytest.raises(InvalidRequest, match="has a zone"):
        Restore(db, shop, to="shop-then", blobs=moto.blobs).run(at=datetime(2026, 11, 20))


def test_leases_that_have_no_such_time_stay_behind(moto: Backed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan says it, where the restore was refused after the table was there."""
    db, now = moto.db, datetime.now(timezone.utc)
    reach = {"shop": now - timedelta(days=30), "shop-leases": now - timedelta(minutes=1)}

    async def recovery(port: Any, table: str) -> Recovery:
        return Recovery(True, reach[table], now)

    monkeypatch.setattr(backups_of_tables, "recovery", recovery)
    restore = Restore(db, shop, to="shop-old", blobs=moto.blobs)
    plan = restore.plan(at=now - timedelta(days=2))
    restored = restore.run(at=now - timedelta(days=2))
    assert "beside" not in [step.name for step in plan.steps]
    assert restored.beside == ()
    assert plan.notes == restored.notes
    assert "shop-leases is not brought back: its recovery has" in plan.notes[0]
    with pytest.raises(InvalidRequest, match="has a zone"):
        Restore(db, shop, to="shop-naive", blobs=moto.blobs).plan(at=datetime(2026, 11, 20))


@pytest.mark.parametrize("names", [{}, {"shop": "shop-7"}])
def test_a_point_in_time_is_told_from_others(names: dict[str, str]) -> None:
    """Before there is a record: the service's summary says from what it made a table, by its name in the account."""
    moment, there = datetime(2026, 11, 20, tzinfo=timezone.utc), names.get("shop", "shop")
    arn = f"arn:aws:dynamodb:x:1:table/{there}"
    db = connect("http://127.0.0.1:9", tables=names)
    source = ServiceSource(db.port, shop, at=moment)

    def made(to: str = "shop-monday", at: float = moment.timestamp(), **summary: str) -> bool:
        summed = {"SourceTableArn": arn, "RestoreDateTime": at, **summary}
        return source.has_made({"TableArn": arn.replace(there, to), "RestoreSummary": summed})

    assert made()
    assert not made(there)
    assert not made(at=moment.timestamp() - 60)
    assert not made(SourceBackupArn=f"{arn}/backup/1")
    assert not made(SourceTableArn=f"{arn}s")


def test_a_table_that_the_service_still_makes_has_no_record() -> None:
    """It can't be read yet: the service answers that it is missing."""
    with connect("local") as db:
        run = RestoreRun(db.port, shop, "shop-monday", ServiceSource(db.port, shop, backup="arn"))
        live = Description("shop", "", 0, 0, {"TableStatus": "CREATING"})
        assert db.run(run._record(live)) is None


def test_from_an_export(copied: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = datetime(2026, 11, 20, tzinfo=timezone.utc)
    lease = {"pk": {"S": "_migration"}, "sk": {"S": "apply#lease"}, "_type": {"S": "_apply"}, "fence": {"N": "1"}}
    export = write_full(tmp_path, "shop", [lease, *copied.items.values()], at=at)  # the lease stays behind
    source = {"export": [str(export)], "contents": copied.source["contents"]}
    with connect("local") as db:
        for step in (5, 8, 11, 14):
            blobs, to = LocalBlobs(tmp_path / f"blobs{step}"), f"shop-{step}"
            restore = Restore(db, shop, to=to, blobs=blobs)
            assert killed_at(db, monkeypatch, step, restore, source)
            restored = restore.run(**source)
            copied.is_back(db, to, blobs)
            assert restored.notes == ("shop-leases is not brought back: the export has not this table",)


def test_what_a_killed_restore_could_not_bring_back_is_told_by_the_next(
    copied: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so once it has ended, and each time after that."""
    shutil.copytree(copied.source["contents"], tmp_path / "from")
    (lost, *_) = sorted((tmp_path / "from").glob("o1/**/*.json.gz"))
    lost.write_bytes(b"no gzip")
    source: dict[str, Any] = {"copy": copied.db, "contents": tmp_path / "from"}

    async def kill(run: RestoreRun) -> None:
        raise Killed

    with connect("local") as db:
        restore = Restore(db, shop, to="shop-monday", blobs=LocalBlobs(tmp_path / "blobs"))
        with monkeypatch.context() as patched:
            patched.setattr(RestoreRun, "_settings", kill)
            with pytest.raises(Killed):
                restore.run(**source)
        wanted = f"the content {lost.relative_to(tmp_path / 'from')} can't be read in the source, and is missing"
        assert restore.run(**source).notes == (wanted,)
        assert restore.run(**source).notes[1:] == (wanted,)
    model, folder = "tests.exchange.restored:shop", copied.blobs.directory.parent / "monday"
    (tmp_path / "again").mkdir()
    bare = ["restore", model, "--copy", str(folder), "--db", f"local:{tmp_path / 'cli.db'}", "--dry-run"]
    assert "no blob store is configured here" in " ".join(CliRunner().invoke(program, bare).output.split())
    options = ["--copy", str(folder), "--contents", str(tmp_path / "from"), "--blobs", str(tmp_path / "again")]
    command = ["restore", model, "--to", "shop-cli", "--db", f"local:{tmp_path / 'cli.db'}", *options]
    said = CliRunner().invoke(program, command)
    assert (said.exit_code, wanted in " ".join(said.output.split())) == (1, True), said.output


def test_leases_without_a_backup_of_the_name_stay_behind(moto: Backed) -> None:
    arn = moto.db.run(begin_backup(moto.db.port, "shop", "alone"))
    plan = Restore(moto.db, shop, to="shop-alone", blobs=moto.blobs).plan(backup=arn)
    assert plan.notes == ("shop-leases is not brought back: no backup of it is named alone",)


def test_nothing_is_deleted_from_the_begin_of_a_restore_on(
    copied: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The live table deletes the document, and collects, while the items of the other one are put."""
    blobs = LocalBlobs(tmp_path / "blobs")
    with connect(f"local:{tmp_path / 'new.db'}") as db:
        monkeypatch.setattr(db.port, "sleep", nobody_waits)
        Restore(db, shop, blobs=blobs).run(**copied.source)
        restore = Restore(db, shop, to="shop-monday", blobs=blobs)
        source: dict[str, Any] = {"copy": copied.db}
        made = CopySource.make

        async def failing(*_: Any) -> None:
            raise Denied("no such backup")

        monkeypatch.setattr(CopySource, "make", failing)
        with pytest.raises(Denied):
            restore.run(**source)
        assert list(blobs.list("=backups/open/")) == []

        async def make(own: CopySource, *given: Any) -> None:
            await made(own, *given)
            if not is_killed:
                Documents(db, Page, blobs=blobs).delete("p1")
                raise Killed

        is_killed = False
        monkeypatch.setattr(CopySource, "make", make)
        with pytest.raises(Killed):
            restore.run(**source)
        is_killed = True
        assert len(list(blobs.list("=backups/open/"))) == 1
        restore.run(**source)
        assert contents_in(blobs) == copied.contents
        assert list(blobs.list("=backups/open/")) == []

        async def killing(*_: Any) -> None:
            raise Killed

        monkeypatch.setattr(CopySource, "make", killing)
        with pytest.raises(Killed):
            Restore(db, shop, to="shop-tuesday", blobs=blobs).run(**source)
        assert Backups(db, shop, blobs=blobs).delete("table shop-tuesday").status == "BEGUN"  # given up
        assert list(blobs.list("=backups/open/")) == []


def test_under_its_own_name_it_collects_garbage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is deleted and restored: it is another one for the store of contents, which knows it by the name."""
    blobs = LocalBlobs(tmp_path / "blobs")
    with MOTO.running() as url, connect(url) as db:
        monkeypatch.setattr(db.port, "sleep", nobody_waits)
        fill(db, blobs)
        pages = Documents(db, Page, blobs=blobs)
        pages.store("p1", Page.cells, [Cell("garbage")])
        assert pages.collect_garbage("p1").deleted == 1
        backup = Backups(db, shop, blobs=blobs).create("monday")
        db.delete_table(shop)
        Restore(db, shop, blobs=blobs).run(backup=backup.arn)
        with pytest.raises(InvalidRequest, match="this restore has not made it"):  # its summary names itself
            Restore(db, shop, blobs=blobs).run(at="latest")
        pages.store("p1", Page.cells, [Cell("more garbage")])
        assert pages.collect_garbage("p1").deleted == 1
        assert pages.head("p1").cells["c1"].text.startswith("text 1")
        assert db.check(shop, pages) == []


def test_what_comes_in_is_held_though_this_program_declares_no_worker(copied: Backed) -> None:
    bare = Table("shop", indexes=["gsi1"])  # its tasks and its stream are declared in another module
    with connect("local") as db:
        Restore(db, bare, to="shop-back").run(copy=copied.db)
        assert held_by(db, "shop-back").startswith("restored from ")
        copy = TableCopy(copied.db, db, bare, to_table="shop-copy")
        assert copy.run(keep_personal=True, dry_run=True).is_held
        assert copy.run(keep_personal=True).is_held
        assert held_by(db, "shop-copy").startswith("copied from ")
        assert not TableCopy(copied.db, db, bare, to_table="shop-free").run(keep_personal=True, hold=False).is_held
        assert not TableCopy(copied.db, db, bare, to_table="shop-slice").run(sample=0.99).is_held  # tasks stay behind


def test_a_restore_that_is_released_in_its_middle_is_held_again(
    copied: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect("local") as db:
        monkeypatch.setattr(db.port, "sleep", nobody_waits)
        restore, table = Restore(db, shop, blobs=LocalBlobs(tmp_path)), Hold(db, shop)
        assert killed_at(db, monkeypatch, 20, restore, copied.source)
        assert len(table.report().unfinished) in (1, 2)  # the restore, and maybe the transfer of its items
        with pytest.raises(Conflict, match="its restore from"):
            table.release()
        assert table.release(unfinished=True).opened_at is not None
        restore.run(**copied.source)
        copied.is_back(db, "shop", LocalBlobs(tmp_path))
        assert table.report().unfinished == ()
        assert table.release().opened_at is not None
