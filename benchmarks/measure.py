"""Rounds: every library does every operation once a round, in turn, so that a slow moment of the machine meets all.

Each library lives in a worker of its own for the whole run. First each operation is done once against the engine, its
answer checked and kept; from then on only the replay server answers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks import workload
from benchmarks.child import Child
from benchmarks.libraries.ours import make, table
from benchmarks.replay import ReplayServer
from singletable import connect
from singletable.local import Engine

_WARM_UP_TIMES: Final = 3
_FEWEST_TIMES: Final = 2
ENVIRONMENT: Final[Mapping[str, str]] = {
    "AWS_ACCESS_KEY_ID": "benchmark",
    "AWS_SECRET_ACCESS_KEY": "benchmark",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""For every library the same made-up credentials, and nothing of this machine's own."""

Case = tuple[str, str]
"""A library and an operation."""


@dataclass(frozen=True)
class Effort:
    rounds: int
    loop_seconds: float
    """About how long one library does one operation in one round."""


@dataclass
class Samples:
    """Microseconds for one operation, a figure each round."""

    cpu: list[float] = field(default_factory=list[float])
    wall: list[float] = field(default_factory=list[float])

    def add(self, answer: Mapping[str, float], times: int) -> None:
        self.cpu.append(answer["cpu"] / times * 1e6)
        self.wall.append(answer["wall"] / times * 1e6)


def environment() -> dict[str, str]:
    """A worker's: this one's, without what would lead a library to AWS or to a profile.

    Nor may it keep Python from writing bytecode: an installed library has its own, and a checkout gets it this way.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | dict(ENVIRONMENT)


def run(libraries: Sequence[str], effort: Effort, say: Callable[[str], None]) -> dict[Case, Samples]:
    """All rounds of all libraries. `say` is told how far it is."""
    cases = [(library, operation) for operation in workload.OPERATIONS for library in libraries]
    with ExitStack() as stack:
        engine = stack.enter_context(_engine())
        server = ReplayServer(stack.enter_context(Child("benchmarks.replay", str(engine.port))))
        workers = {library: stack.enter_context(_worker(library, server.url)) for library in libraries}
        say("recording the engine's answers, checking each library's objects")
        for library, operation in cases:
            server.record(f"{library}/{operation}")
            _ask(workers[library], check=operation)
        times = {case: _times(workers[case[0]], server, case, effort) for case in cases}
        return _rounds(workers, server, times, effort, say)


def _rounds(
    workers: Mapping[str, Child],
    server: ReplayServer,
    times: Mapping[Case, int],
    effort: Effort,
    say: Callable[[str], None],
) -> dict[Case, Samples]:
    samples = {case: Samples() for case in times}
    for number in range(effort.rounds):
        say(f"round {number + 1} of {effort.rounds}")
        for case in _rotated(list(times), number, len(workers)):
            server.replay("/".join(case))
            answer = _ask(workers[case[0]], measure=case[1], times=times[case])
            samples[case].add(answer, times[case])
    return samples


def _rotated(cases: list[Case], number: int, width: int) -> Iterator[Case]:
    """Operation by operation; within each another library begins in every round."""
    for start in range(0, len(cases), width):
        of_one = cases[start : start + width]
        turn = number % width
        yield from of_one[turn:] + of_one[:turn]


def _times(worker: Child, server: ReplayServer, case: Case, effort: Effort) -> int:
    """How often a round's loop goes round, by a warm-up that also opens connections and compiles what is lazy."""
    server.replay("/".join(case))
    _ask(worker, measure=case[1], times=_WARM_UP_TIMES)
    took: float = _ask(worker, measure=case[1], times=_WARM_UP_TIMES)["wall"]
    return max(_FEWEST_TIMES, round(effort.loop_seconds * _WARM_UP_TIMES / took))


def _worker(library: str, url: str) -> Child:
    return Child("benchmarks.worker", library, url, environ=environment())


def _ask(worker: Child, **asked: Any) -> Any:
    return json.loads(worker.ask(json.dumps(asked)))


@contextmanager
def _engine() -> Iterator[Engine]:
    """A real engine, in memory, with the orders in it."""
    with Engine.start() as engine, connect(engine.url) as db:
        db.create_table(table)
        for customer in (workload.READ_CUSTOMER, workload.FEW_CUSTOMER, workload.WRITE_CUSTOMER):
            db.write_many(puts=[make(customer, order["number"]) for order in workload.stored_at(customer)])
        yield engine
