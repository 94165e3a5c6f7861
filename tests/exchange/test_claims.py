"""One export at a time is written into a folder; what a dead process held is taken."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import Database, Unavailable
from singletable.events import Listeners
from singletable.exchange import DirectoryStore, Exports, ObjectStore, Store, claims, read_manifest
from singletable.exchange.claims import CLAIM, LEASE_SECONDS, BeatClaim, FolderClaim, LockClaim
from singletable.exchange.unfinished import DRAFT_SECONDS, UnfinishedExport, delete_unkept
from singletable.flow import instant
from tests.exchange.models import order, shop
from tests.support.engines import fresh

TAKEN = "another export is being written to"


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(shop)
        made.write_many(puts=[order(n) for n in range(60)])
        yield made


class Clock:
    """What a claim asks of its port: a time that passes where it sleeps. `awake` is called after each sleep."""

    def __init__(self, awake: Callable[[], object] = bool) -> None:
        self.at, self.awake = 100.0, awake
        self.events = Listeners()

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds
        self.awake()


def taken_by(db: Database, claim: FolderClaim, clock: Any) -> None:
    db.run(claim.take(clock))


def bucket() -> ObjectStore:
    return ObjectStore(MemoryStore(), "s3://memory")


@pytest.mark.parametrize("kind", ["directory", "bucket"])
def test_a_second_export_is_refused_while_one_is_under_way(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(claims, "BEAT_SECONDS", 0.0)
    store: Store = DirectoryStore(tmp_path) if kind == "directory" else bucket()
    first = store.claim()
    db.run(first.take(db.port))
    with pytest.raises(Unavailable, match=rf"{TAKEN}.*One that was killed goes on"):
        taken_by(db, store.claim(), Clock(lambda: first.beat(db.port)))
    first.release()
    done = Exports(db, shop).export(store)
    assert (done.resumed, done.items) == (False, 60)
    assert {path for path in store.list("") if "/" not in path} == {"manifest.json"}


def test_two_exports_of_one_process_meet_too(db: Database, tmp_path: Path) -> None:
    errors: list[Unavailable] = []

    def begin_another(_: object) -> None:
        with pytest.raises(Unavailable, match=TAKEN) as caught:
            Exports(db, shop).export(tmp_path)
        errors.append(caught.value)

    done = Exports(db, shop).export(tmp_path, progress=begin_another)
    assert errors
    assert done.manifest == read_manifest(DirectoryStore(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [done.id, "manifest.json"]


def test_what_a_dead_owner_of_a_bucket_held_is_taken_after_a_while(db: Database) -> None:
    store = bucket()
    clock: Any = Clock()
    dead, claim = BeatClaim(store), BeatClaim(store)
    taken_by(db, dead, clock)
    taken_by(db, claim, clock)
    assert LEASE_SECONDS <= clock.at - 100.0 < LEASE_SECONDS + 10
    with pytest.raises(Unavailable, match=TAKEN):  # it was not dead: it notices before it writes its manifest
        dead.beat(clock)
    dead.release()
    assert store.read(CLAIM) is not None
    claim.release()
    assert store.read(CLAIM) is None


def test_two_that_take_at_once(db: Database) -> None:
    store = bucket()
    first, second = BeatClaim(store), BeatClaim(store)
    db.run(first.take(db.port))
    first.release()

    class Late(ObjectStore):
        """Another takes it between its reads and its write."""

        def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
            db.run(second.take(db.port))
            return super().write_if(path, data, before)

    with pytest.raises(Unavailable, match=TAKEN):
        db.run(BeatClaim(Late(store.store, store.url)).take(db.port))


def test_a_write_whose_answer_was_lost_is_its_owners(db: Database) -> None:
    """A store repeats the write by itself, and its own effect refuses it then: taken, and beaten, all the same."""

    class Repeating(ObjectStore):
        def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
            super().write_if(path, data, before)
            return super().write_if(path, data, before)

    store = Repeating(MemoryStore(), "s3://memory")
    clock: Any = Clock()
    claim = BeatClaim(store)
    taken_by(db, claim, clock)
    clock.at += claims.BEAT_SECONDS
    claim.beat(clock)
    claim.release()
    assert store.read(CLAIM) is None


def test_an_export_whose_claim_was_written_and_not_answered_leaves_the_folder_to_others(db: Database) -> None:
    class Losing(ObjectStore):
        is_lost = True

        def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
            is_written = super().write_if(path, data, before)
            if self.is_lost:
                self.is_lost = False
                raise Unavailable("the answer was lost")
            return is_written

    store = Losing(MemoryStore(), "s3://memory")
    with pytest.raises(Unavailable, match="lost"):
        Exports(db, shop).export(store)
    assert store.read(CLAIM) is None
    held = BeatClaim(store)
    db.run(held.take(db.port))
    with pytest.raises(Unavailable, match=TAKEN):
        BeatClaim(store).beat(db.port)
    BeatClaim(store).release()
    assert store.read(CLAIM) is not None


def test_a_beat_after_one_whose_answer_was_lost_keeps_the_claim(db: Database) -> None:
    """The store has what the lost one wrote, which is not what this process knows of its claim."""

    class Losing(ObjectStore):
        is_lost = False

        def write_if(self, path: str, data: bytes, before: bytes | None) -> bool:
            is_written = super().write_if(path, data, before)
            if self.is_lost:
                self.is_lost = False
                raise Unavailable("the answer was lost")
            return is_written

    store = Losing(MemoryStore(), "s3://memory")
    clock: Any = Clock()
    claim = BeatClaim(store)
    taken_by(db, claim, clock)
    for _ in range(2):
        clock.at += claims.BEAT_SECONDS
        store.is_lost = True
        with pytest.raises(Unavailable, match="lost"):
            claim.beat(clock)
        claim.beat(clock)
    clock.at += claims.BEAT_SECONDS
    store.is_lost = True
    with pytest.raises(Unavailable, match="lost"):
        claim.beat(clock)
    claim.release()
    assert store.read(CLAIM) is None


def test_a_lock_whose_file_was_deleted_meanwhile(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner ends between another's opening of the file and its lock: that lock is on a file that nobody finds. Of
    two that come then, one exports."""
    first, second, third = (LockClaim(tmp_path) for _ in range(3))
    db.run(first.take(db.port))
    flock = fcntl.flock

    def released_before(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        first.release()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", released_before)
    db.run(second.take(db.port))
    with pytest.raises(Unavailable, match=TAKEN):
        db.run(third.take(db.port))
    second.release()
    db.run(third.take(db.port))
    third.release()
    assert list(tmp_path.iterdir()) == []


def test_a_deleted_file_leaves_no_empty_folder(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    for path in ("a/b/one", "a/b/two", "a/three"):
        store.write(path, b"x")
    store.delete("a/b/one")
    assert (tmp_path / "a/b/two").exists()
    store.delete("a/b/two")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["three"]
    store.delete("a/three")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["", "run"])
def test_drafts_are_deleted_where_they_are_asked_for(tmp_path: Path, folder: str) -> None:
    store = DirectoryStore(tmp_path)
    drafts = {"": store.draft("manifest.json"), "run": store.draft("run/orders/part-1")}
    for draft in drafts.values():
        draft.write_bytes(b"x")
    store.delete_drafts(folder, 60.0)
    assert all(draft.exists() for draft in drafts.values())
    for draft in drafts.values():
        written = draft.stat().st_mtime
        os.utime(draft, (written, written - 61))
    store.delete_drafts(folder, 60.0)
    assert {name for name, draft in drafts.items() if not draft.exists()} == {folder}


def test_what_another_run_writes_stays_for_an_hour(tmp_path: Path) -> None:
    store, run = DirectoryStore(tmp_path), UnfinishedExport("run", instant(0.0), {})
    ours, others = store.draft("run/orders/part-1"), store.draft("manifest.json")
    for draft in (ours, others):
        draft.write_bytes(b"x")
    delete_unkept(store, run)
    assert (ours.exists(), others.exists()) == (False, True)
    written = others.stat().st_mtime
    os.utime(others, (written, written - DRAFT_SECONDS))
    delete_unkept(store, run)
    assert not others.exists()
