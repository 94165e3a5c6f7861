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


def of_tasks(length: int, skew_seconds: float) -> TaskHistory:
    """Without its fences, which are random."""
    history = test_task_ends.history_of(3, length, skew_seconds)
    history.runs = [replace(run, fence=0) for run in history.runs]
    history.looks = [replace(look, fence=0) for look in history.looks]
    return history


HISTORIES: dict[str, Callable[[int], Any]] = {
    "transactions": lambda length: test_histories.histories(3, length),
    "mutations": lambda length: test_mutation_order.histories(3, length),
    "tasks, by clocks that are nearly right": lambda length: of_tasks(length, test_task_ends.STEADY),
    "tasks, by clocks that are wild": lambda length: of_tasks(length, test_task_ends.WILD),
}


def print_histories(times: str, length: str) -> None:
    """In a process of its own: a line for each time and history, with the history's hash."""
    for name, history in HISTORIES.items():
        for _ in range(int(times)):
            sys.stdout.write(f"{name}: {sha256(repr(in_order(history(int(length)))).encode()).hexdigest()}\n")


def in_order(value: Any) -> Any:
    """Dictionaries and sets sorted: the order of theirs is nobody's."""
    if is_dataclass(value) and not isinstance(value, type):
        return in_order(vars(value))
    if isinstance(value, Mapping):
        return sorted((repr(key), in_order(each)) for key, each in value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    return [in_order(each) for each in value] if isinstance(value, (list, tuple)) else repr(value)


@pytest.fixture(scope="module", params=[40, pytest.param(150, marks=pytest.mark.soak)])
def hashes(request: pytest.FixtureRequest) -> Mapping[str, list[str]]:
    """Three of each history: the first two are of one process."""
    found: dict[str, list[str]] = {name: [] for name in HISTORIES}
    for times in (2, 1):
        with child(print_histories, str(times), str(request.param), starts_python=True) as process:
            assert process.stdout is not None
            for name, _, digest in (line.partition(": ") for line in process.stdout.read().decode().splitlines()):
                if name in found:
                    found[name].append(digest)
    return found


@pytest.mark.embedded("each process starts its own")
@pytest.mark.parametrize("name", HISTORIES)
def test_a_seed_gives_the_same_history_in_every_process(hashes: Mapping[str, list[str]], name: str) -> None:
    assert len(hashes[name]) == 3
    assert len(set(hashes[name])) == 1, "the first two are of one process"
