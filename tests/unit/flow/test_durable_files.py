"""Threads that make names in one directory durable share its syncs; none returns before a sync that covers its name."""

from __future__ import annotations

import threading  # noqa: TID251
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from singletable.flow import DurableDirectories, durable_files

COUNT = 8


class Syncs:
    """Notes which names were there when each sync began. The first one waits until the other threads wait for it."""

    def __init__(self, others_wait: Callable[[], bool]) -> None:
        self.seen: list[set[str]] = []
        self.begun = threading.Event()
        self._others_wait = others_wait

    def __call__(self, directory: Path) -> None:
        self.seen.append({file.name for file in directory.iterdir()})
        self.begun.set()
        if len(self.seen) == 1:
            pause = threading.Event()
            while not self._others_wait():
                pause.wait(0.001)


def test_threads_share_a_sync_that_began_after_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directories = DurableDirectories(tmp_path)
    syncs = Syncs(lambda: vars(directories)["_turns"][tmp_path].calls == COUNT)
    monkeypatch.setattr(durable_files, "sync_directory", syncs)

    def put(number: int) -> bool:
        if number:
            syncs.begun.wait()
        (tmp_path / str(number)).touch()
        directories.sync(tmp_path)
        return any(str(number) in names for names in syncs.seen)

    with ThreadPoolExecutor(COUNT) as pool:
        assert all(pool.map(put, range(COUNT)))
    assert len(syncs.seen) == 2
    assert syncs.seen[0] == {"0"}
    assert vars(directories)["_turns"] == {}


def test_one_after_the_other_each_has_its_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directories, synced = DurableDirectories(tmp_path), list[Path]()
    monkeypatch.setattr(durable_files, "sync_directory", synced.append)
    for _ in range(3):
        directories.sync(tmp_path)
    assert synced == [tmp_path] * 3


def test_a_sync_that_failed_covers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directories, tries = DurableDirectories(tmp_path), list[int]()
    begun, may_fail = threading.Event(), threading.Event()

    def fail_once(directory: Path) -> None:
        tries.append(1)
        begun.set()
        may_fail.wait()
        if len(tries) == 1:
            raise OSError("the disk is gone")

    monkeypatch.setattr(durable_files, "sync_directory", fail_once)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(directories.sync, tmp_path)
        begun.wait()
        second = pool.submit(directories.sync, tmp_path)
        while vars(directories)["_turns"][tmp_path].calls < 2:
            threading.Event().wait(0.001)
        may_fail.set()
        with pytest.raises(OSError, match="gone"):
            first.result()
        second.result()
    assert len(tries) == 2
    assert vars(directories)["_turns"] == {}


def test_a_sync_that_failed_has_failed_for_all_that_waited_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux reports a failed write once: the next sync of the directory succeeds, and the names may be lost."""
    directories, tries = DurableDirectories(tmp_path), list[int]()
    begun = threading.Event()

    def fail_the_second(directory: Path) -> None:
        tries.append(1)
        if len(tries) == 1:
            begun.set()
            while vars(directories)["_turns"][tmp_path].calls < COUNT:
                threading.Event().wait(0.001)
        if len(tries) == 2:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(durable_files, "sync_directory", fail_the_second)
    with ThreadPoolExecutor(COUNT) as pool:
        first = pool.submit(directories.sync, tmp_path)
        begun.wait()
        others = [pool.submit(directories.sync, tmp_path) for _ in range(COUNT - 1)]
        faults = [other.exception() for other in others]
        assert first.exception() is None
    assert [getattr(fault, "errno", None) for fault in faults] == [5] * (COUNT - 1)
    assert len(tries) == 2
    assert vars(directories)["_turns"] == {}
