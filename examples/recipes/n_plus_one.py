"""Reads in a loop, outside of tests: a listener names the line that sends a request for each item.

A page that reads a list, and then an item for each row, is fast with three rows and slow with three hundred. Each
request is right by itself: no error and no slow call shows it. Budgets do in tests, and a listener in production.
"""

import inspect
import logging
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from singletable import ANY, Database, Entity, Key, Table, connect
from singletable.events import Event, RequestEnded

shop = Table("shop")


class Order(Entity, table=shop, type="order"):
    customer: str
    number: int
    total: int = 0

    @shop.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        """The orders of a customer, by number."""
        return f"customer#{customer}", f"order#{number}"


class ReadsInALoop:
    """A listener: logs a line of the program that reads `most` items of one pattern one by one within a second."""

    def __init__(self, most: int = 20, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self.clock = most, clock
        self.times: dict[tuple[str, str], deque[float]] = defaultdict(lambda: deque(maxlen=most))
        self.told: set[tuple[str, str]] = set()

    def __call__(self, event: Event) -> None:
        if not isinstance(event, RequestEnded) or event.operation != "GetItem" or not event.patterns:
            return
        read = line_of_program(), event.patterns[0]
        times = self.times[read]
        times.append(self.clock())
        if len(times) == self.most and times[-1] - times[0] <= 1.0 and read not in self.told:
            self.told.add(read)
            logging.getLogger("shop.reads").warning(
                "%s reads items of %s one by one, %d in a second (N+1): read them together, by get_many or a query",
                *(*read, self.most),
            )


def line_of_program() -> str:
    """The innermost line that is not the library's, as `orders.py:17 in totals`."""
    frame = inspect.currentframe()
    while frame is not None and is_between(frame):
        frame = frame.f_back
    assert frame is not None, "a program calls the library"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name}"


def is_between(frame: FrameType) -> bool:
    """Whether it is the listener's own, or the library's."""
    own = frame.f_code in (line_of_program.__code__, ReadsInALoop.__call__.__code__)
    return own or frame.f_globals.get("__name__", "singletable").startswith("singletable")


def totals(db: Database, customer: str, numbers: list[int]) -> list[int]:
    """The application's own code, which reads in a loop."""
    found: list[int] = []
    for number in numbers:
        order = db.get(Order.of_customer(customer, number))
        found += [order.total] if order is not None else []
    return found


def totals_together(db: Database, customer: str, numbers: list[int]) -> list[int]:
    """The same, 100 items a request."""
    return [order.total for order in db.get_many([Order.of_customer(customer, number) for number in numbers])]


def main() -> None:
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stdout)
    numbers = list(range(50))
    with connect("local", listeners=[ReadsInALoop(clock=lambda: 0.0)]) as db:
        db.write_many(puts=[Order(customer="ada", number=number, total=10) for number in numbers])
        with db.meter() as together:
            print("together:", sum(totals_together(db, "ada", numbers)))
        with db.meter() as one_by_one:
            print("one by one:", sum(totals(db, "ada", numbers)))
    print("costs")
    print("  50 orders together:  ", together)
    print("  50 orders one by one:", one_by_one)


if __name__ == "__main__":
    main()
