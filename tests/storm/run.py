"""The storm: processes of every layer on one engine, until as many operations as are asked for were sent.

    python -m tests.storm --operations 1000000 --busy 4

An operation is one request of DynamoDB; a call is what an application asks for: a verb, a mutation, a change that is
handled, a task that is run. Each operation may be lost before or after it took effect, refused, throttled, cut short or
answered late; indexes stop for long; clocks step by hours, both ways; processes are killed without warning, some live
with little memory, few descriptors or no room for files; half of them run the older version of the program. At the end
of each round nothing that was done is lost, nothing was done twice, and every check is empty.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter as Count
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from singletable import Database, connect
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker
from tests.graph.models import records
from tests.storm import boards, ledger, network, papers
from tests.storm.effects import use
from tests.storm.journal import Journal, heard_by, told
from tests.storm.models import VERSION_VARIABLE, changes, storm, tasks
from tests.storm.paper_document import papers as papers_table
from tests.sync.board import table as boards_table
from tools.distributions import PYTHONPATH

ROOT = Path(__file__).parents[2]
ROLES = {
    "ledger": ("a", "b", "c"),
    "network": ("m", "n"),
    "papers": ("x-0", "x-1", "y-0", "y-1"),
    "boards": ("k",),
    "changes": ("s", "t"),
    "tasks": ("v", "w"),
}
ROUND = 100_000
"""Operations between two judgements, each on an engine of its own."""
MEAN_LIFE_SECONDS = 15.0
_LONGEST_END_SECONDS = 60.0
_FAR_FUTURE_SECONDS = 12 * 3_600.0
_SHOW_EVERY_SECONDS = 10.0
_CALM_LEASE_SECONDS = 3.0


@dataclass
class Child:
    """A process that lives."""

    role: str
    client: str
    process: subprocess.Popen[bytes]
    life_seconds: float
    dies_at: float = math.inf
    """Counted from its first word: a busy machine takes long to start a process."""
    rest: bytes = b""

    @property
    def out(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout


@dataclass
class Result:
    """What came of some rounds."""

    operations: int = 0
    calls: int = 0
    faults: int = 0
    kills: int = 0
    exhausted: int = 0
    """Lives that ended for want of memory, descriptors or room."""
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return (
            f"{self.operations:,} operations, {self.faults:,} of them faulted, in {self.calls:,} calls; "
            f"{self.kills} kills, {self.exhausted} lives out of resources, "
            f"{self.seconds:.0f} s: {len(self.wrong)} wrong"
        )


@dataclass
class Round:
    """Processes on one engine, until there are enough operations."""

    target: str
    folder: str
    chance: random.Random
    result: Result
    roles: Sequence[str] = tuple(ROLES)
    journal: Journal = field(default_factory=Journal)
    children: dict[str, Child] = field(default_factory=dict[str, Child])
    shown_at: float = 0.0
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def run(self, operations: int) -> None:
        with self.selector:
            for role in self.roles:
                for client in ROLES[role]:
                    self.start(role, client)
            while self.journal.operations < operations and not self.journal.broken:
                self.listen(0.5)
                self.kill_and_start()
                self.show()
            self.end()

    def start(self, role: str, client: str) -> None:
        seed, number = self.chance.randrange(2**32), self.journal.next_number(client) - 1
        command = [sys.executable, "-W", "error", "-m", "tests.storm.child"]
        process = subprocess.Popen(
            [*command, role, client, self.target, self.folder, str(seed), str(number)],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": PYTHONPATH, VERSION_VARIABLE: version_of(client)},
        )
        child = self.children[client] = Child(role, client, process, self.chance.uniform(0, 2 * MEAN_LIFE_SECONDS))
        os.set_blocking(child.out.fileno(), False)
        self.selector.register(child.out, selectors.EVENT_READ, child)

    def listen(self, seconds: float) -> None:
        """Take in what the processes say, until it has been silent or some time has passed."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for key, _ in self.selector.select(max(0.0, until - time.monotonic())):
                self._read(key.data)

    def kill_and_start(self) -> None:
        for child in list(self.children.values()):
            if child.process.poll() is None and time.monotonic() > child.dies_at:
                child.process.send_signal(signal.SIGKILL)
                child.process.wait()
                self.result.kills += 1
            if child.process.poll() is not None:
                self._bury(child)
                self.start(child.role, child.client)

    def end(self) -> None:
        """Every process finishes its step."""
        for child in self.children.values():
            child.process.terminate()
        until = time.monotonic() + _LONGEST_END_SECONDS
        while any(child.process.poll() is None for child in self.children.values()) and time.monotonic() < until:
            self.listen(0.2)
        for child in list(self.children.values()):
            child.process.kill()
            child.process.wait()
            self._bury(child)

    def show(self) -> None:
        """Where it is, for whoever watches."""
        if time.monotonic() > self.shown_at + _SHOW_EVERY_SECONDS:
            self.shown_at = time.monotonic()
            by_role = Count(call.what for call in self.journal.calls.values())
            mutated, handled, ran = len(self.journal.mutated), len(self.journal.handled), self.journal.runs
            print(  # noqa: T201
                f"{self.journal.operations:,} operations; calls: {dict(by_role)}, mutated {mutated}, "
                f"handled {handled}, ran {ran}",
                file=sys.stderr,
                flush=True,
            )

    def _bury(self, child: Child) -> None:
        self._read(child)
        self.selector.unregister(child.out)
        child.out.close()
        code = child.process.returncode
        self.result.exhausted += code not in (0, 1, -signal.SIGKILL)
        del self.children[child.client]

    def _read(self, child: Child) -> None:
        """Take the whole lines; a last one that a kill cut short was never said."""
        while data := child.out.read(1 << 16):
            child.dies_at = min(child.dies_at, time.monotonic() + child.life_seconds)
            *lines, child.rest = (child.rest + data).split(b"\n")
            for line in lines:
                self.journal.take(line)


def version_of(client: str) -> str:
    """Half of the clients run the older program."""
    return "1" if client in ("b", "x-1", "y-1", "n") else "2"


def judge(db: Database, target: str, folder: str, journal: Journal) -> list[str]:
    """Finish what was begun, without faults and with the newer program; then everything that is wrong."""
    clients = list(ROLES["papers"])
    network.settle(db)
    papers.settle(db, folder, clients)
    with heard_by(journal), connect(target, clock=lambda: time.time() + _FAR_FUTURE_SECONDS) as later:
        use(later)  # the clock of a worker that died may have been days ahead, and so the end of its claims
        TaskWorker(later, tasks).drain(at_once=8)
        ChangeWorker(later, changes).drain(lease_seconds=_CALM_LEASE_SECONDS)
    return [
        *journal.broken,
        *ledger.judge(db, journal),
        *network.judge(db, journal),
        *papers.judge(db, folder, clients, journal),
        *boards.judge(db, target, folder),
        *(told(finding) for finding in ChangeWorker(db, changes).check()),
    ]


def weather(
    operations: int,
    seed: int,
    *,
    round_length: int = ROUND,
    roles: Sequence[str] = tuple(ROLES),
    keep: Path | None = None,
) -> Result:
    """The storm itself: rounds until there are enough operations, or something is wrong."""
    result, began = Result(), time.monotonic()
    while result.operations < operations and not result.wrong:
        chance = random.Random(seed + result.operations)
        with tempfile.TemporaryDirectory(dir=_memory()) as folder, connect(f"local:{folder}/storm.db") as calm:
            prepare(calm)
            round = Round(f"local:{folder}/storm.db", folder, chance, result, roles)
            round.run(min(round_length, operations - result.operations))
            result.operations += round.journal.operations
            result.calls += round.journal.count
            result.faults += round.journal.faults
            result.wrong += judge(calm, round.target, folder, round.journal)
            if result.wrong and keep is not None:
                round.journal.keep(keep)
        result.seconds = time.monotonic() - began
        print(result, flush=True)  # noqa: T201
    return result


def prepare(db: Database) -> None:
    for table in (storm, records, papers_table, boards_table, changes.leases):
        db.create_table(table)
    ledger.prepare(db)
    network.prepare(db)


def _memory() -> str | None:
    """A file system in memory, where there is one: the engine syncs its file at each write."""
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Processes that do nothing but take a core each."""
    with ExitStack() as stack:
        for _ in range(loops):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def options(arguments: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__)
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--round", type=int, default=ROUND, help="operations between two judgements")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside it")
    parser.add_argument("--roles", nargs="+", choices=ROLES, default=list(ROLES), help="only some layers")
    parser.add_argument("--keep", type=Path, help="where to write the operations of a round with something wrong")
    return parser.parse_args(arguments)


def main() -> int:
    asked = options(sys.argv[1:])
    print(f"seed {asked.seed}", flush=True)  # noqa: T201
    with busy(asked.busy):
        result = weather(asked.operations, asked.seed, round_length=asked.round, roles=asked.roles, keep=asked.keep)
    print("\n".join(result.wrong[:100]))  # noqa: T201
    return 1 if result.wrong else 0
