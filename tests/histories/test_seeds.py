"""A seed gives the same history again: in a new process, in one that has run another, whatever its hashes are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from hashlib import sha256
from typing import Any

import pytest

from tests.histories import test_histories, test_mutation_order, test_task_ends
from tests.histories.task_history import TaskHistory
from tests.support.children import child


def of_tasks(skew_seconds: float) -> TaskHistory:
    """Without its fences, which are random."""
    history = test_task_ends.history_of(3, 150, skew_seconds)
    history.runs = [replace(run, fence=0) for run in history.runs]
    history.looks = [replace(look, fence=0) for look in history.looks]
    return history


HISTORIES: dict[str, Callable[[], Any]] = {
    "transactions": lambda: test_histories.histories(3, 150),
    "mutations": lambda: test_mutation_order.histories(3, 120),
    "tasks, by clocks that are nearly right": lambda: of_tasks(test_task_ends.STEADY),
    "tasks, by clocks that are wild": lambda: of_tasks(test_task_ends.WILD),
}


def print_history(name: str, times: str) -> None:
    """In a process of its own: a line for each time, the hash of the history."""
    for _ in range(int(times)):
        sys.stdout.write(f"{sha256(repr(in_order(HISTORIES[name]())).encode()).hexdigest()}\n")


def in_order(value: Any) -> Any:
    """Dictionaries and sets sorted: the order of theirs is nobody's."""
    if is_dataclass(value) and not isinstance(value, type):
        return in_order(vars(value))
    if isinstance(value, Mapping):
        return sorted((repr(key), in_order(each)) for key, each in value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    return [in_order(each) for each in value] if isinstance(value, (list, tuple)) else repr(value)


@pytest.mark.embedded("each process starts its own")
@pytest.mark.parametrize("name", HISTORIES)
def test_a_seed_gives_the_same_history_in_every_process(name: str) -> None:
    said = list[str]()
    for times in (2, 1):
        with child(print_history, name, str(times), starts_python=True) as process:
            assert process.stdout is not None
            said += [line for line in process.stdout.read().decode().splitlines() if len(line) == 64]
    assert len(said) == 3
    assert len(set(said)) == 1, "the first two are of one process"
