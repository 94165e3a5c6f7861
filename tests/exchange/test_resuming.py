"""Exports that are killed go on and end with the same files, byte for byte; nothing is left half-written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from singletable import Database, NotFound
from singletable.errors import Corrupt, Denied, InvalidRequest, Unavailable
from singletable.exchange import DirectoryStore, Exports, Manifest, datasets_of, export, read_manifest
from singletable.exchange.formats import FORMATS
from singletable.exchange.manifest import MANIFEST, DataFile, write_manifest
from singletable.exchange.unfinished import UNFINISHED, StateFile
from tests.exchange import processes
from tests.exchange.models import Order, order, shop
from tests.support.children import KILLED, run_child
from tests.support.engines import fresh
from tests.support.sampling import sampled

COUNT = 600


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[_order(n) for n in range(COUNT)])
        yield made
        assert made.check(shop) == []


def _order(number: int) -> Order:
    """One in fifty has a number beyond its column."""
    made = order(number)
    if number % 50 == 0:
        made.total = Decimal(10) / 3
    return made


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE_ITEMS", processes.PAGE)
    monkeypatch.setattr(export, "SECTION_ITEMS", processes.SECTION)


def files_of(directory: Path) -> dict[str, tuple[int, int, int, str]]:
    """The files that the manifest names: rows, cells left out, bytes and a digest of each, without the id in their
    paths."""
    manifest = read_manifest(DirectoryStore(directory))
    return {
        file.path.removeprefix(f"{manifest.id}/"): (
            file.rows,
            sum(each.cells for each in (file.left_out or {}).values()),
            file.bytes,
            hashlib.sha256((directory / file.path).read_bytes()).hexdigest(),
        )
        for dataset in manifest.datasets
        for file in dataset.files
    }


def everything_in(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("format", sampled(FORMATS, 4))
def test_killed_at_random_it_ends_with_the_same_files(db: Database, tmp_path: Path, format: str) -> None:
    Exports(db, shop).export(tmp_path / "whole", format=format, keys=True, segments=2)  # type: ignore[arg-type]
    expected = files_of(tmp_path / "whole")
    assert len(expected) == 1 + COUNT // processes.SECTION
    assert sum(left_out for _, left_out, _, _ in expected.values()) == COUNT // 50
    random, kills, to = Random(format), 0, tmp_path / "killed"
    while run_child(processes.write, db.target.endpoint.url, str(to), format, dies_at=_point(random)) == KILLED:
        kills += 1
        assert not (to / MANIFEST).exists()
        assert kills < 40
    assert kills > 0
    assert files_of(to) == expected
    manifest = read_manifest(DirectoryStore(to))
    assert everything_in(to) == {MANIFEST, *(f.path for d in manifest.datasets for f in d.files)}


def _point(random: Random) -> str:
    return f"request.{random.choice(('before', 'after'))}:{random.randrange(6, 30)}"


class Stopped(Exception):
    """Where an export is ended."""


def test_what_an_older_version_began_has_no_count(db: Database, tmp_path: Path) -> None:
    def stop(at: object) -> None:
        if json.loads((tmp_path / UNFINISHED).read_text())["files"]:
            raise Stopped

    with pytest.raises(Stopped):
        Exports(db, shop).export(tmp_path, progress=stop)
    state = json.loads((tmp_path / UNFINISHED).read_text())
    for file in state["files"]["order"]:
        del file["left_out"]
    (tmp_path / UNFINISHED).write_text(json.dumps(state))
    done = Exports(db, shop).export(tmp_path)
    assert done.manifest is not None
    assert (done.resumed, done.left_out, done.manifest.dataset("order").left_out) == (True, None, None)
    assert Exports(db, shop).export(tmp_path).left_out == COUNT // 50


def test_readers_see_the_export_before_until_the_next_is_whole(db: Database, tmp_path: Path) -> None:
    exports, store = Exports(db, shop), DirectoryStore(tmp_path)
    first = exports.export(tmp_path).manifest
    assert first is not None
    seen: list[Manifest] = []
    second = exports.export(tmp_path, progress=lambda _: seen.append(read_manifest(store))).manifest
    assert second is not None
    assert seen == [first] * len(seen)
    assert (second.previous, all((tmp_path / path).exists() for path in paths_of(first))) == (first.id, True)
    exports.export(tmp_path)
    assert not (tmp_path / first.id).exists()


def paths_of(manifest: Manifest) -> list[str]:
    return [file.path for dataset in manifest.datasets for file in dataset.files]


class FullDisk(DirectoryStore):
    """A directory whose disk is full after so many files: what is written goes to /dev/full."""

    left = 3

    def draft(self, path: str) -> Path:
        draft = super().draft(path)
        self.left -= 1
        if self.left < 0:
            draft.symlink_to("/dev/full")
        return draft


def test_a_full_disk(db: Database, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="the disk is full"):
        Exports(db, shop).export(FullDisk(tmp_path), keys=True)
    assert not (tmp_path / MANIFEST).exists()
    assert not [name for name in everything_in(tmp_path) if ".writing" in name]
    done = Exports(db, shop).export(tmp_path, keys=True)
    assert (done.resumed, done.items) == (True, COUNT)


def test_a_directory_that_refuses(db: Database, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        (tmp_path / "try").mkdir()
    except PermissionError:
        with pytest.raises(Denied, match="refused to write"):
            Exports(db, shop).export(tmp_path / "inside")
    else:
        pytest.skip("this user may write anywhere")
    finally:
        tmp_path.chmod(0o700)


def test_a_missing_manifest(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="singletable export MODULE --to DIR"):
        read_manifest(DirectoryStore(tmp_path))


@pytest.mark.parametrize("text", ["", "{", '{"format_version": 1}', '{"format_version": 99}', "\udcff"])
def test_a_manifest_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(Corrupt, match=MANIFEST):
        read_manifest(DirectoryStore(tmp_path))


@pytest.mark.parametrize("path", ["/etc/passwd", "../other/part-00000.parquet", "a/../../b", "..\\b"])
def test_a_manifest_that_names_other_files(db: Database, tmp_path: Path, path: str) -> None:
    manifest = Exports(db, shop).export(tmp_path).manifest
    assert manifest is not None
    (first, *rest) = manifest.datasets
    hostile = replace(manifest, datasets=(replace(first, files=(DataFile(path, 1, 1),)), *rest))
    write_manifest(DirectoryStore(tmp_path), hostile)
    with pytest.raises(Corrupt, match=r"can't be read.*`\$.datasets\[0\].files\[0\].path`"):
        read_manifest(DirectoryStore(tmp_path))


def test_a_run_that_was_killed_after_its_manifest_is_done(db: Database, tmp_path: Path) -> None:
    """Its files stay, those of classes without items among them, and so does the export before it."""
    first = Exports(db, shop).export(tmp_path).manifest
    states: list[bytes] = []
    done = Exports(db, shop).export(tmp_path, progress=lambda _: states.append(_state(tmp_path)))
    before = everything_in(tmp_path)
    (tmp_path / UNFINISHED).write_bytes(states[-1])
    again = Exports(db, shop).export(tmp_path)
    assert first is not None
    assert (again.id, again.resumed, again.manifest) == (done.id, True, done.manifest)
    assert everything_in(tmp_path) == before
    assert (tmp_path / first.id).exists()


def _state(folder: Path) -> bytes:
    """How far an export has come, but that all of its segments are over."""
    state = StateFile(DirectoryStore(folder), None).read()
    assert state is not None
    state.segments = dict.fromkeys(state.segments, ())
    return msgspec.json.encode(state)


def test_a_class_that_changed_is_named(db: Database, tmp_path: Path) -> None:
    manifest = Exports(db, shop).export(tmp_path).manifest
    assert manifest is not None
    assert manifest.changed(datasets_of(shop)) == ()
    first, *rest = datasets_of(shop)
    assert manifest.changed(rest) == (first.entity,)


def test_another_export_does_not_go_on_with_this_one(db: Database, tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        Exports(db, shop).export(FullDisk(tmp_path), keys=True)
    done = Exports(db, shop).export(tmp_path, format="csv")
    assert (done.resumed, done.items) == (False, COUNT)
    assert everything_in(tmp_path) == {MANIFEST, *paths_of(read_manifest(DirectoryStore(tmp_path)))}


def test_what_cannot_be(db: Database, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no format 'xml'"):
        Exports(db, shop).export(tmp_path, format="xml")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="1 to 16 segments"):
        Exports(db, shop).export(tmp_path, segments=17)
    with pytest.raises(InvalidRequest, match="s3://BUCKET/PREFIX"):
        Exports(db, shop).export("gs://bucket/x")
