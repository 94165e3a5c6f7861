"""Any error of an application's function can be stored, and says whether it is the function's or ends the process."""

from __future__ import annotations

import asyncio  # noqa: TID251 its cancellation is looked at
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable.errors import Unavailable
from singletable.failure_text import MOST_TEXT_CHARACTERS, Caught, error_text, is_of_function


class Untellable(Exception):
    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised

    def __str__(self) -> str:
        raise self.raised


class Posing(str):
    """A text whose methods can't be relied on."""

    def __format__(self, spec: str) -> str:
        raise RuntimeError("no")

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        raise RuntimeError("no")


class Poses(Exception):
    def __str__(self) -> str:
        return Posing("posing")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("missing"), "KeyError: 'missing'"),
        (MemoryError(), "MemoryError: "),
        (ValueError("half \ud800"), "ValueError: half \\ud800"),
        (Untellable(RuntimeError()), "Untellable: its message can't be shown: it raised RuntimeError"),
        (Untellable(MemoryError()), "Untellable: its message can't be shown: it raised MemoryError"),
        (Untellable(SystemExit(1)), "Untellable: its message can't be shown: it raised SystemExit"),
        (Poses(), "Poses: posing"),
        (SystemExit("bad"), "SystemExit: bad"),
    ],
)
def test_each_error_has_a_text(error: BaseException, text: str) -> None:
    found = error_text(error)
    assert (found, type(found)) == (text, str)


@given(st.text(max_size=2000, alphabet=st.characters(codec=None)), st.integers(10, 600))
def test_every_text_can_be_stored_and_is_bounded(message: str, most: int) -> None:
    found = error_text(ValueError(message), most=most)
    assert len(found.encode()) <= 4 * most
    assert len(found) <= most
    if len(message) + len("ValueError: ") <= most and not any("\ud800" <= c <= "\udfff" for c in message):
        assert found == f"ValueError: {message}"


def test_a_name_takes_the_place_of_the_type() -> None:
    assert error_text(Unavailable("away"), name=Unavailable.code) == "unavailable: away"
    assert len(error_text(ValueError("x" * 10**6))) == MOST_TEXT_CHARACTERS


@pytest.mark.parametrize("error", [ValueError(), MemoryError(), RecursionError(), Untellable(ValueError())])
def test_an_exception_is_the_functions(error: Exception) -> None:
    assert is_of_function(error)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
def test_the_end_of_the_process_or_the_flow_is_not(error: BaseException) -> None:
    assert not is_of_function(error)
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(is_of_function, error).result()


class Ending:
    """Handlers of a signal in each form that a program may give them."""

    def method(self, number: int, frame: object) -> None:
        sys.exit(number)

    def __call__(self, number: int, frame: object) -> None:
        self.method(number, frame)


def end(number: int, frame: object) -> None:
    raise SystemExit(number)


def end_with(code: int, number: int, frame: object) -> None:
    raise SystemExit(code)


def test_an_exit_is_the_functions() -> None:
    with pytest.raises(SystemExit) as raised:
        sys.exit(1)
    assert is_of_function(raised.value)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(is_of_function, raised.value).result()


@pytest.mark.parametrize("handler", [end, Ending().method, Ending(), partial(end_with, 3), lambda *_: sys.exit(1)])
def test_the_exit_of_a_signals_handler_is_not(handler: Any) -> None:
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(SystemExit) as raised:
            signal.raise_signal(signal.SIGUSR1)
        assert not is_of_function(raised.value)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_what_ends_the_process_is_not_caught() -> None:
    with Caught() as caught:
        raise ValueError("no")
    assert isinstance(caught.error, ValueError)
    with pytest.raises(KeyboardInterrupt), Caught():
        raise KeyboardInterrupt
    with Caught() as caught:
        str(caught)
    assert caught.error is None
