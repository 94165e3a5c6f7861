"""Folders that somebody else has written: what they say is checked before memory or files are touched."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import Database, NotFound, Unavailable
from singletable.errors import Corrupt, SingletableError
from singletable.exchange import DirectoryStore, Exports, Imports, ObjectStore, gate, read_manifest
from singletable.exchange.manifest import MANIFEST
from singletable.exchange.unfinished import UNFINISHED
from singletable.reports import open_export
from tests.exchange.models import Customer, order, shop
from tests.support.engines import fresh

COUNT = 30
NOW = "2026-01-01T00:00:00Z"
ID = "20260101T000000Z-abc123"


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[order(n) for n in range(COUNT)])
        yield made


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder beside the export's, and its link to it; whatever is done, its files stay."""
    folder = tmp_path / "victim"
    (folder / "sub").mkdir(parents=True)
    files = [folder / "a.txt", folder / "sub" / "b.txt"]
    for file in files:
        file.write_text("x")
    (tmp_path / "export").mkdir()
    yield tmp_path / "export"
    assert [file.read_text() for file in files] == ["x", "x"]


def unfinished(**said: Any) -> str:
    return json.dumps({"id": ID, "begun_at": NOW, "made_for": {}, "segments": {}, **said})


IDS = ["../victim", "", ".", "/", "sub/../..", f"{ID}/../../victim", "..\\victim", f"{ID}\n", "customer", "C:", "\x00"]


@pytest.mark.parametrize("id", IDS)
def test_an_unfinished_export_of_another_folder_deletes_nothing(db: Database, victim: Path, id: str) -> None:
    (victim / "customer").mkdir()
    (victim / "customer/own.txt").write_text("x")
    (victim / UNFINISHED).write_text(unfinished(id=id))
    with pytest.raises(Corrupt, match=r"unfinished.json in .* can't be read.*`\$.id`.*--anew"):
        Exports(db, shop).export(victim)
    assert (victim / UNFINISHED).exists()
    assert Exports(db, shop).export(victim, anew=True).items == COUNT
    assert (victim / "customer/own.txt").exists()


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ({"files": {"customer": [{"path": "../victim/a.txt", "rows": 1, "bytes": 1}]}}, "path"),
        ({"files": {"../victim": []}}, "files"),
        ({"files": {"customer": [{"path": f"{ID}/customer/part-0.parquet", "rows": -1, "bytes": 1}]}}, "rows"),
        ({"items": -1}, "items"),
        ({"items": 1 << 63}, "items"),
        ({"segments": {"shop": [{"number": "0", "of": 1}]}}, "number"),
        ({"segments": {"shop": [[]] * 9}}, "segments"),
    ],
    ids=lambda said: str(said)[:40],
)
def test_what_no_unfinished_export_says(db: Database, victim: Path, said: dict[str, Any], at: str) -> None:
    (victim / UNFINISHED).write_text(unfinished(**said))
    with pytest.raises(Corrupt, match=at):
        Exports(db, shop).export(victim)


def killed(db: Database, folder: Path) -> Any:
    """The state of an export that was ended after its first section, in its folder."""

    def end(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Exports(db, shop).export(folder, progress=end)
    return json.loads((folder / UNFINISHED).read_text())


@pytest.mark.parametrize("number", [-1, 1])
def test_an_export_goes_on_with_its_own_parts_only(db: Database, tmp_path: Path, number: int) -> None:
    state = killed(db, tmp_path)
    (table,) = state["segments"]
    (tmp_path / UNFINISHED).write_text(json.dumps({**state, "segments": {table: [{"number": number, "of": 1}]}}))
    done = Exports(db, shop).export(tmp_path)
    assert (done.resumed, done.items) == (False, COUNT)


def test_an_unfinished_export_of_an_older_version_begins_again(db: Database, tmp_path: Path) -> None:
    """It had a list of its segments, finished ones among them. Its files go."""
    state = killed(db, tmp_path)
    (table,) = state.pop("segments")
    lanes = [{"table": table, "segment": 0, "segments": 1, "after": None, "is_over": True}]
    (tmp_path / UNFINISHED).write_text(json.dumps({**state, "lanes": lanes}))
    left = tmp_path / state["id"] / "customer" / "part-00000.parquet"
    left.parent.mkdir(parents=True)
    left.touch()
    done = Exports(db, shop).export(tmp_path)
    assert (done.resumed, done.items) == (False, COUNT)
    assert not left.exists()


def test_a_kept_file_that_is_gone_is_named(db: Database, tmp_path: Path) -> None:
    state = killed(db, tmp_path)
    path = f"{state['id']}/customer/part-00000.parquet"
    files = {"customer": [{"path": path, "rows": 1, "bytes": 1}]}
    (tmp_path / UNFINISHED).write_text(json.dumps({**state, "files": files}))
    with pytest.raises(Unavailable, match=path):
        Exports(db, shop).export(tmp_path)


def test_links_lead_nowhere(db: Database, victim: Path) -> None:
    outside = victim.parent / "victim"
    (victim / ID).symlink_to(outside)
    (victim / UNFINISHED).write_text(unfinished())
    with pytest.raises(Corrupt, match="link to files outside"):
        Exports(db, shop).export(victim)
    (victim / UNFINISHED).unlink()
    done = Exports(db, shop).export(victim)
    assert done.manifest is not None
    file = done.manifest.dataset("customer").files[0].path
    for path in (file, MANIFEST):
        (victim / path).unlink()
        (victim / path).symlink_to(outside / "a.txt")
        with pytest.raises(Corrupt, match="link to files outside"):
            DirectoryStore(victim).fetch(path)
    with pytest.raises(Corrupt, match="link to files outside"):
        read_manifest(DirectoryStore(victim))
    (victim / ".exporting").symlink_to(outside / "made")
    with pytest.raises(Unavailable, match="ELOOP"):
        Exports(db, shop).export(victim)
    assert not (outside / "made").exists()


def test_a_folder_may_be_a_link_itself(db: Database, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Exports(db, shop).export(tmp_path / "link").items == COUNT
    assert read_manifest(DirectoryStore(tmp_path / "link")).rows


def test_a_file_that_the_caller_names_may_be_a_link_of_any_name(db: Database, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/customers").write_text('{"email": "new@example.org", "name": "N"}\n')
    link = tmp_path / "a:b\\c.jsonl"
    link.symlink_to(tmp_path / "real/customers")
    assert Imports(db, shop).run(link, into=Customer, dry_run=True).written == 1


PATHS = ["/etc/passwd", "../a", "a/../../b", "..\\b", "a//b", "./a", "a/.", "C:/a", "a\x00b", "a\nb"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["directory", "bucket"])
def test_no_store_takes_a_path_that_leads_out(tmp_path: Path, path: str, kind: str) -> None:
    store: Any = DirectoryStore(tmp_path / "a") if kind == "directory" else ObjectStore(MemoryStore(), "s3://memory")
    draft = tmp_path / "draft"
    draft.write_bytes(b"x")
    for verb in (store.read, store.fetch, store.delete, lambda path: store.keep(path, draft)):
        with pytest.raises(Corrupt, match="outside of its folder"):
            verb(path)
    if kind == "directory":
        for verb in (store.draft, store.list, lambda path: store.write(path, b"")):
            with pytest.raises(Corrupt, match="outside of its folder"):
                verb(path)


def column(manifest: Any) -> Any:
    return manifest["datasets"][0]["columns"][0]


def first_file(manifest: Any) -> Any:
    return next(d for d in manifest["datasets"] if d["files"])["files"][0]


SLIPS: list[tuple[str, Any, str]] = [
    ("id", lambda m: m.update(id="../victim"), r"\$.id"),
    ("previous", lambda m: m.update(previous="../victim"), r"\$.previous"),
    ("previous folder", lambda m: m.update(previous="customer"), r"\$.previous"),
    ("format", lambda m: m.update(format="exe"), r"\$.format"),
    ("dataset name", lambda m: m["datasets"][0].update(name="../a"), r"\$.datasets\[0\].name"),
    ("dataset twice", lambda m: m["datasets"].append(m["datasets"][0]), "twice"),
    ("column twice", lambda m: m["datasets"][0]["columns"].append(column(m)), "twice"),
    ("file twice", lambda m: m["datasets"][-1].update(files=[first_file(m)] * 2), "twice"),
    ("path", lambda m: first_file(m).update(path="../victim/a.txt"), "path"),
    ("rows", lambda m: first_file(m).update(rows=-1), "rows"),
    ("bytes", lambda m: first_file(m).update(bytes=1 << 70), "bytes"),
    ("type", lambda m: column(m).update(type="decimal128(99, 18)"), "precision"),
    ("deep type", lambda m: column(m).update(type="list<item: " * 33 + "string" + ">" * 33), "32 types in each other"),
    ("long type", lambda m: column(m).update(type="list<item: " * 5_000 + ">" * 5_000), "length <= 20000"),
    ("many columns", lambda m: m["datasets"][0].update(columns=[column(m)] * 10_001), "columns"),
    ("many datasets", lambda m: m.update(datasets=[m["datasets"][0]] * 10_001), "datasets"),
    ("many tables", lambda m: m.update(tables=["t"] * 10_001), "tables"),
]


@pytest.mark.parametrize(("slip", "said"), [each[1:] for each in SLIPS], ids=[each[0] for each in SLIPS])
def test_what_no_manifest_says(db: Database, victim: Path, slip: Any, said: str) -> None:
    Exports(db, shop).export(victim)
    manifest = json.loads((victim / MANIFEST).read_text())
    slip(manifest)
    (victim / MANIFEST).write_text(json.dumps(manifest))
    for use in (
        lambda: read_manifest(DirectoryStore(victim)),
        lambda: Exports(db, shop).export(victim),
        lambda: Imports(db, shop).run(victim, mode="replace", dry_run=True),
        lambda: open_export(victim, shop, as_exported=True),
    ):
        with pytest.raises(Corrupt, match=said):
            use()


@pytest.mark.parametrize("name", [MANIFEST, UNFINISHED])
def test_a_file_beyond_what_an_export_writes_is_not_read(
    db: Database, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(tmp_path / name, "wb") as file:
        os.truncate(file.fileno(), gate.MOST_BYTES + 1)
    tracemalloc.start()
    with pytest.raises(Corrupt, match=rf"{name} has 67,108,865 bytes"):
        Exports(db, shop).export(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
    monkeypatch.setattr(gate, "MOST_BYTES", 10)
    store = ObjectStore(MemoryStore(), "s3://memory")
    store.write(name, b"x" * 11)
    with pytest.raises(Corrupt, match="has 11 bytes"):
        store.read(name)


def test_a_folder_without_an_export_is_no_error_of_the_gate(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_manifest(DirectoryStore(tmp_path / "none"))
    assert issubclass(Corrupt, SingletableError)
