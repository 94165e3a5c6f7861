"""What a class of a foreign table costs beside one of one's own, by turns: `python -m benchmarks.foreign`.

Tables of one engine have the same orders: as this library writes them, and as other programs do. CPU of this process
alone, in pairs, either first as often; a foreign class may cost 1.15 times as much.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from time import process_time
from typing import Any, Final

from benchmarks.report import Ratio, ratio
from singletable import ANY, Database, Entity, Key, Table, connect
from singletable_local import Engine

BAR: Final = 1.15
_ITEMS: Final = 100
_PAIRS_A_ROUND: Final = 10
_TIMES: Final = {"get": 100, "query100": 10}
_AT: Final = datetime(2026, 1, 31, 9, 30, tzinfo=timezone.utc)
own = Table("own", indexes=["gsi1"])
foreign = Table("foreign", indexes=["gsi1"], foreign=True)
typed = Table("typed", indexes=["gsi1"], foreign=True, type_attribute="kind")
wide = Table("wide", foreign=True)
narrow = Table("wide", foreign=True)


@dataclass(kw_only=True)
class Attributes:
    """The attributes of all orders."""

    customer: str
    number: int
    state: str
    total: Decimal
    weight: float
    at: datetime
    note: str | None = None
    paid: bool = False


class OwnOrder(Attributes, Entity, table=own, type="order"):
    @own.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer}", f"order#{number:06}"

    @own.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        return f"state#{state}", f"{number:06}"


class ForeignOrder(Attributes, Entity, table=foreign, type="order"):
    @foreign.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer:raw}", f"order#{number:06}"

    @foreign.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        return f"state#{state:raw}", f"{number:06}"


class TypedOrder(Attributes, Entity, table=typed, type="order", stamp={"v": "1"}):
    @typed.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer:raw}", f"order#{number:raw}"

    @typed.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        return f"state#{state:raw}", f"{number:raw}"


class WideOrder(Attributes, Entity, table=wide, type="order"):
    gsi2pk: str = "day#2026-01-31"
    tag: str = "red"

    @wide.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer:raw}", f"order#{number:06}"


class NarrowOrder(Attributes, Entity, table=narrow, type="order"):
    @narrow.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer:raw}", f"order#{number:06}"


KINDS: Final[dict[str, tuple[Any, Any]]] = {
    "a class known by its key": (ForeignOrder, ForeignOrder),
    "one by its type and a stamp": (TypedOrder, TypedOrder),
    "one whose items have two attributes more": (NarrowOrder, WideOrder),
}
"""By what is told: the class that reads, and the one that wrote."""


def calls_of(db: Database, kind: Any) -> dict[str, Callable[[], object]]:
    """The operations of a class."""
    return {
        "get": lambda: db.get(kind.of("ada", 7)),
        "query100": lambda: db.all(kind.of("ada")),
    }


def fill(db: Database, kind: Any) -> None:
    shared = {"state": "open", "total": Decimal("19.90"), "weight": 0.5, "at": _AT}
    for number in range(_ITEMS):  # write_many takes no class with a type of a foreign table
        db.put(kind(customer="ada", number=number, **shared))


def run(rounds: int) -> dict[tuple[str, str], Ratio]:
    """CPU of a foreign class divided by that of an own one, by class and operation."""
    with Engine.start() as engine, connect(engine.url) as db:
        for kind in (OwnOrder, *(writes for _, writes in KINDS.values())):
            db.create_table(kind.__table__)
            fill(db, kind)
        return {
            (name, operation): _of(call, calls_of(db, OwnOrder)[operation], _TIMES[operation], rounds)
            for name, (kind, _) in KINDS.items()
            for operation, call in calls_of(db, kind).items()
        }


def _of(one: Callable[[], object], other: Callable[[], object], times: int, rounds: int) -> Ratio:
    for call in (one, other):
        _seconds(call, times)
    pairs = [_round(one, other, times) for _ in range(rounds)]
    return ratio([first for first, _ in pairs], [second for _, second in pairs])


def _round(one: Callable[[], object], other: Callable[[], object], times: int) -> tuple[float, float]:
    """The least CPU of each, of several pairs."""
    first, second = list[float](), list[float]()
    for number in range(_PAIRS_A_ROUND):
        turns = ((one, first), (other, second))
        for call, seconds in turns if number % 2 else turns[::-1]:
            seconds.append(_seconds(call, times))
    return min(first), min(second)


def _seconds(call: Callable[[], object], times: int) -> float:
    gc.collect()
    began = process_time()
    for _ in range(times):
        call()
    return process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    for (name, operation), measured in run(parser.parse_args().rounds).items():
        print(f"| {operation} of {name} | {measured} | {'ok' if measured.median <= BAR else f'over {BAR}'} |")


if __name__ == "__main__":
    main()
