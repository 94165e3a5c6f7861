"""What each layer adds to its requests: a task, a change, a page of a graph, a mutation of a document.

    python -m benchmarks.layers                        about two minutes
    python -m benchmarks.layers --quick --units task change
    python -m benchmarks.layers --beside ../before     the same units of another tree of the library, by turns
    python -m benchmarks.layers --write layers         also to benchmarks/results/

CPU is that of all threads of the process that asks, in microseconds a unit: the median of the rounds. "Bare" are the
unit's own requests, sent again as they were without a layer: signed, sent, received, not decoded. Requests and round
trips are those of a unit. All of it is asked of the embedded engine in memory; blobs lie in a directory. Contents have
200 bytes: `benchmarks.documents` has large ones, whose compression takes most of the time.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks import documents, workload
from benchmarks.bare import Recorder, bare_cpu
from benchmarks.child import Child
from benchmarks.graph_pages import EdgeSets
from benchmarks.report import headed, ratio, table, write
from goals.generated import FLAT, generate
from goals.model import records
from singletable import Database, Entity, Key, Table, connect
from singletable.documents import Documents, LocalBlobs
from singletable.graph import Graph
from singletable.streams import Changes, ChangeWorker, Inserted, Modified
from singletable.tasks import Tasks, TaskWorker

ROUNDS: Final = 15
QUICK_ROUNDS: Final = 2
_PACKAGES: Final = ("src", "packages/local/src", "examples/shared/src", "examples/goals/src")


class TaskUnit:
    """A task that is due: claimed, run and ended, one after the other."""

    name, units = "task", 120
    _app = Table("layers-tasks", indexes=["gsi1"])
    _tasks = Tasks(_app, index="gsi1")

    def __init__(self, db: Database, directory: Path) -> None:
        ran: list[str] = []

        def work(number: str, how: str = "x") -> None:
            ran.append(number)

        self._db, self._ran = db, ran
        self._call = self._tasks.task(work)
        self._worker = TaskWorker(db, self._tasks)
        db.create_table(self._app)

    def fill(self) -> None:
        for first in range(0, self.units, 20):
            with self._db.transaction() as tx:
                for number in range(first, first + 20):
                    tx.add(self._tasks.after(timedelta(0), self._call(str(number))))

    def run(self) -> None:
        self._ran.clear()
        self._worker.drain(at_once=1)
        assert len(self._ran) == self.units, f"{len(self._ran)} tasks ran"


class ChangeUnit:
    """A change of an item, handled by one handler; each item has one."""

    name, units = "change", 1000
    _app = Table("layers-changes", stream="new_and_old")

    def __init__(self, db: Database, directory: Path) -> None:
        self._db, self._round = db, 0
        self._kind, changes, self._seen = _counted(self._app)
        self._worker = ChangeWorker(db, changes)
        db.create_table(self._app)
        self._worker.drain()

    def fill(self) -> None:
        self._round += 1
        values = [workload.order("any", number) for number in range(self.units)]
        names = ("number", "placed_at", "quantity", "paid", "email", "note", "tags", "skus")
        puts = [self._kind(**{name: order[name] for name in names}, status=f"status {self._round}") for order in values]
        self._db.write_many(puts=puts)

    def run(self) -> None:
        self._seen.clear()
        self._worker.drain()
        assert sorted(self._seen) == list(range(self.units)), f"{len(self._seen)} changes were handled"


def _counted(app: Table) -> tuple[Any, Changes, list[int]]:
    """A class, its handlers, and the numbers of what they were given."""
    seen: list[int] = []

    class Counted(Entity, table=app, type="counted"):
        number: int
        placed_at: datetime
        status: str
        quantity: int
        paid: bool
        email: str
        note: str
        tags: set[str]
        skus: list[str]

        @app.key
        @staticmethod
        def by_number(number: int) -> Key:
            return f"counted#{number:06}", "counted"

    changes = Changes(app)

    @changes.on(Counted).inserted
    def inserted(change: Inserted[Counted]) -> None:
        seen.append(change.new.number)

    @changes.on(Counted).modified(Counted.status)
    def modified(change: Modified[Counted]) -> None:
        seen.append(change.new.number)

    return Counted, changes, seen


class PageUnit:
    """A page of 25 goals with ten neighbours each."""

    name, units = "page", 20

    def __init__(self, db: Database, directory: Path) -> None:
        db.create_table(records)
        for part in generate(500, FLAT):
            Graph(db).load(part.nodes, part.edges)
        self._page = EdgeSets(db, limit=25)

    def fill(self) -> None:
        """Nothing is used up."""

    def run(self) -> None:
        for _ in range(self.units):
            assert all(len(people) == 10 for _, people in self._page())


class MutationUnit:
    """A mutation of one of a hundred items of a document."""

    name, units = "mutation", 20

    def __init__(self, db: Database, directory: Path) -> None:
        self._documents = Documents(db, documents.Project, blobs=LocalBlobs(directory))
        documents.fill(self._documents, "document", 100, item_bytes=200)
        self._number = 0

    def fill(self) -> None:
        """Nothing is used up."""

    def run(self) -> None:
        for _ in range(self.units):
            self._number += 1
            move = documents.move_shape(id=documents.item_id(self._number % 100), x=-self._number, y=0)
            self._documents.apply("document", [move.by("a-client", self._number)])


UNITS: Final = (TaskUnit, ChangeUnit, PageUnit, MutationUnit)
NAMES: Final = tuple(unit.name for unit in UNITS)


# --- in the process that asks -----------------------------------------------------------------------------------------
def serve() -> None:
    """Answer each line, which names a unit, with the microseconds of CPU of one of it, bare and in all."""
    with ExitStack() as stack:
        asked: dict[str, tuple[Database, Any]] = {}
        for kind in UNITS:
            db = stack.enter_context(connect("local"))
            directory = Path(stack.enter_context(TemporaryDirectory()))
            asked[kind.name] = db, kind(db, directory)
        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(_round_of(*asked[line.strip()])), flush=True)


def _round_of(db: Database, unit: Any) -> dict[str, float]:
    unit.fill()
    gc.collect()
    began, cpu = time.perf_counter(), time.process_time()
    unit.run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - began
    unit.fill()
    recorder = Recorder(db)
    with db.meter() as meter, recorder.recording():
        unit.run()
    figures = {"cpu_us": cpu * 1e6, "bare_us": bare_cpu(db, recorder.rounds) * 1e6, "wall_us": wall * 1e6}
    counts = {"requests": meter.requests, "round_trips": meter.round_trips}
    return {name: figure / unit.units for name, figure in (figures | counts).items()}


# --- in the process that measures -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Tree:
    """A tree of the library, measured by this tree's benchmark."""

    name: str
    path: Path

    def child(self) -> Child:
        paths = os.pathsep.join(str(self.path / package) for package in _PACKAGES)
        return Child("benchmarks.layers", "--serve", environ={**os.environ, "PYTHONPATH": paths})


Samples = dict[tuple[str, str], list[dict[str, float]]]
"""The figures of each round, by tree and unit."""


def run(trees: Sequence[Tree], units: Sequence[str], rounds: int, say: Callable[[str], None]) -> Samples:
    samples: Samples = {}
    with ExitStack() as stack:
        children = {tree.name: stack.enter_context(tree.child()) for tree in trees}
        for child in children.values():
            child.hear()
        for number in range(rounds + 1):
            say(f"layers, round {number} of {rounds}")
            for unit in units:
                for name in list(children)[:: 1 if number % 2 else -1]:
                    figures = json.loads(children[name].ask(unit))
                    if number:  # the first warms up
                        samples.setdefault((name, unit), []).append(figures)
    return samples


def medians(samples: Samples) -> dict[tuple[str, str], dict[str, float]]:
    return {
        place: {name: median(sample[name] for sample in rounds) for name in rounds[0]}
        for place, rounds in samples.items()
    }


def page(samples: Samples, trees: Sequence[Tree], rounds: int) -> str:
    figures = medians(samples)
    parts = [f"Microseconds and requests of one unit: medians of {rounds} rounds. The layer's own is CPU without bare."]
    for tree in trees:
        rows = {unit: _row(of_unit) for (name, unit), of_unit in figures.items() if name == tree.name}
        parts += [*([f"## {tree.name}"] if len(trees) > 1 else []), table(rows)]
    if len(trees) > 1:
        one, other = trees[0].name, trees[1].name
        ratios = {unit: _compared(samples, one, other, unit) for name, unit in figures if name == one}
        rows = {unit: {f"{one} to {other}": str(ratio)} for unit, ratio in ratios.items()}
        parts += ["## CPU, round by round", table(rows)]
    return headed("Layers", parts)


def _row(figures: Mapping[str, float]) -> dict[str, Any]:
    return {
        "CPU": figures["cpu_us"],
        "bare": figures["bare_us"],
        "own": figures["cpu_us"] - figures["bare_us"],
        "wall": figures["wall_us"],
        "requests": f"{figures['requests']:.2f}",
        "round trips": f"{figures['round_trips']:.2f}",
    }


def _compared(samples: Samples, one: str, other: str, unit: str) -> Any:
    return ratio(*([sample["cpu_us"] for sample in samples[name, unit]] for name in (one, other)))


def summary(samples: Samples) -> dict[str, Any]:
    return {"units": [{"tree": tree, "unit": unit, **figures} for (tree, unit), figures in medians(samples).items()]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--units", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--beside", type=Path, metavar="TREE", help="a work tree of another version of the library")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    trees = [Tree("this tree", Path(__file__).parents[1])]
    if given.beside is not None:
        trees.append(Tree(given.beside.name, given.beside.resolve()))
    rounds = given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS)
    samples = run(trees, given.units, rounds, say)
    text = page(samples, trees, rounds)
    if given.write:
        write(given.write, summary(samples), text)
    print(json.dumps(summary(samples), indent=2) if given.json else text)


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
