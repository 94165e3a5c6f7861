"""Blobs: written once, read as what they were, and one clear error for every one that is not."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tracemalloc
import zlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from singletable import InvalidValue, Unavailable
from singletable.documents import BlobStore, Documents, LocalBlobs
from singletable.documents.canonical_json import JsonCodec
from singletable.documents.contents import Content, Contents, prefix_of
from singletable.errors import Corrupt, NotConfigured, TooLarge
from singletable.operations import DeleteItem, RawCondition
from singletable.operations.answers import RAW
from singletable.records import flows
from singletable.schema import ANY
from singletable.schema.models import model_of
from tests.documents.models import Project, Shape, grow, link_shape, move_shape, note, nothing, put_shape, swallow
from tests.support.engines import fresh

DATA = b'{"text":"hello","x":1,"y":2}'
PATH = "o1/projects/p1/shapes/" + hashlib.sha256(DATA).hexdigest() + ".json.gz"


def test_a_store_writes_once_lists_and_deletes(store: BlobStore) -> None:
    assert store.put("o1/projects/p1/shapes/a", b"first")
    assert not store.put("o1/projects/p1/shapes/a", b"second")
    assert store.put("o1/projects/p%2F10/shapes/b", b"other")
    assert store.put("o1/projects/p1/mutations/c", b"third")
    assert store.get("o1/projects/p1/shapes/a", 100) == b"first"
    assert store.get("o1/projects/p1/shapes/a", 2) == b"fir"
    assert store.get("o1/projects/p1/shapes/z", 100) is None
    assert store.has("o1/projects/p1/shapes/a")
    assert not store.has("o1/projects/p1/shapes/z")
    assert sorted(store.list("o1/projects/p1/")) == ["o1/projects/p1/mutations/c", "o1/projects/p1/shapes/a"]
    assert list(store.list("o1/projects/p%2F10/")) == ["o1/projects/p%2F10/shapes/b"]
    assert list(store.list("o9/projects/p1/")) == []
    store.delete("o1/projects/p1/shapes/a")
    store.delete("o1/projects/p1/shapes/a")
    assert not store.has("o1/projects/p1/shapes/a")


def test_a_blob_is_gzip_of_canonical_json_under_its_hash(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    docs.apply("p1", [put_shape(id="s", shape=Shape(1, 2, "hello")).by("c", 1)])
    store: Any = docs.context.store
    (path,) = store.list("o1/projects/p1/")
    assert path == PATH
    packed = store.get(path, 10_000)
    assert gzip.decompress(packed) == DATA
    assert packed[4:8] == b"\0\0\0\0"  # no time in it: equal contents are equal files


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(DATA, level, mtime=at) for at, level in enumerate((1, 9, 0), 1)],
    ids=["fast", "small", "unpacked"],
)
def test_a_content_that_another_writer_packed_in_other_bytes_is_the_same(
    docs: Documents[Project], packed: bytes
) -> None:
    """Of another version of zlib, level or time: the file stays as it is, and its content is read and referred to."""
    store: Any = docs.context.store
    docs.create("o1", "p1")
    assert store.put(PATH, packed)
    (outcome,) = docs.apply("p1", [put_shape(id="s", shape=Shape(1, 2, "hello")).by("c", 1)])
    assert outcome.status == "applied"
    assert list(store.list("o1/projects/p1/")) == [PATH]
    assert store.get(PATH, 10_000) == packed, "a content is written once"
    assert docs.head("p1").shapes["s"] == Shape(1, 2, "hello")


def test_ids_stay_within_their_folder() -> None:
    assert prefix_of("../o", "projects", "a/b") == "..%2Fo/projects/a%2Fb/"
    assert prefix_of("..", "projects", ".") == "%2E%2E/projects/%2E/"
    assert prefix_of("é", "projects", "a%2Fb") == "%C3%A9/projects/a%252Fb/"
    for wrong in ("", "x" * 300):
        with pytest.raises(InvalidValue):
            prefix_of("o1", "projects", wrong)


def test_ids_of_every_sort_are_documents(store: BlobStore) -> None:
    with fresh() as db:
        docs = Documents(db, Project, blobs=store)
        for id in ("../p1", "a/b", "..", "p#1", "ü ñ", "p1%", "p1"):
            docs.create("o/1", id)
            docs.apply(id, [put_shape(id=f"../{id}", shape=Shape(1, 1)).by("c#1", 1)])
            docs.store(id, Project.shapes, [Shape(2, 2)])
        for id in ("../p1", "a/b", "..", "p#1", "ü ñ", "p1%", "p1"):
            assert docs.head(id).shapes[f"../{id}"] == Shape(1, 1)
            assert docs.collect_garbage(id).deleted == 1
            assert docs.check(id) == []


# --- attacks ----------------------------------------------------------------------------------------------------------
def _bomb() -> bytes:
    packing = zlib.compressobj(1, wbits=31)
    zeros = b"0" * (1 << 20)
    return b"".join([packing.compress(zeros) for _ in range(64)]) + packing.flush()


ATTACKS = {
    "bomb": (_bomb(), "unpacks to more than"),
    "swapped": (gzip.compress(b'{"text":"bye","x":1,"y":2}'), "another content than its name says"),
    "truncated": (gzip.compress(DATA)[:-3], "is cut short"),
    "empty": (b"", "is cut short"),
    "not gzip": (DATA, "is not gzip"),
    "two members": (gzip.compress(DATA) + gzip.compress(DATA), "has more behind its end"),
    "trailing bytes": (gzip.compress(DATA) + b"x", "has more behind its end"),
    "huge": (os.urandom((1 << 20) + 4096), "larger than"),
    "missing": (None, "is not there"),
}


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_directory_that_is_not_mounted_is_told_and_waited_for(tmp_path: Path, is_empty: bool) -> None:
    directory, away = tmp_path / "blobs", tmp_path / "away"
    with fresh() as db:
        docs = Documents(db, Project, blobs=LocalBlobs(directory))
        docs.create("o1", "p1")
        docs.apply("p1", [put_shape(id="s", shape=Shape(1, 2, "hello")).by("c", 1)])
        directory.rename(away)
        if is_empty:
            directory.mkdir()
        with pytest.raises(Unavailable, match=rf"missing or empty: {directory}.*Mount it"):
            docs.head("p1").shapes["s"]
        with suppress(Unavailable):
            docs.collect_garbage("p1")  # a note of it in the empty directory is no content
        with pytest.raises(Unavailable, match="missing or empty"):
            docs.head("p1").shapes["s"]
        docs.submit("p1", [move_shape(id="s", x=3, y=4).by("c", 2)])
        with pytest.raises(Unavailable, match="missing or empty"):
            docs.process("p1")
        shutil.rmtree(directory, ignore_errors=True)
        away.rename(directory)
        assert [outcome.status for outcome in docs.process("p1")] == ["applied"]


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_mutation_is_not_rejected_for_a_content_in_a_directory_that_is_not_mounted(
    tmp_path: Path, is_empty: bool
) -> None:
    directory, away = tmp_path / "blobs", tmp_path / "away"
    with fresh() as db:
        docs = Documents(db, Project, blobs=LocalBlobs(directory))
        docs.create("o1", "p1")
        docs.apply("p1", [put_shape(id="other", shape=Shape(text="other")).by("c", 1)])
        (stored,) = docs.store("p1", Project.shapes, [Shape(1, 2, "hello")])
        docs.submit("p1", [link_shape(id="s", shape=stored).by("c", 2)])
        directory.rename(away)
        if is_empty:
            directory.mkdir()
        with pytest.raises(Unavailable, match="missing or empty"):
            docs.process("p1")
        shutil.rmtree(directory, ignore_errors=True)
        away.rename(directory)
        assert [outcome.status for outcome in docs.process("p1")] == ["applied"]
        assert docs.head("p1").shapes["s"] == Shape(1, 2, "hello")


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_blob_that_is_not_what_it_was_is_one_clear_error_and_nothing_is_lost(store: BlobStore, attack: str) -> None:
    with fresh() as db:
        docs = Documents(db, Project, blobs=store, max_content_bytes=1 << 20)
        docs.create("o1", "p1")
        docs.apply("p1", [put_shape(id="s", shape=Shape(1, 2, "hello")).by("c", 1)])
        good = store.get(PATH, 10_000)
        assert good is not None
        wrong, said = ATTACKS[attack]
        store.delete(PATH)
        if wrong is not None:
            store.put(PATH, wrong)
        with pytest.raises(Corrupt, match=said):
            docs.head("p1").shapes["s"]
        assert [finding.code for finding in docs.check("p1")] == ["blob.wrong"]
        # A fault of the store consumes no id, whatever the mutation makes of it; and only its client waits for it.
        for n, mutation in enumerate((move_shape(id="s", x=3, y=4), swallow(id="s")), 1):
            docs.db.run(_emptied(docs))
            docs.submit("p1", [mutation.by("c", 2), nothing().by("c", 3), note(word="after").by("d", n)])
            with pytest.raises(Corrupt, match=said):
                docs.process("p1")
            assert docs.last_ids("p1", ["c", "d"]) == {"c": 1, "d": n}
        store.delete(PATH)
        store.put(PATH, good)
        assert [(o.client, o.status) for o in docs.process("p1")] == [("c", "applied")] * 2
        assert docs.head("p1").name == "hello"
        assert docs.check("p1") == []


def test_a_bomb_is_unpacked_no_further_than_the_limit(store: BlobStore) -> None:
    most = 1 << 20
    contents, content = Contents(store, prefix_of("o1", "projects", "p1"), most), Content("shapes", b"\0" * 32)
    store.put(contents.path(content), _bomb())
    tracemalloc.start()
    try:
        with pytest.raises(Corrupt, match="unpacks to more than"):
            contents.read(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * most


async def _emptied(docs: Documents[Project]) -> None:
    """Take what waits out of the inbox, as if it had never been submitted."""
    inbox: Any = Project.Inbox
    for row in await flows.read_all(docs.db.port, inbox.by_id("p1", ANY)):
        model: Any = model_of(inbox)
        await docs.db.port.send(DeleteItem(model.table.name, model.key_item(model.key_of(row)), RawCondition(), RAW))


def test_a_foreign_blob_under_the_name_of_a_new_one_is_found_before_the_commit(store: BlobStore) -> None:
    with fresh() as db:
        docs = Documents(db, Project, blobs=store)
        docs.create("o1", "p1")
        store.put(PATH, gzip.compress(b'"somebody else\'s"'))
        docs.submit("p1", [put_shape(id="s", shape=Shape(1, 2, "hello")).by("c", 1)])
        with pytest.raises(Corrupt, match="another content"):
            docs.process("p1")
        assert docs.head("p1").version == 0
        store.delete(PATH)
        assert docs.process("p1")[0].status == "applied"


def test_a_blob_over_the_limit_is_refused_where_it_is_assigned(docs: Documents[Project]) -> None:
    small = Documents(docs.db, Project, blobs=docs.context.store, max_content_bytes=1000)
    small.create("o1", "p1")
    small.apply("p1", [put_shape(id="s", shape=Shape(1, 1, "x" * 500)).by("c", 1)])
    (outcome,) = small.apply("p1", [grow(id="s", times=2).by("c", 2)])
    assert (outcome.status, "the limit is 1000" in (outcome.error or "")) == ("rejected", True)
    with pytest.raises(TooLarge):
        small.submit("p1", [put_shape(id="s", shape=Shape(1, 1, "x" * 5000)).by("c", 3)])


# --- the directory ----------------------------------------------------------------------------------------------------
def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written, synced, linked, its directory synced: in that order, and nothing under its name before."""
    steps: list[str] = []
    real_fsync, real_link = os.fsync, os.link

    def fsync(handle: int) -> None:
        steps.append("directory" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        real_fsync(handle)

    def link(source: Any, target: Any) -> None:
        steps.append("link")
        real_link(source, target)

    store = LocalBlobs(tmp_path / "blobs")
    store.put("a/b/first", b"x")
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", link)
    store.put("a/b/second", b"y")
    assert steps == ["file", "link", "directory"]
    assert sorted(p.name for p in (tmp_path / "blobs" / "a" / "b").iterdir()) == ["first", "second"]
    assert list((tmp_path / "blobs" / ".writing").iterdir()) == []
    steps.clear()
    LocalBlobs(tmp_path / "blobs").put("a/b/third", b"z")  # in directories that another process may not have synced
    assert steps == [*["directory"] * 3, "file", "link", "directory"]


def test_a_directory_that_fails_is_unavailable_and_consumes_no_id(docs: Documents[Project], tmp_path: Path) -> None:
    docs.create("o1", "p1")
    (tmp_path / "blobs").write_text("a file where the directory should be")
    docs.submit("p1", [put_shape(id="s", shape=Shape()).by("c", 1)])
    with pytest.raises(Unavailable, match="could not put"):
        docs.process("p1")
    assert docs.last_ids("p1", ["c"]) == {"c": 0}
    (tmp_path / "blobs").unlink()
    assert docs.process("p1")[0].status == "applied"


def test_without_a_store_documents_say_what_to_give() -> None:
    with fresh() as db, pytest.raises(NotConfigured, match="Project has no blob store"):
        Documents(db, Project)


def test_other_files_below_a_prefix_are_no_contents(tmp_path: Path) -> None:
    store = LocalBlobs(tmp_path)
    contents = Contents(store, "o1/projects/p1/")
    content = Content("shapes", hashlib.sha256(DATA).digest())
    contents.write(content, DATA)
    store.put("o1/projects/p1/shapes/readme.txt", b"x")
    store.put("o1/projects/p1/shapes/" + "A" * 64 + ".json.gz", b"x")
    assert list(contents.list()) == [content]


@dataclass(frozen=True)
class Point:
    x: float = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class End:
    size: int = 1
    at: Point = Point()


@dataclass
class Line:
    points: list[Point]
    by_name: dict[str, Point] = field(default_factory=dict[str, Point])
    closed: bool = False
    end: End = End()


def test_equal_values_have_one_text() -> None:
    """However they were made: whole, from JSON that leaves defaults out, with 1 for 1.0."""
    codec: JsonCodec[Line] = JsonCodec(Line, "Line")
    whole = Line([Point(1.0)], {"a": Point()})
    short = codec.decode(b'{"points":[{"x":1}],"by_name":{"a":{}},"end":{"at":{}}}')
    assert short == whole
    origin = '{"label":"","x":0.0}'
    text = f'{{"by_name":{{"a":{origin}}},"closed":false,"end":{{"at":{origin},"size":1}},"points":[{origin}]}}'
    for value in (whole, short, replace(whole, points=[Point(1)])):
        assert codec.encode(value).decode() == text.replace(f"[{origin}]", '[{"label":"","x":1.0}]')
