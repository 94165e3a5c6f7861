"""The library's own listener: which records it writes, and how often."""

from __future__ import annotations

import logging
import threading  # noqa: TID251
from collections.abc import Hashable
from typing import Any

import pytest

from singletable.events import ShardGap, ShardOpened, TaskEnded
from singletable.events.log import MOST_CAUSES, EventLog

GAP = ShardGap(consumer="orders", shard="shard-1", reason="trimmed")


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(clock: Clock, caplog: pytest.LogCaptureFixture) -> EventLog:
    caplog.set_level(logging.DEBUG, "singletable")
    return EventLog(clock)


def test_a_record_has_the_events_fields(log: EventLog, caplog: pytest.LogCaptureFixture) -> None:
    log.show(GAP)
    (record,) = caplog.records
    fields: dict[str, Any] = vars(record)
    assert (record.name, record.levelname) == ("singletable.streams", "ERROR")
    assert fields["singletable_shard"] == "shard-1"
    assert (fields["singletable_event"], fields["singletable_left_out"]) == ("ShardGap", 0)
    assert record.getMessage() == GAP.text


def test_a_cause_is_shown_once_a_minute(log: EventLog, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    for second in range(180):
        clock.time = float(second)
        log.show(GAP)
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 3
    assert texts[1] == f"{texts[0]} (59 like it were not logged since the one before)"
    assert vars(caplog.records[2])["singletable_left_out"] == 59


def test_each_cause_is_shown(log: EventLog, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(101):
        log.show(ShardGap(consumer="orders", shard=f"shard-{number}", reason="trimmed"))
    assert len(caplog.records) == 101


def test_what_is_remembered_is_bounded(log: EventLog, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(MOST_CAUSES + 1):
        log.show(ShardGap(consumer="orders", shard=f"shard-{number}", reason="trimmed"))
    assert log.causes == MOST_CAUSES
    log.show(ShardGap(consumer="orders", shard=f"shard-{MOST_CAUSES}", reason="trimmed"))
    assert len(caplog.records) == MOST_CAUSES + 1


def test_what_is_at_debug_is_never_left_out(log: EventLog, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(5):
        log.show(ShardOpened(consumer="orders", shard="shard-1"))
    assert len(caplog.records) == 5


def test_an_error_is_shown_with_its_traceback(log: EventLog, caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise KeyError("iban")

    with pytest.raises(KeyError) as caught:
        fails()
    about: dict[str, Any] = {"table": "orders", "task": "charge", "key_hash": "12ab", "attempt": 2, "tries": 2}
    log.show(TaskEnded(**about, outcome="dead", milliseconds=1.0, error=caught.value))
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    text = "task charge (12ab): try 2 of 2, failed for the last time after 1 ms with KeyError. It is a dead task"
    assert record.getMessage().startswith(text)
    assert "in fails" in caplog.text


def test_a_record_has_the_class_of_an_error_and_not_its_text(log: EventLog, caplog: pytest.LogCaptureFixture) -> None:
    about: dict[str, Any] = {"table": "orders", "task": "charge", "key_hash": "12ab", "attempt": 1, "tries": 2}
    log.show(TaskEnded(**about, outcome="retried", milliseconds=1.0, error=ValueError("iban DE123")))
    (record,) = caplog.records
    assert vars(record)["singletable_error"] == "ValueError"
    assert "DE123" not in repr(vars(record))


class _Cause:
    """A cause at whose second use another thread shows it too, as long as it may."""

    def __init__(self) -> None:
        self.uses, self.second_use = 0, threading.Thread()

    def __hash__(self) -> int:
        self.uses += 1
        if self.uses == 2:
            self.second_use.start()
            self.second_use.join(0.02)
        return 1


CAUSE = _Cause()


class _Shared(ShardGap, frozen=True):
    @property
    def cause(self) -> Hashable:
        return CAUSE


def test_threads_show_a_cause_once_and_count_the_rest(
    log: EventLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    gap = _Shared(consumer="orders", shard="shard-1", reason="trimmed")
    CAUSE.uses, CAUSE.second_use = 0, threading.Thread(target=log.show, args=(gap,))
    log.show(ShardGap(consumer="orders", shard="shard-2", reason="trimmed"))
    log.show(gap)
    CAUSE.second_use.join()
    clock.time = 60.0
    log.show(gap)
    assert [vars(record)["singletable_left_out"] for record in caplog.records] == [0, 0, 1]


def test_what_a_handler_raises_is_told_and_changes_nothing(log: EventLog, capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("the disk is full")

    handler = Broken()
    logging.getLogger("singletable").addHandler(handler)
    try:
        log.show(GAP)
        log.show_failure(print, "a ShardGap", ValueError("other"))
    finally:
        logging.getLogger("singletable").removeHandler(handler)
    assert capsys.readouterr().err.count("OSError: the disk is full") == 2


def test_a_dead_task_is_a_cause_by_itself(log: EventLog, caplog: pytest.LogCaptureFixture) -> None:
    for key in ("12ab", "34cd", "12ab"):
        log.show(
            TaskEnded(table="orders", task="charge", key_hash=key, attempt=2, tries=2, outcome="dead", milliseconds=1.0)
        )
    assert len(caplog.records) == 2
