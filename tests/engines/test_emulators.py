"""An emulator ends with the process that started it, however that ends; a shared one with the last who holds it."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from examples_shared.testing.serving import is_open
from singletable_local.polling import wait_until
from tests.support.children import child
from tests.support.emulators import MINISTACK, Shared


def start_and_wait() -> None:
    """In a child, which is killed."""
    with MINISTACK.running() as url:
        print(url, flush=True)  # noqa: T201
        signal.pause()


def test_it_ends_where_its_starter_is_killed() -> None:
    with child(start_and_wait) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        assert is_open(url)
        process.kill()
    assert wait_until(lambda: not is_open(url), 20)


def test_a_shared_one_is_started_by_the_first_and_ended_by_the_last() -> None:
    events: list[str] = []

    @contextmanager
    def start() -> Generator[str]:
        url = f"http://127.0.0.1:{len(events)}"
        events.append(f"started {url}")
        yield url
        events.append(f"ended {url}")

    shared = Shared(start)
    with shared.held() as first:
        with shared.held() as second:
            assert second == first
        assert events == [f"started {first}"]
    assert events == [f"started {first}", f"ended {first}"]
    with shared.held() as third:
        assert third != first
    assert events[2:] == [f"started {third}", f"ended {third}"]


def test_one_that_does_not_start_is_tried_again(tmp_path: Path) -> None:
    address = tmp_path / "address"

    @contextmanager
    def start() -> Generator[str]:
        yield address.read_text()

    shared = Shared(start)
    with pytest.raises(FileNotFoundError), shared.held():
        pass
    address.write_text("http://127.0.0.1:1")
    with shared.held() as url:
        assert url == "http://127.0.0.1:1"
