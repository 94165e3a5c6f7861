"""Whether a history of appends and reads is strictly serializable: as if each transaction happened at one moment.

    anomalies(history)    # [] for one that is

The method is that of Elle (Kingsbury and Alvaro, 2020). The longest list read under a key is the order of its
versions, and every other read must be a beginning of it. Then each transaction depends on others: on who wrote the
value before its own (ww) or the last value that it read (wr); and who overwrote what it read comes after it (rw), as
does what began after it ended (real time). A cycle of these is an anomaly. Its time is linear in the history.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tests.histories.cycles import components, shortest_cycle
from tests.histories.history import NEVER, Read, Status, Transaction

Edges = dict[int, dict[int, str]]
"""From each transaction to those that come after it, and why."""


def anomalies(history: Sequence[Transaction]) -> list[str]:
    """What no order of the transactions explains. Lists that contradict each other first: no order is known then."""
    writers = _writers(history)
    found = [*_impossible_reads(history, writers)]
    orders = _orders(history)
    found += _contradictions(history, orders)
    found += _lost(history, orders)
    return found or list(_cycles(history, writers, orders))


def _writers(history: Sequence[Transaction]) -> dict[tuple[str, int], int]:
    return {(each.key, each.value): number for number, tx in enumerate(history) for each in tx.appends}


# --- what a single read shows -----------------------------------------------------------------------------------------
def _impossible_reads(history: Sequence[Transaction], writers: Mapping[tuple[str, int], int]) -> Iterator[str]:
    for tx in history:
        for read in tx.reads:
            yield from (f"{breach}: {tx}" for breach in _breaches(read, history, writers))


def _breaches(read: Read, history: Sequence[Transaction], writers: Mapping[tuple[str, int], int]) -> Iterator[str]:
    if twice := [value for value, count in Counter(read.values).items() if count > 1]:
        yield f"applied twice, {read.key}+{twice[0]}"
    for value in read.values:
        writer = writers.get((read.key, value))
        if writer is None:
            yield f"never written, {read.key}+{value}"
        elif history[writer].status is Status.FAILED:
            yield f"failed and was applied, {read.key}+{value}"


# --- the order of the versions of each key ----------------------------------------------------------------------------
def _orders(history: Sequence[Transaction]) -> dict[str, tuple[int, ...]]:
    longest: dict[str, tuple[int, ...]] = defaultdict(tuple)
    for tx in history:
        for read in tx.reads:
            if len(read.values) > len(longest[read.key]):
                longest[read.key] = read.values
    return longest


def _contradictions(history: Sequence[Transaction], orders: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    for tx in history:
        for read in tx.reads:
            if orders[read.key][: len(read.values)] != read.values:
                yield f"two orders of {read.key}: {tx} and {list(orders[read.key])}"


def _lost(history: Sequence[Transaction], orders: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """Appends that were done before a read began that does not show them, and that no read shows."""
    there = {key: frozenset(values) for key, values in orders.items()}
    last_read: dict[str, float] = {}
    for tx in history:
        for read in tx.reads:
            last_read[read.key] = max(last_read.get(read.key, -1.0), tx.began)
    for tx in history:
        for each in tx.appends if tx.status is Status.DONE else ():
            if each.value not in there.get(each.key, ()) and tx.ended < last_read.get(each.key, -1.0):
                yield f"lost, {each.key}+{each.value}: {tx}"


# --- dependencies -----------------------------------------------------------------------------------------------------
def _cycles(
    history: Sequence[Transaction], writers: Mapping[tuple[str, int], int], orders: Mapping[str, tuple[int, ...]]
) -> Iterator[str]:
    edges: Edges = defaultdict(dict)
    _add_real_time(history, edges)
    _add_dependencies(history, writers, orders, edges)
    for component in components(len(history), edges):
        cycle = shortest_cycle(component, edges)
        reasons = [edges[a][b] for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
        steps = " ".join(f"{history[number]} -{why}->" for number, why in zip(cycle, reasons, strict=True))
        yield f"{_name(reasons)}: {steps} ..."


def _name(reasons: Sequence[str]) -> str:
    """As Adya and Elle name them."""
    overwritten = reasons.count("rw")
    name = "G2" if overwritten > 1 else "G-single" if overwritten else "G1c" if "wr" in reasons else "G0"
    return f"{name} in real time" if "time" in reasons else name


def _add_dependencies(
    history: Sequence[Transaction],
    writers: Mapping[tuple[str, int], int],
    orders: Mapping[str, tuple[int, ...]],
    edges: Edges,
) -> None:
    for key, order in orders.items():
        for before, after in pairwise(order):
            _add(edges, writers[key, before], writers[key, after], "ww")
    for number, tx in enumerate(history):
        for read in tx.reads:
            order, seen = orders[read.key], len(read.values)
            if seen:
                _add(edges, writers[read.key, order[seen - 1]], number, "wr")
            if seen < len(order):
                _add(edges, number, writers[read.key, order[seen]], "rw")


def _add_real_time(history: Sequence[Transaction], edges: Edges) -> None:
    """From each transaction to those that began after its end; what follows from others is left out."""
    moments = [(tx.began, 1, number) for number, tx in enumerate(history)]
    moments += [(tx.ended, 0, number) for number, tx in enumerate(history) if tx.ended != NEVER]
    latest: set[int] = set()
    for _, begins, number in sorted(moments):
        if begins:
            for before in latest:
                _add(edges, before, number, "time")
        else:
            began = history[number].began
            latest = {other for other in latest if history[other].ended >= began} | {number}


def _add(edges: Edges, before: int, after: int, why: str) -> None:
    if before != after:
        edges[before][after] = why
