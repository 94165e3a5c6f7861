"""Rounds: every library does every operation once a round, in turn, so that a slow moment of the machine meets all.

Each library lives in a worker of its own for a whole part of the run. First each operation is done once against the
engine, its answer checked and kept; from then on only the replay server answers, over HTTP and over TLS.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

import trustme

from benchmarks import workload
from benchmarks.child import Child
from benchmarks.libraries.ours import Note, make, table
from benchmarks.replay import ReplayServer
from singletable import connect
from singletable_local import Engine

_WARM_UPS: Final = 3
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
Say = Callable[[str], None]


@dataclass(frozen=True)
class Effort:
    rounds: int
    loop_seconds: float
    """About how long one library does one operation in one round."""
    streamed: int = 100_000
    """Items that each library goes through, to see what it holds."""
    written: int = 20_000
    """Items that each writes in one call."""


@dataclass
class Samples:
    """Microseconds for one operation, a figure each round."""

    cpu: list[float] = field(default_factory=list[float])
    wall: list[float] = field(default_factory=list[float])

    def add(self, answer: Mapping[str, float], times: int) -> None:
        self.cpu.append(answer["cpu"] / times * 1e6)
        self.wall.append(answer["wall"] / times * 1e6)


Measured = dict[Case, Samples]


def environment(**more: str) -> dict[str, str]:
    """A worker's: this one's, without what would lead a library to AWS or to a profile.

    Nor may it keep Python from writing bytecode: an installed library has its own, and a checkout gets it this way.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | dict(ENVIRONMENT) | more


@dataclass(frozen=True)
class Bench:
    """An engine with the orders in it, and a server that has each library's answers of it."""

    engine: Engine
    server: ReplayServer
    trusted: str
    """The certificate of who signed the server's."""

    def replayed(self, libraries: Sequence[str], effort: Effort, say: Say) -> Measured:
        """Every operation, over HTTP."""
        return self._measured(libraries, workload.OPERATIONS, self.server.url, effort, say)

    def over_tls(self, libraries: Sequence[str], effort: Effort, say: Say) -> Measured:
        trust = {"AWS_CA_BUNDLE": self.trusted, "SSL_CERT_FILE": self.trusted}
        return self._measured(libraries, workload.OVER_TLS, self.server.tls_url, effort, say, trust)

    def over_network(self, libraries: Sequence[str], effort: Effort, say: Say) -> Measured:
        """The replay server's answers, some milliseconds later."""
        self.server.delay(workload.NETWORK_MILLISECONDS)
        try:
            return self._measured(libraries, workload.OVER_NETWORK, self.server.url, effort, say)
        finally:
            self.server.delay(0)

    def with_engine(self, libraries: Sequence[str], effort: Effort, say: Say) -> Measured:
        """Some operations against the engine itself, which answers each afresh."""
        return self._measured(libraries, workload.WITH_ENGINE, self.engine.url, effort, say)

    def streamed(self, libraries: Sequence[str], effort: Effort, say: Say) -> dict[str, int]:
        """The bytes by which each library's process grew at the most while it went through many orders."""
        grown: dict[str, int] = {}
        for library in libraries:
            say(f"{library}: {effort.streamed} items streamed")
            with worker(library, self.server.url) as child:
                self.server.record(f"{library}/stream")
                ask(child, stream=10)
                self.server.replay(f"{library}/stream")
                grown[library] = ask(child, stream=effort.streamed)["grown"]
        return grown

    def record(self, libraries: Sequence[str], say: Say) -> None:
        """Keep the engine's answers to each library, and check the objects that it makes of them."""
        for library in libraries:
            say(f"{library}: recording the engine's answers, checking its objects")
            with worker(library, self.server.url) as child:
                for operation in workload.OPERATIONS:
                    self.server.record(f"{library}/{operation}")
                    ask(child, check=operation)

    def _measured(
        self,
        libraries: Sequence[str],
        operations: Sequence[str],
        url: str,
        effort: Effort,
        say: Say,
        trust: Mapping[str, str] | None = None,
    ) -> Measured:
        with ExitStack() as stack:
            workers = {name: stack.enter_context(worker(name, url, **(trust or {}))) for name in libraries}
            cases = [(library, operation) for operation in operations for library in libraries]
            times = {case: self._times(workers[case[0]], case, effort) for case in cases}
            samples = {case: Samples() for case in cases}
            for number in range(effort.rounds):
                say(f"round {number + 1} of {effort.rounds} at {url}")
                for case in _rotated(cases, number, len(workers)):
                    samples[case].add(self._ask(workers[case[0]], case, times[case]), times[case])
        return samples

    def _times(self, child: Child, case: Case, effort: Effort) -> int:
        """How often a round's loop goes round, by a warm-up that also opens connections and compiles what is lazy.

        The quickest counts: a slow moment would leave the case with a loop too short to be warm.
        """
        took = min(self._ask(child, case, _WARM_UP_TIMES)["wall"] for _ in range(_WARM_UPS))
        return max(_FEWEST_TIMES, round(effort.loop_seconds * _WARM_UP_TIMES / took))

    def _ask(self, child: Child, case: Case, times: int) -> dict[str, float]:
        self.server.replay("/".join(case))
        answer: dict[str, float] = ask(child, measure=case[1], times=times)
        return answer


@contextmanager
def bench() -> Iterator[Bench]:
    """A real engine, in memory, with the orders in it, and a replay server with a certificate of its own."""
    with TemporaryDirectory() as place, Engine.start(exposed=True) as engine:
        _fill(engine)
        chain, trusted = Path(place) / "server.pem", Path(place) / "authority.pem"
        authority = trustme.CA()
        authority.cert_pem.write_to_path(trusted)
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(chain)
        with Child("benchmarks.replay", str(urlsplit(engine.url).port), str(chain)) as child:
            yield Bench(engine, ReplayServer(child), str(trusted))


def _fill(engine: Engine) -> None:
    with connect(engine.url) as db:
        db.create_table(table)
        for customer in workload.CUSTOMERS:
            db.write_many(puts=[make(customer, order["number"]) for order in workload.stored_at(customer)])
        db.write_many(puts=[Note(**note) for note in workload.notes()])


def worker(library: str, url: str, **environ: str) -> Child:
    """A process with one library in it."""
    return Child("benchmarks.worker", library, url, environ=environment(**environ))


def ask(child: Child, **asked: Any) -> Any:
    return json.loads(child.ask(json.dumps(asked)))


def _rotated(cases: Sequence[Case], number: int, width: int) -> Iterator[Case]:
    """Operation by operation; within each another library begins in every round."""
    for start in range(0, len(cases), width):
        of_one = cases[start : start + width]
        turn = number % width
        yield from (*of_one[turn:], *of_one[:turn])
