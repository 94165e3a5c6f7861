"""What an application's benchmark has to say: its page, and the naive way to the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from singletable import Database

PAGES: Final = 8
"""Places in the data that each round asks for."""

Ask = Callable[[int], Any]
"""Asks for the page of a number below PAGES: another place in the data each time, the same for the same number."""


class Case(Protocol):
    """One page of one application."""

    name: str
    data: str
    """Which of the data files it reads: a name in `data.APPLICATIONS`."""
    sizes: Sequence[int]
    """Of its data files: items in the table, or in the document."""

    def page(self, db: Database, items: int) -> Ask:
        """As the application asks for it. What it gives is checked by the first call."""
        ...

    def operations(self, db: Database, items: int) -> Ask:
        """What the page asks of the database, from keys that are known beforehand: flows of the library, one by one
        through `Database.run`, into the same typed objects."""
        ...

    def naive(self, db: Database, items: int) -> Ask:
        """The same values from the same table, by a read for each thing that the page shows."""
        ...
