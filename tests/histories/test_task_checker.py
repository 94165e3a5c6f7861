"""The checker of the ends of tasks: each fault is found where it is planted, and a sound history has none."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.histories.history import Status
from tests.histories.task_checker import faults_of
from tests.histories.task_history import Ended, Look, Phase, Request, Run, Scheduled, TaskHistory

LEASE = 10.0


def sound() -> TaskHistory:
    """Ten tasks of one order and ten of none, each of which runs, raises, and is run again."""
    history, effects, log = TaskHistory(), dict[str, int](), list[str]()
    for number in range(20):
        key, order = f"t{number}", "o" if number % 2 else None
        at = number * 100.0
        history.tasks[key] = Scheduled(key, at, order, True, number, number + 0.5, number, Status.DONE)
        for fence, end in ((7, Ended.RAISED), (8, Ended.DONE)):
            began = at + fence
            history.runs.append(
                Run(key, "w", fence, 0.0, began - 0.5, began + LEASE, began, began, began + 0.2, began + 0.1, end)
            )
        history.looks += [
            Look(key, at + 6, at + 6.1, Phase.DUE, 6),
            Look(key, at + 7, at + 7.1, Phase.DUE, 7),
            Look(key, at + 9, at + 9.1, Phase.GONE),
        ]
        effects[key] = 1
        if order:
            log.append(key)
    history.effects, history.logs = effects, {"o": log}
    return history


def last_run(history: TaskHistory, key: str) -> Run:
    return [run for run in history.runs if run.key == key][-1]


def run_of(history: TaskHistory, key: str, fence: int, began: float, end: Ended = Ended.LOST) -> None:
    history.runs.append(
        Run(key, "v", fence, 0.0, began - 0.5, began + LEASE, began, began, began + 0.2, began + 0.1, end)
    )


def effect_twice(history: TaskHistory) -> None:
    history.effects = {**history.effects, "t4": 2}


def ends_twice(history: TaskHistory) -> None:
    run_of(history, "t4", 9, 460, Ended.DONE)


def dead_too(history: TaskHistory) -> None:
    history.dead = frozenset({"t4"})


def forget_effect(history: TaskHistory) -> None:
    history.effects = {**history.effects, "t4": 0}


def lose(history: TaskHistory) -> None:
    history.runs = [run for run in history.runs if run.key != "t4"]
    history.effects = {**history.effects, "t4": 0}


def leave(history: TaskHistory) -> None:
    history.left = frozenset({"t4"})


def cancelled_before(history: TaskHistory) -> None:
    history.cancels.append(Request("t4", 400, 400, 401, Status.DONE))


def same_fence(history: TaskHistory) -> None:
    run_of(history, "t4", 8, 460)


def after_its_end(history: TaskHistory) -> None:
    run_of(history, "t4", 9, 460)


def ended_by_the_first(history: TaskHistory) -> None:
    """The first claim was taken over, and writes the end all the same."""
    first = next(run for run in history.runs if run.key == "t4")
    first.end, first.ended = Ended.DONE, 430.0
    last_run(history, "t4").end = Ended.LOST


def two_of_a_task(history: TaskHistory) -> None:
    last_run(history, "t4").ended_seconds = 415.0
    run_of(history, "t4", 6, 412)


def two_of_an_order(history: TaskHistory) -> None:
    """The next task of the order begins while this one works."""
    run = last_run(history, "t5")
    run.began_seconds, run.held_until, run.ended_seconds = 706.0, 716.0, 715.0


def swap(history: TaskHistory) -> None:
    log = history.logs["o"]
    log[3], log[4] = log[4], log[3]


def early(history: TaskHistory) -> None:
    last_run(history, "t4").early = 0.5


def of_nobody(history: TaskHistory) -> None:
    run_of(history, "t99", 1, 5000)


def comes_back(history: TaskHistory) -> None:
    history.looks.append(Look("t4", 470, 471, Phase.DUE, 9))


def is_alive_again(history: TaskHistory) -> None:
    history.looks.insert(0, Look("t4", 405, 405.5, Phase.DEAD, 6))


def fence_goes_back(history: TaskHistory) -> None:
    history.looks.append(Look("t4", 407.5, 408, Phase.DUE, 5))


PLANTED: dict[str, tuple[Callable[[TaskHistory], None], str]] = {
    "an effect happens twice": (effect_twice, "ended twice"),
    "two ends are acknowledged": (ends_twice, "ended twice"),
    "a task has its effect and is dead": (dead_too, "ended twice"),
    "an acknowledged effect is lost": (forget_effect, "lost effect"),
    "a task never runs": (lose, "lost"),
    "a task never ends": (leave, "never ended"),
    "a cancelled task runs": (cancelled_before, "ran after its cancellation"),
    "a claim is granted twice": (same_fence, "claimed twice"),
    "a task is claimed after its end": (after_its_end, "claimed after its end"),
    "a claim that was taken over writes the end": (ended_by_the_first, "ended by a lost claim"),
    "a task runs twice at once": (two_of_a_task, "two at once"),
    "two tasks of an order run at once": (two_of_an_order, "two at once"),
    "effects out of order": (swap, "out of order"),
    "a claim before its time": (early, "early"),
    "a run of nobody's task": (of_nobody, "never scheduled"),
    "a task that ended is due again": (comes_back, "an end went back"),
    "a dead task is due again": (is_alive_again, "an end went back"),
    "a fence goes back": (fence_goes_back, "a fence went back"),
}


def test_a_sound_history() -> None:
    assert faults_of(sound()) == []


def overtaken(history: TaskHistory) -> None:
    """A worker is paused beyond its lease: the next one runs the task, and the first one's end is refused."""
    run_of(history, "t4", 6, 404, Ended.LOST)
    history.runs[-1].held_until, history.runs[-1].ended_seconds = 405.0, 450.0


def cancelled_too_late(history: TaskHistory) -> None:
    history.cancels.append(Request("t4", 450, 450, 451, Status.DONE))


def cancelled_while_it_runs(history: TaskHistory) -> None:
    """The order goes on, though the cancelled one still works."""
    last_run(history, "t5").ended_seconds = 716.0
    last_run(history, "t5").held_until = 720.0
    history.cancels.append(Request("t5", 600, 600, 601, Status.UNKNOWN))


def came_late(history: TaskHistory) -> None:
    """A task with an earlier time, scheduled when a later one ran already."""
    swap(history)
    history.tasks["t7"].ended_seconds = 1000.0


def revived(history: TaskHistory) -> None:
    is_alive_again(history)
    history.revivals.append(Request("t4", 405.6, 405.6))


@pytest.mark.parametrize("happens", [overtaken, cancelled_too_late, cancelled_while_it_runs, came_late, revived])
def test_what_may_happen_is_no_fault(happens: Callable[[TaskHistory], None]) -> None:
    history = sound()
    happens(history)
    assert faults_of(history) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    plant, wanted = PLANTED[name]
    history = sound()
    plant(history)
    found = faults_of(history)
    assert any(text.startswith(wanted) for text in found), found
    chance = random.Random(name)
    chance.shuffle(history.runs)  # the order of the lists says nothing
    chance.shuffle(history.looks)
    assert any(text.startswith(wanted) for text in faults_of(history))
