"""Who hears events, and what happens to a listener that fails, asks for more, or can't be called."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from singletable.errors import InvalidRequest
from singletable.events import Event, Listeners, ShardOpened

EVENT = ShardOpened(consumer="orders", shard="shard-1")


@pytest.mark.unscanned
def test_each_listener_hears_each_event_in_order() -> None:
    heard: list[Any] = []
    listeners = Listeners([lambda event: heard.append((1, event)), lambda event: heard.append((2, event))])
    listeners.emit(EVENT)
    listeners.emit(EVENT)
    assert heard == [(1, EVENT), (2, EVENT)] * 2
    assert (listeners.listens, Listeners().listens) == (True, False)


def test_a_listener_that_raises_is_logged_once_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Event] = []

    def fails(event: Event) -> None:
        raise KeyError("broken")

    listeners = Listeners([fails, heard.append, fails])
    for _ in range(3):
        listeners.emit(EVENT)
    assert heard == [EVENT] * 3
    records = [record for record in caplog.records if record.name == "singletable.events"]
    assert [(record.levelname, record.exc_info is not None) for record in records] == [("ERROR", True)] * 2
    assert "fails raised at a ShardOpened" in records[0].getMessage()


def test_the_end_of_the_process_passes_through_a_listener() -> None:
    def interrupted(event: Event) -> None:
        raise KeyboardInterrupt

    listeners = Listeners([interrupted])
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            listeners.emit(EVENT)


def test_what_a_listener_does_itself_is_told_to_nobody() -> None:
    heard: list[Event] = []

    def asks(event: Event) -> None:
        heard.append(event)
        listeners.emit(EVENT)

    listeners = Listeners([asks])
    listeners.emit(EVENT)
    assert heard == [EVENT]


class _Awaited:
    async def __call__(self, event: Event) -> None: ...


async def awaited(event: Event) -> None: ...


@pytest.mark.parametrize("listener", [awaited, _Awaited(), "print", None])
def test_what_can_not_be_called_is_refused(listener: Any) -> None:
    with pytest.raises(InvalidRequest, match="listener") as caught:
        Listeners([listener])
    assert caught.value.operation == "connect"


def test_a_key_is_shown_as_a_keyed_hash() -> None:
    first, second = Listeners(secret=b"one"), Listeners(secret=b"two")
    assert first.hash_of("user#ada", "user") == Listeners(secret=b"one").hash_of("user#ada", "user")
    assert first.hash_of("user#ada", "user") != second.hash_of("user#ada", "user")
    assert first.hash_of("a", "bc") != first.hash_of("ab", "c")
    assert len(first.hash_of("\ud800")) == 16, "a key of another program may be no valid text"
    assert Listeners().hash_of("a") != Listeners().hash_of("a"), "each has a secret of its own"


def test_a_key_is_shown_where_the_program_says_so() -> None:
    assert Listeners(shows_keys=True).hash_of("user#ada\n\ud800", "it's") == """'user#ada\\n\\ud800' "it's\""""


def test_threads_find_one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    listeners = Listeners()
    monkeypatch.setattr("singletable.events.listeners.urandom", lambda size: pytest.fail("a second secret"))
    assert listeners.hash_of("a") == listeners.hash_of("a")


def test_nothing_is_shown_that_nobody_reads(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Listeners().emit(EVENT)
    assert caplog.records == []
    caplog.set_level(logging.DEBUG)
    Listeners().emit(EVENT)
    assert [record.getMessage() for record in caplog.records] == ["orders: reads the shard shard-1"]
