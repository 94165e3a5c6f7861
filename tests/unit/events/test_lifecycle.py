"""What the texts of events tell of an error, and their levels."""

from __future__ import annotations

import logging
import os
import socket
from datetime import datetime, timezone
from typing import Any

import pytest
from msgspec.structs import replace

from singletable.errors import Conflict, Throttled
from singletable.events import (
    ClockCorrected,
    LeaseTaken,
    LetterAdded,
    Listeners,
    ShardGap,
    StepApplied,
    TaskBegun,
    TaskEnded,
    WorkOverran,
)


class OutOfStock(Conflict):
    """An application's own."""

    def __init__(self, article: str) -> None:
        self.article = article


class Refused(Conflict):
    """An application's own, whose words quote a value."""


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Throttled("The service answered Slow"), "Throttled: The service answered Slow"),
        (OutOfStock("iban"), "OutOfStock"),
        (Refused("iban"), "Refused"),
        (ValueError("iban"), "ValueError"),
    ],
)
def test_the_words_of_an_error_are_told_if_they_are_the_librarys(error: Exception, text: str) -> None:
    letter = LetterAdded(consumer="mail", handler="order#INSERT", key_hash="12ab", attempt=3, error=error)
    assert letter.text.startswith(
        f"mail: order#INSERT (12ab): try 3, the last one, failed with {text}. The change is a dead letter now"
    )
    assert letter.text.endswith("`singletable work retry --consumer mail` handles it again, `drop` deletes it")


@pytest.mark.parametrize(
    ("error", "level", "end"),
    [
        (None, logging.INFO, "applied"),
        (KeyboardInterrupt(), logging.INFO, "ended by KeyboardInterrupt"),
        (ValueError("iban"), logging.ERROR, "ended by ValueError"),
    ],
)
def test_a_step_that_was_interrupted_has_not_failed(error: Any, level: int, end: str) -> None:
    step = StepApplied(table="orders", step="fill", seconds=1.0, error=error)
    assert (step.level, step.text) == (level, f"orders: fill: {end} after 1.0 s")


@pytest.mark.parametrize(
    ("attempt", "late_seconds", "level"),
    [(1, 59.9, logging.DEBUG), (1, 60.0, logging.WARNING), (2, 3600.0, logging.DEBUG)],
)
def test_a_first_try_that_is_late_is_a_warning(attempt: int, late_seconds: float, level: int) -> None:
    begun = TaskBegun(table="shop", task="charge", key_hash="12ab", attempt=attempt, late_seconds=late_seconds)
    assert (begun.level, "they were down" in begun.text) == (level, level == logging.WARNING)


def test_a_takeover_says_what_it_was_taken_from() -> None:
    first, second = (LeaseTaken(worker="mail", lease="shard-1", fence=1, is_takeover=taken) for taken in (False, True))
    assert (first.level, first.text) == (logging.DEBUG, "mail: took the lease of shard-1")
    assert second.level == logging.WARNING
    assert second.text.startswith("mail: took over the lease of shard-1 from a worker, which has given no sign of life")
    of_task = LeaseTaken(worker="tasks", lease="charge", fence=2, is_takeover=True, key_hash="12ab", seconds=60.0)
    assert "the lease of charge (12ab) from a worker, which has given no sign of life for 60 s, the" in of_task.text
    assert "from host-1, process 7, which" in replace(of_task, holder="host-1, process 7").text


@pytest.mark.parametrize(
    ("shard", "reason", "text"),
    [
        (
            "shard-1",
            "trimmed",
            "mail: changes of the shard shard-1 are lost (trimmed: a stream keeps changes for a day",
        ),
        ("", "replaced", "mail: changes of its stream are lost (replaced: the table has another stream"),
        ("shard-1", "other", "mail: changes of the shard shard-1 are lost (other)"),
    ],
)
def test_a_gap_says_why(shard: str, reason: str, text: str) -> None:
    assert ShardGap(consumer="mail", shard=shard, reason=reason).text.startswith(text)
    before = datetime(2026, 7, 1, 12, tzinfo=timezone.utc)
    told = ShardGap(consumer="mail", shard=shard, reason=reason, table="shop", before=before).text
    assert " of table shop are lost " in told
    assert "made after the last one that was handled and before 2026-07-01 12:00:00 UTC. Read the table" in told


def test_work_that_does_not_end_is_a_warning_with_its_process() -> None:
    stuck = WorkOverran(worker="tasks", work="charge", key_hash="12ab", seconds=60.0, process="host-1, process 7")
    assert (stuck.level, "for 60 s on host-1, process 7 and has not ended" in stuck.text) == (logging.WARNING, True)
    process = Listeners().process
    assert process == f"{socket.gethostname()}, process {os.getpid()}"


@pytest.mark.parametrize(
    ("ahead", "text"),
    [(-1860, "31 min behind"), (90, "90 s ahead of"), (7_200, "2 h ahead of"), (-172_800, "2 days behind")],
)
def test_a_clock_is_off_by_a_duration_that_a_person_reads(ahead: int, text: str) -> None:
    told = ClockCorrected(endpoint="http://a", ahead_seconds=ahead, then="it decides").text
    assert told == f"this machine's clock is {text} that of http://a: it decides"


@pytest.mark.parametrize(
    ("outcome", "milliseconds", "level"),
    [("done", 9_999.0, logging.DEBUG), ("done", 10_000.0, logging.INFO), ("open", 10_000.0, logging.WARNING)],
)
def test_a_task_that_took_long_is_told(outcome: Any, milliseconds: float, level: int) -> None:
    names: Any = {"table": "shop", "task": "charge", "key_hash": "12ab", "attempt": 1, "tries": 8}
    ended = TaskEnded(**names, outcome=outcome, milliseconds=milliseconds)
    assert (ended.level, "(slow)" in ended.text) == (level, milliseconds >= 10_000)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (
            "lost",
            "lost after 5 ms. Its end was refused: it was cancelled, or another worker has taken it over, and it has",
        ),
        ("open", "left open after 5 ms. Its end is not written: it is begun again once its lease is over"),
        ("dead", "failed for the last time after 5 ms. It is a dead task now: `singletable work retry` runs it again"),
        ("done", "done after 5 ms"),
    ],
)
def test_an_outcome_says_what_follows(outcome: Any, text: str) -> None:
    names: Any = {"table": "shop", "task": "charge", "key_hash": "12ab", "attempt": 1, "tries": 8}
    ended = TaskEnded(**names, outcome=outcome, milliseconds=5.0)
    assert ended.text.startswith(f"task charge (12ab): try 1 of 8, {text}")
