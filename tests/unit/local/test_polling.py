"""Asking until a deadline."""

from __future__ import annotations

from singletable_local.polling import wait_until


def test_the_first_truthy_answer_is_the_answer() -> None:
    answers = iter([None, 0, "", "ready"])
    assert wait_until(lambda: next(answers), 10) == "ready"


def test_it_is_asked_once_at_least() -> None:
    assert wait_until(lambda: "ready", 0) == "ready"


def test_silence_is_none() -> None:
    assert wait_until(lambda: None, 0.01) is None
