"""What the texts of events tell of an error, and their levels."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from singletable.errors import Conflict, Throttled
from singletable.events import LeaseTaken, LetterAdded, ShardGap, StepApplied, TaskBegun, TaskEnded


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
    assert letter.text == f"mail: order#INSERT (12ab): try 3 ended with {text}, and the change is a dead letter"


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
    assert second.text.startswith("mail: took over the lease of shard-1 from a worker that has given no sign of life")


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


@pytest.mark.parametrize(
    ("outcome", "milliseconds", "level"),
    [("done", 9_999.0, logging.DEBUG), ("done", 10_000.0, logging.INFO), ("open", 10_000.0, logging.WARNING)],
)
def test_a_task_that_took_long_is_told(outcome: Any, milliseconds: float, level: int) -> None:
    names: Any = {"table": "shop", "task": "charge", "key_hash": "12ab", "attempt": 1, "tries": 8}
    ended = TaskEnded(**names, outcome=outcome, milliseconds=milliseconds)
    assert (ended.level, "(slow)" in ended.text) == (level, milliseconds >= 10_000)
