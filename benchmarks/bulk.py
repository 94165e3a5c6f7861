"""Many orders written in one call, as a library that has a way to write many does it, behind a network.

Each library writes one request's worth into the engine first, which must hold all of it. From then on the replay server
has the engine's answer to that for every request, some milliseconds later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from benchmarks import workload
from benchmarks.bars import WRITE_MANY
from benchmarks.child import Child
from benchmarks.libraries import OURS, OURS_ASYNC, compared_with
from benchmarks.libraries.ours import table
from benchmarks.libraries.plain import key_of
from benchmarks.measure import Bench, Effort, Samples, Say, ask, worker
from benchmarks.report import Ratio, ratio
from singletable import connect
from singletable.raw import Raw

_MOST_ROUNDS: Final = 3
"""Each takes a slow library ten seconds."""
_OF_ONE_REQUEST: Final = 25


def run(bench: Bench, libraries: Sequence[str], effort: Effort, say: Say) -> dict[str, Samples]:
    """Microseconds of an order, by library: those that have a way to write many."""
    with ExitStack() as stack:
        workers = {name: stack.enter_context(worker(name, bench.server.url)) for name in libraries}
        children = {name: child for name, child in workers.items() if _is_recorded(bench, name, child)}
        samples = {name: Samples() for name in children}
        bench.server.delay(workload.NETWORK_MILLISECONDS)
        try:
            for number in range(min(effort.rounds, _MOST_ROUNDS)):
                say(f"{effort.written} orders written by each library, round {number + 1}")
                for name in (*list(children)[number:], *list(children)[:number]):
                    bench.server.replay(f"{name}/{WRITE_MANY}")
                    samples[name].add(ask(children[name], write_many=effort.written), effort.written)
        finally:
            bench.server.delay(0)
    return samples


def _is_recorded(bench: Bench, library: str, child: Child) -> bool:
    """Whether the library writes many; then the engine's answer is kept, and what it wrote is deleted."""
    bench.server.record(f"{library}/{WRITE_MANY}")
    if not ask(child, write_many=_OF_ONE_REQUEST):
        return False
    places = workload.many(_OF_ONE_REQUEST)
    with connect(bench.engine.url) as db:
        keys = [key_of(*place) for place in places]
        stored = len(Raw(db, table).get_many(keys))
        assert stored == len(places), f"{library} wrote {stored} of {len(places)} orders"
        Raw(db, table).write_many(deletes=keys)
    return True


def ratios(samples: Mapping[str, Samples], of: str) -> dict[str, dict[str, Ratio]]:
    """The peer's cost divided by ours, by peer; `of` is cpu or wall."""
    return {
        name: {WRITE_MANY: ratio(getattr(found, of), getattr(samples[compared_with(name)], of))}
        for name, found in samples.items()
        if name not in (OURS, OURS_ASYNC) and compared_with(name) in samples
    }
