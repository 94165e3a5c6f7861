"""Reads in a loop, outside of tests: a listener names the line that sends a request for each item.

A page that reads a list, and then something for each row, is fast with three rows and slow with three hundred. Each
request is right by itself: no error and no slow call shows it. Budgets do in tests, and a listener in production.
"""

import inspect
import logging
import sys
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
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


Reads = defaultdict[tuple[str, str], set[object]]
"""By line and pattern: what was read."""


class ReadsInALoop:
    """A listener: after a request of the program it logs each line that read `most` things of one pattern in it.

    Reads are counted within `request()`: a line that twenty visitors run at the same time is not a loop. An item counts
    at each read, a partition once: the pages of one query are not a loop either. It looks at the stack at each read,
    some microseconds: use it for a part of the requests of a busy program.
    """

    wants_partitions = True

    def __init__(self, most: int = 20) -> None:
        self.most = most
        self.current: ContextVar[Reads | None] = ContextVar("the reads of this request", default=None)

    @contextmanager
    def request(self) -> Generator[None, None, None]:
        """What a web server, a worker or a handler wraps around each of its requests."""
        reads: Reads = defaultdict(set)
        token = self.current.set(reads)
        try:
            yield
        finally:
            self.current.reset(token)
            for (line, pattern), places in reads.items():
                if len(places) >= self.most:
                    logging.getLogger("shop.reads").warning(
                        "%s reads %s one by one, %d in one request (N+1): read them together, by get_many or a query",
                        *(line, pattern, len(places)),
                    )

    def __call__(self, event: Event) -> None:
        reads = self.current.get()
        if reads is not None and isinstance(event, RequestEnded) and event.operation in ("GetItem", "Query"):
            places = reads[line_of_program(), ", ".join(event.patterns)]
            places.add(event.partitions if event.operation == "Query" else len(places))


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
    numbers, reads = list(range(50)), ReadsInALoop()
    with connect("local", listeners=[reads]) as db:
        db.write_many(puts=[Order(customer="ada", number=number, total=10) for number in numbers])
        with reads.request(), db.meter() as together:
            print("together:", sum(totals_together(db, "ada", numbers)))
        with reads.request(), db.meter() as one_by_one:
            print("one by one:", sum(totals(db, "ada", numbers)))
    print("costs")
    print("  50 orders together:  ", together)
    print("  50 orders one by one:", one_by_one)


if __name__ == "__main__":
    main()
