"""What the texts of events tell of an error, and their levels."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from singletable.errors import Conflict, Throttled
from singletable.events import LetterAdded, StepApplied


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
