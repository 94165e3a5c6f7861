"""A source of items in place of a table's scans: what reads a whole table may read its export, and takes no units.

A flow reads `source.over(port)` as it reads a table: a scan there has the items of the source, in the same pages and
positions. So what is done with items knows nothing of where they come from. What it reads beside them is still sent.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from singletable.errors import InvalidRequest
from singletable.flow import Port


class TableItems(Protocol):
    """All items of one table as they were at a time, such as `singletable.exchange.export_of(shop, "s3://...")`."""

    @property
    def where(self) -> str:
        """The name of the source, the same for the same items."""
        ...

    @property
    def complete_at(self) -> datetime:
        """The moment that the items show. What was written later is not among them."""
        ...

    def over(self, port: Port) -> Port:
        """The port, with scans of the table answered from here. Other requests are sent. InvalidRequest if the port's
        table is another one."""
        ...


def port_over(port: Port, from_export: TableItems | None, sample: float | None = None) -> Port:
    """The port, or the one that scans an export. InvalidRequest for a sample of an export."""
    if from_export is None:
        return port
    if sample is not None:
        raise InvalidRequest(
            "an export is read whole: a part of it takes no fewer read units", hint="Leave out sample or from_export."
        )
    return from_export.over(port)
