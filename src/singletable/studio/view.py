"""A view: what one page shows, as a value. The same value is rendered as HTML and written as JSON."""

from __future__ import annotations

from msgspec import Struct

from singletable.flow import Meter


class PageCost(Struct, frozen=True):
    """The cost of a page, counted by the database's meter."""

    requests: int = 0
    round_trips: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    retries: int = 0
    throttles: int = 0
    """Tries that the service refused for their rate."""
    milliseconds: float = 0.0
    estimated: tuple[str, ...] = ()
    """The operations whose units differ on AWS."""

    @classmethod
    def of(cls, meter: Meter, seconds: float) -> PageCost:
        """The cost of all that a meter counted."""
        counts = (meter.requests, meter.round_trips, meter.read_units, meter.write_units, meter.retries)
        return cls(*counts, meter.throttles, round(seconds * 1000, 1), tuple(meter.estimated))

    def plus(self, other: PageCost) -> PageCost:
        """Both together."""
        return PageCost(
            self.requests + other.requests,
            self.round_trips + other.round_trips,
            self.read_units + other.read_units,
            self.write_units + other.write_units,
            self.retries + other.retries,
            self.throttles + other.throttles,
            self.milliseconds + other.milliseconds,
            tuple(dict.fromkeys((*self.estimated, *other.estimated))),
        )


class UnreadItem(Struct, frozen=True):
    """An item that its class can't read."""

    kind: str
    address: str
    why: str
    """Without values."""


class View(Struct, frozen=True, kw_only=True):
    """The common part of every page. A page's own view is a subclass with more fields.

    Its values are what may be shown: personal ones are covered by who makes the view, unless they were asked for.
    """

    title: str
    cost: PageCost = PageCost()
    """Filled in when the view is complete."""
    unread: tuple[UnreadItem, ...] = ()
    """The items that its reads passed over."""


class Crumb(Struct, frozen=True):
    """A step of the way to a page."""

    text: str
    address: str


class FailurePage(View, frozen=True, kw_only=True):
    """A page for an error."""

    status: int
    what: str
    hint: str = ""
    code: str = ""
