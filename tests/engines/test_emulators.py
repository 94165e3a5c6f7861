"""An emulator ends with the process that started it, however that ends."""

from __future__ import annotations

import signal

from examples_shared.testing.serving import is_open
from singletable_local.polling import wait_until
from tests.support.children import child
from tests.support.emulators import MINISTACK


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
