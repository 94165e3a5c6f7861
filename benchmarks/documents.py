"""One mutation on a document of many items, beside its own requests sent bare; and mutations at a steady rate.

    python -m benchmarks.documents                     100 and 1,000 items of 50 KB
    python -m benchmarks.documents --items 100 --rounds 50
    python -m benchmarks.documents --json

"Bare" is what the mutation can't do without, by the plainest client code: the same reads, one content canonicalised,
compressed and put, one transaction of the same bytes, the same rows of the inbox put and deleted. Both use one engine
in memory and one directory of blobs, in turns, so that a slow moment of the machine meets both. Times are medians.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks.bare import Recorder
from singletable import Database, Meter, Table, connect
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs, Submission
from singletable.flow import DECLARED, TableNames

app = Table("documents-benchmark", indexes=["gsi1"])
ITEM_BYTES = 50_000
ONE, TWIN = b"document-one", b"document-two"
RATE, SECONDS, VERSIONS_A_SECOND = 50, 10, 10


@dataclass(frozen=True)
class Shape:
    x: int
    y: int
    text: str


class Project(Document, table=app, index="gsi1"):
    name: str = ""
    shapes: Items[Shape]


@Project.mutation
def put_shape(draft: Draft[Project], *, id: str, shape: Shape) -> None:
    draft.shapes[id] = shape


@Project.mutation
def move_shape(draft: Draft[Project], *, id: str, x: int, y: int) -> None:
    draft.shapes[id] = Shape(x, y, draft.shapes[id].text)


@dataclass(frozen=True)
class Result:
    items: int
    mutation_ms: float
    bare_ms: float
    ratio: float
    requests: int
    read_units: float
    write_units: float


@dataclass(frozen=True)
class Steady:
    items: int
    mutations_a_second: float
    versions_a_second: float
    write_units_a_second: float
    slowest_ms: float
    """From when a mutation came to when its version was there, at most."""


def item_id(n: int) -> str:
    return f"{n:036}"


def fill(documents: Documents[Project], id: str, items: int, *, item_bytes: int = ITEM_BYTES) -> None:
    documents.create("organisation", id, name="A project")
    for first in range(0, items, 40):
        part = range(first, min(items, first + 40))
        shapes = {n: Shape(n, n, os.urandom(item_bytes // 2).hex()) for n in part}
        documents.apply(id, [put_shape(id=item_id(n), shape=shapes[n]).by("load", n + 1) for n in part])


# --- bare -------------------------------------------------------------------------------------------------------------
class Again:
    """A recorded operation whose request is sent as it was, to the twin of the document."""

    def __init__(self, operation: Any) -> None:
        request = operation.request()
        body = request.body.replace(ONE, TWIN).replace(b'"ClientRequestToken":"', b'"ClientRequestToken":"t')
        self._request = msgspec.structs.replace(request, body=body)
        self.answer = operation.answer

    def request(self, names: TableNames = DECLARED) -> Any:
        return self._request


def bare(db: Database, store: LocalBlobs, path: str, rounds: list[list[Any]], n: int) -> float:
    """Seconds for the same requests, sent to a document that is as the other was, and one content."""
    writes = [[Again(operation) for operation in operations] for operations in rounds]
    began = time.perf_counter()
    packed = store.get(path, 1 << 24)
    assert packed is not None
    shape = msgspec.json.decode(gzip.decompress(packed), type=Shape)
    data = msgspec.json.encode(Shape(-n, n, shape.text), order="sorted")
    store.put(f"bare/{hashlib.sha256(data).hexdigest()}.json.gz", gzip.compress(data, 6, mtime=0))
    for operations in writes:
        db.run(db.port.send_all(operations))
    return time.perf_counter() - began


# --- measuring --------------------------------------------------------------------------------------------------------
def measure(items: int, rounds: int) -> Result:
    with tempfile.TemporaryDirectory() as directory, connect("local") as db:
        store = LocalBlobs(Path(directory))
        documents = Documents(db, Project, blobs=store)
        for id in (ONE, TWIN):
            fill(documents, id.decode(), items)
        paths = list(store.list(f"organisation/projects/{ONE.decode()}/shapes/"))
        recorder = Recorder(db)
        times: list[float] = []
        bares: list[float] = []
        meter = Meter()
        for n in range(1, rounds + 1):
            mutation = move_shape(id=item_id(n % items), x=-n, y=-n).by("bench-client", n)
            recorder.rounds.clear()
            with meter, recorder.recording():
                began = time.perf_counter()
                documents.apply(ONE.decode(), [mutation])
                times.append(time.perf_counter() - began)
            bares.append(bare(db, store, paths[n % len(paths)], recorder.rounds, n))
        one, other = median(times), median(bares)
        return Result(
            items,
            round(one * 1000, 2),
            round(other * 1000, 2),
            round(one / other, 2),
            round(meter.requests / rounds),
            meter.read_units / rounds,
            meter.write_units / rounds,
        )


def steady(items: int) -> Steady:
    """50 mutations a second arrive; a processor makes at most ten versions a second of them.

    What arrives while a version is made goes into the next: a slow moment makes versions larger, not a queue.
    """
    with tempfile.TemporaryDirectory() as directory, connect("local") as db:
        documents = Documents(db, Project, blobs=LocalBlobs(Path(directory)))
        fill(documents, "project", items)
        before = documents.head("project", collections=[]).version
        slowest, came = 0.0, 0
        began = time.perf_counter()
        with Meter() as meter:
            while came < SECONDS * VERSIONS_A_SECOND:
                time.sleep(max(0.0, began + came / VERSIONS_A_SECOND - time.perf_counter()))  # noqa: TID251
                first, since = came, time.perf_counter() - began
                came = min(SECONDS * VERSIONS_A_SECOND, 1 + int(since * VERSIONS_A_SECOND))
                documents.submit("project", [each for tick in range(first, came) for each in arriving(tick, items)])
                documents.process("project")
                slowest = max(slowest, time.perf_counter() - began - first / VERSIONS_A_SECOND)
        took = max(time.perf_counter() - began, SECONDS)
        head = documents.head("project", collections=[])
        each = RATE // VERSIONS_A_SECOND
        done = sum(documents.last_ids("project", [f"client-{k}" for k in range(each)]).values())
        return Steady(
            items,
            round(done / took, 1),
            round((head.version - before) / took, 1),
            round(meter.write_units / took, 1),
            round(slowest * 1000, 1),
        )


def arriving(tick: int, items: int) -> list[Submission]:
    """The mutations of one tick, each of a client of its own, on items of their own."""
    each = RATE // VERSIONS_A_SECOND
    return [
        move_shape(id=item_id((tick * each + k) % items), x=tick, y=k).by(f"client-{k}", tick + 1) for k in range(each)
    ]


def main(arguments: list[str], say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.documents", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--items", type=int, action="append")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    results = [measure(items, asked.rounds) for items in asked.items or [100, 1000]]
    pace = steady(100)
    if asked.json:
        say(json.dumps({"mutations": [asdict(r) for r in results], "steady": asdict(pace)}, indent=2))
        return
    for r in results:
        say(
            f"{r.items:>5} items: {r.mutation_ms} ms a mutation, its requests bare {r.bare_ms} ms (x {r.ratio}); "
            f"{r.requests} requests, {r.read_units:g} read and {r.write_units:g} write units"
        )
    say(
        f"{pace.items:>5} items: {pace.mutations_a_second} mutations a second in {pace.versions_a_second} versions, "
        f"{pace.write_units_a_second} write units a second; each done within {pace.slowest_ms} ms"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
