"""The checker: each anomaly is found where it is planted, and a sound history has none."""

from __future__ import annotations

import random

import pytest

from tests.histories.checker import anomalies
from tests.histories.history import NEVER, Append, Read, Status, Transaction


def tx(
    began: float, ended: float, *operations: Append | Read, status: Status = Status.DONE, client: str = "c"
) -> Transaction:
    return Transaction(client, began, ended, status, list(operations))


def x(*values: int) -> Read:
    return Read("x", values)


def y(*values: int) -> Read:
    return Read("y", values)


def to_x(value: int) -> Append:
    return Append("x", value)


def to_y(value: int) -> Append:
    return Append("y", value)


SOUND: list[list[Transaction]] = [
    [],
    [tx(0, 1, to_x(1)), tx(2, 3, x(1))],
    [tx(0, 9, to_x(1)), tx(1, 3, x()), tx(4, 5, x(1))],
    [tx(0, NEVER, to_x(1), status=Status.UNKNOWN), tx(1, 2, x()), tx(3, 4, x(1))],
    [tx(0, NEVER, to_x(1), status=Status.UNKNOWN), tx(1, 2, x())],
    [tx(0, 1, to_x(1), status=Status.FAILED), tx(2, 3, x())],
    [tx(0, 9, to_x(1), to_y(2)), tx(1, 5, x(), y()), tx(6, 8, x(1), y(2))],
    [tx(0, 1, to_x(1)), tx(2, 9, x(1), to_x(2)), tx(3, 8, x(1, 2))],
]
PLANTED: dict[str, tuple[list[Transaction], str]] = {
    "an append is applied twice": ([tx(0, 1, to_x(1)), tx(2, 3, x(1, 1))], "applied twice, x+1"),
    "a failed one is applied": ([tx(0, 1, to_x(1), status=Status.FAILED), tx(2, 3, x(1))], "failed and was applied"),
    "a value from nowhere": ([tx(0, 1, x(7))], "never written, x+7"),
    "an append is lost": ([tx(0, 1, to_x(1)), tx(2, 3, x())], "lost, x+1"),
    "two orders": (
        [tx(0, 9, to_x(1)), tx(0, 9, to_x(2)), tx(1, 2, x(1)), tx(3, 4, x(2, 1))],
        "two orders of x",
    ),
    "an update is lost, and its reader saw it": (
        [tx(0, 9, x(), to_x(1)), tx(0, 9, x(), to_x(2)), tx(1, 2, x(1)), tx(10, 11, x(2))],
        "two orders of x",
    ),
    "two updates that did not see each other": (
        [tx(0, 9, x(), to_x(1)), tx(0, 9, x(), to_x(2)), tx(10, 11, x(1, 2))],
        "G-single",
    ),
    "write skew": (
        [tx(0, 9, x(), y(), to_x(1)), tx(0, 9, x(), y(), to_y(2)), tx(10, 11, x(1), y(2))],
        "G2",
    ),
    "half a transaction is read": (
        [tx(0, 9, to_x(1), to_y(2)), tx(1, 5, x(1), y()), tx(10, 11, x(1), y(2))],
        "G-single",
    ),
    "two transactions, each before the other": (
        [tx(0, 9, to_x(1), to_y(3)), tx(0, 9, to_x(2), to_y(4)), tx(10, 11, x(1, 2)), tx(10, 11, y(4, 3))],
        "G0",
    ),
    "each reads what the other wrote": ([tx(0, 9, to_x(1), y(2)), tx(0, 9, to_y(2), x(1))], "G1c"),
    "a stale read": ([tx(0, 1, to_x(1)), tx(2, 3, x()), tx(4, 5, x(1))], "G-single in real time"),
    "a read goes back": (
        [tx(0, 20, to_x(1)), tx(1, 2, x(1)), tx(3, 4, x()), tx(21, 22, x(1))],
        "G-single in real time",
    ),
    "one that was done goes behind a later one": (
        [tx(0, 1, to_x(1)), tx(2, 3, to_x(2)), tx(4, 5, x(2, 1))],
        "G0 in real time",
    ),
}


@pytest.mark.parametrize("history", SOUND)
def test_a_sound_history(history: list[Transaction]) -> None:
    assert anomalies(history) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_anomaly_is_found(name: str) -> None:
    history, wanted = PLANTED[name]
    found = anomalies(history)
    assert any(text.startswith(wanted) for text in found), found
    random.Random(name).shuffle(history)  # the order of the list says nothing
    assert any(text.startswith(wanted) for text in anomalies(history))


def serial(chance: random.Random, count: int) -> list[Transaction]:
    """A history that is strictly serializable: each takes effect at a moment of its own, several overlap."""
    state: dict[str, tuple[int, ...]] = {}
    made: list[Transaction] = []
    for number in range(count):
        operations: list[Append | Read] = []
        for key in chance.sample("abcd", 2):
            if chance.random() < 0.5:
                operations.append(Append(key, number))
            else:
                operations.append(Read(key, state.get(key, ())))
        for each in operations:
            if isinstance(each, Append):
                state[each.key] = (*state.get(each.key, ()), each.value)
        made.append(tx(number - chance.random() * 16, number + chance.random() * 16, *operations))
    return made


def test_long_histories_that_overlap() -> None:
    chance = random.Random(5)
    for _ in range(20):
        history = serial(chance, 300)
        chance.shuffle(history)
        assert anomalies(history) == []


def test_one_fault_in_a_long_history() -> None:
    history = serial(random.Random(6), 2_000)
    reader = next(tx for tx in history[1_000:] if len(tx.reads) == 2 and all(len(read.values) > 5 for read in tx.reads))
    first, second = reader.reads
    reader.operations = [first, Read(second.key, second.values[:-5])]
    assert anomalies(history) != []
