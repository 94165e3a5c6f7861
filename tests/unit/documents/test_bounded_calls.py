"""The threads in which mutations run: kept between edits, given up after an overrun, none in a forked child."""

from __future__ import annotations

import subprocess
import sys
import threading  # noqa: TID251 what is tested
import weakref
from collections.abc import Iterator
from functools import partial

import pytest

from singletable.documents import bounded_calls
from singletable.documents.bounded_calls import FunctionWatch, Runner, TimeLimitExceeded

LONG_SECONDS = 30.0


@pytest.fixture(autouse=True)
def _none_idle() -> Iterator[None]:
    """Other tests of this process may have left some."""
    kept = bounded_calls._idle[:]
    bounded_calls._idle.clear()
    yield
    bounded_calls._idle[:] = kept


def own_thread(_: FunctionWatch) -> int:
    return threading.get_ident()


def run_until_ended(watch: FunctionWatch) -> None:
    while True:
        continue


def _ignore(_held: object, _: FunctionWatch) -> None:
    return


class Held:
    """Something that can be referred to weakly."""


def thread_of(runner: Runner) -> int:
    return runner.run(own_thread, LONG_SECONDS)


def test_a_thread_is_kept_for_the_next_runner() -> None:
    with Runner() as runner:
        first = {thread_of(runner), thread_of(runner)}
    with Runner() as runner:
        assert {thread_of(runner)} == first
    assert threading.get_ident() not in first


def test_runners_at_the_same_time_have_threads_of_their_own() -> None:
    with Runner() as one, Runner() as other:
        assert thread_of(one) != thread_of(other)


def test_a_thread_in_which_a_function_was_ended_is_not_kept() -> None:
    with Runner() as runner:
        ident = thread_of(runner)
        (thread,) = [each for each in threading.enumerate() if each.ident == ident]
        with pytest.raises(TimeLimitExceeded):
            runner.run(run_until_ended, 0.01)
        thread.join(LONG_SECONDS)
        assert not thread.is_alive()
        assert not bounded_calls._idle
        assert runner.run(lambda _: "works", LONG_SECONDS) == "works"


def test_few_threads_are_kept() -> None:
    runners = [Runner() for _ in range(bounded_calls._MOST_IDLE + 3)]
    threads = {thread_of(runner) for runner in runners}
    assert len(threads) == len(runners)
    for runner in runners:
        runner.__exit__()
    assert len(bounded_calls._idle) == bounded_calls._MOST_IDLE


def test_what_a_function_returned_is_not_held_by_its_thread() -> None:
    with Runner() as runner:
        held = Held()
        seen = weakref.ref(held)
        runner.run(partial(_ignore, held), LONG_SECONDS)
        del held
        thread_of(runner)
    assert seen() is None


def test_a_forked_child_starts_threads_of_its_own() -> None:
    program = """
import os
from singletable.documents.bounded_calls import Runner
def run():
    with Runner() as runner:
        return runner.run(lambda _: 7, 30.0)
run()
child = os.fork()
if child == 0:
    os._exit(run())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip() == "7"
