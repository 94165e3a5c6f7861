"""An export as a job has the rows of a plain one: whoever wrote which section, killed or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, InvalidRequest
from singletable.errors import NotFound
from singletable.exchange import DirectoryStore, Exports, Manifest, export, parts, read_manifest
from singletable.exchange.export_job import ExportWork
from singletable.exchange.parts import Parts
from singletable.jobs import Jobs, JobStatus, worker as workers
from singletable.jobs.store import JobStore
from tests.exchange.models import Customer, order, shop
from tests.exchange.test_export import are_same, items_in
from tests.migrations.watching import Killed, before_each, killed_at_every_request
from tests.support.engines import fresh
from tests.support.raw import all_items, put_raw

COUNT = 101
ALL = {"personal": True}


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[order(n) for n in range(COUNT)])
        for n in range(5):
            made.create(Customer(email=f"c{n}@example.org", name=f"n{n}"))
        yield made


def application_items(db: Database) -> list[Any]:
    return [item for item in db.run(all_items(db.port, shop.name)) if not item["_type"]["S"].startswith("_job")]


def files_in(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def is_whole(db: Database, directory: Path, done: JobStatus) -> Manifest:
    """The export has each item once, and the folder no file beside those of the manifest, and of the one before."""
    manifest = read_manifest(DirectoryStore(directory))
    assert done.result is not None
    assert (done.state, done.result["id"], done.result["found"]) == ("ended", manifest.id, manifest.unknown)
    assert {d.name: d.rows for d in manifest.datasets} == done.result["rows"]
    named = {file.path for dataset in manifest.datasets for file in dataset.files}
    before = f"{manifest.previous}/"
    assert {path for path in files_in(directory) if not path.startswith(before)} == {*named, "manifest.json"}
    return manifest


@pytest.mark.parametrize("sections", [1, 3])
def test_it_has_what_a_plain_export_has(db: Database, tmp_path: Path, sections: int) -> None:
    plain = Exports(db, shop).export(tmp_path / "plain").manifest
    jobs = Jobs(db, shop)
    done = jobs.run(jobs.begin("export", {"to": str(tmp_path / "job"), **ALL}, sections=sections).id)
    manifest = is_whole(db, tmp_path / "job", done)
    assert plain is not None
    assert are_same(items_in(tmp_path / "job"), application_items(db))
    assert {d.name: (d.rows, d.digest, d.columns, d.left_out) for d in manifest.datasets} == {
        d.name: (d.rows, d.digest, d.columns, d.left_out) for d in plain.datasets
    }
    assert (manifest.fingerprint, manifest.source) == (plain.fingerprint, plain.source)
    assert done.read_units > 0
    assert db.check(shop) == []


@pytest.mark.parametrize("format", ["jsonl", "csv", "csv-escaped", "arrow"])
def test_each_format(db: Database, tmp_path: Path, format: Any) -> None:
    jobs = Jobs(db, shop)
    done = jobs.run(jobs.begin("export", {"to": str(tmp_path), "format": format, **ALL}, sections=2).id)
    manifest = is_whole(db, tmp_path, done)
    assert (manifest.format, manifest.dataset("order").rows) == (format, COUNT)


def test_a_file_ends_after_so_many_items(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "SECTION_ITEMS", 20)
    monkeypatch.setattr(ExportWork, "page", 10)
    jobs = Jobs(db, shop)
    done = jobs.run(jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=1).id)
    manifest = is_whole(db, tmp_path, done)
    assert len(manifest.dataset("order").files) >= 5
    assert are_same(items_in(tmp_path), application_items(db))


def test_killed_at_every_request_it_has_each_item_once(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed worker has written, and not kept, is in no manifest, and is gone at the end."""
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(export, "SECTION_ITEMS", 40)
    monkeypatch.setattr(ExportWork, "page", 20)
    Exports(db, shop).export(tmp_path)
    before, jobs, ended = read_manifest(DirectoryStore(tmp_path)), Jobs(db, shop), list[JobStatus]()

    def run(kills: int) -> None:
        if not ended:
            assert read_manifest(DirectoryStore(tmp_path)).id in (before.id, *ids)
        job = jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=2)
        ids.add(f"{job.begun_at:%Y%m%dT%H%M%SZ}-{job.id[-6:]}")
        ended.append(jobs.run(job.id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False))

    ids = set[str]()
    assert killed_at_every_request(db, monkeypatch, run) > 20
    manifest = is_whole(db, tmp_path, ended[-1])
    assert manifest.previous in {before.id, *ids}  # a kill after the last write ends a job, and another begins
    assert are_same(items_in(tmp_path), application_items(db))


def test_killed_at_every_file_it_has_each_item_once(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after each write of a file, the manifest's too."""
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(export, "SECTION_ITEMS", 60)
    monkeypatch.setattr(ExportWork, "page", 30)
    jobs, keep, waited, kills = Jobs(db, shop), DirectoryStore.keep, 0.0, 0
    left = 0

    async def sleep(seconds: float) -> None:
        nonlocal waited
        waited += seconds

    def kill_or_keep(self: Any, path: str, draft: Path) -> int:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed
        size = keep(self, path, draft)
        left -= 1
        if left == 0:
            raise Killed
        return size

    monkeypatch.setattr(db.port, "sleep", sleep)
    monkeypatch.setattr(db.port, "monotonic", lambda: waited)
    monkeypatch.setattr(DirectoryStore, "keep", kill_or_keep)
    job = jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=2)
    while True:
        left = kills + 1
        try:
            done = jobs.run(job.id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False)
        except Killed:
            kills += 1
            continue
        break
    assert kills >= 8
    is_whole(db, tmp_path, done)
    assert are_same(items_in(tmp_path), application_items(db))


def test_stopped_it_keeps_its_files_and_another_goes_on(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ExportWork, "page", 10)
    jobs, rounds, pages = Jobs(db, shop), iter([False] * 5), list[Any]()
    job = jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=1)
    halfway = jobs.run(job.id, at_once=1, stop=lambda: next(rounds, True))
    assert (halfway.state, halfway.held, halfway.seen) == ("running", (), 40)
    assert "manifest.json" not in files_in(tmp_path)
    with monkeypatch.context() as patched:
        before_each(db, patched, lambda operation: pages.append(operation))
        done = jobs.run(job.id, at_once=1)
    assert sum(type(one).__name__ == "Scan" for one in pages) < 9
    is_whole(db, tmp_path, done)
    assert are_same(items_in(tmp_path), application_items(db))


def test_a_cancelled_one_leaves_the_export_before(db: Database, tmp_path: Path) -> None:
    Exports(db, shop).export(tmp_path)
    before, jobs = read_manifest(DirectoryStore(tmp_path)), Jobs(db, shop)
    job = jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=2)
    jobs.cancel(job.id)
    assert jobs.run(job.id).state == "cancelled"
    assert read_manifest(DirectoryStore(tmp_path)) == before


def test_a_cap_is_kept(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs = Jobs(db, shop)
    job = jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=4, read_cap=20.0)
    with db.meter() as meter:
        paused = jobs.run(job.id, at_once=1, stop=lambda: jobs.show(job.id).state == "paused")
    assert paused.state == "paused"
    assert meter.by_operation["Scan"].read_units <= 20.0
    jobs.resume(job.id, read_cap=10_000.0)
    is_whole(db, tmp_path, jobs.run(job.id))
    assert are_same(items_in(tmp_path), application_items(db))


def test_an_error_leaves_nothing_half_written(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExportWork, "page", 20)
    jobs, left = Jobs(db, shop), [2]
    job = jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=1)

    def refuse(operation: Any) -> None:
        if type(operation).__name__ == "Scan":
            left[0] -= 1
            if not left[0]:
                raise NotFound("no such table", table=shop.name)

    monkeypatch.setattr(parts, "BUFFERED_BYTES", 0)
    with monkeypatch.context() as patched:
        before_each(db, patched, refuse)
        with pytest.raises(NotFound):
            jobs.run(job.id, at_once=1)
    assert files_in(tmp_path) == set()
    is_whole(db, tmp_path, jobs.run(job.id))


def test_a_worker_that_stood_still_at_the_end_writes_no_manifest(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has all files, and stands still. Another takes the end."""
    jobs, store, still = Jobs(db, shop), JobStore(db.port, shop), 0.0
    job = jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=2)
    monotonic, check = db.port.monotonic, ExportWork._check

    def stand_still(self: Any, paths: Any) -> None:
        nonlocal still
        check(self, paths)
        end = db.run(store.parts(job.id, [2]))[2]
        assert db.run(store.take(job.id, 2, end, "another")) is not None
        still = 100.0

    monkeypatch.setattr(db.port, "monotonic", lambda: monotonic() + still)
    with monkeypatch.context() as patched:
        patched.setattr(ExportWork, "_check", stand_still)
        status = jobs.run(job.id, at_once=1, stop=lambda: still > 0)
    assert (status.state, "manifest.json" in files_in(tmp_path)) == ("running", False)


def test_what_no_class_explains_is_told(db: Database, tmp_path: Path) -> None:
    db.run(put_raw(db.port, Customer, {"pk": {"S": "x"}, "sk": {"S": "x"}, "_type": {"S": "of nobody"}}))
    jobs = Jobs(db, shop)
    done = jobs.run(jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=2).id)
    assert is_whole(db, tmp_path, done).unknown == 1


def test_a_worker_with_another_folder_is_noticed(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place has the same name on each machine, and is not the same: the files of one are missing."""
    jobs, close = Jobs(db, shop), Parts.close
    job = jobs.begin("export", {"to": str(tmp_path), **ALL}, sections=1)

    def close_elsewhere(self: Parts) -> None:
        close(self)
        for path in tmp_path.rglob("part-*"):
            path.unlink()

    monkeypatch.setattr(Parts, "close", close_elsewhere)
    with pytest.raises(InvalidRequest, match=r"lacks .*, which a worker has written"):
        jobs.run(job.id)
    assert "manifest.json" not in files_in(tmp_path)


def test_what_can_not_be_exported_so_is_refused(db: Database, tmp_path: Path) -> None:
    from tests.erasure.models import shop as personal

    with pytest.raises(InvalidRequest, match="masks does not run as a job"):
        Jobs(db, personal).begin("export", {"to": str(tmp_path)})
    with pytest.raises(InvalidRequest, match="not options of this job"):
        Jobs(db, shop).begin("export", {"to": str(tmp_path), "format": "xml"})
    with pytest.raises(InvalidRequest, match="not options of this job"):
        Jobs(db, shop).begin("export")
    with pytest.raises(InvalidRequest, match="not a place of an export"):
        Jobs(db, shop).begin("export", {"to": "ftp://there"})
    assert Jobs(db, shop).all() == []
