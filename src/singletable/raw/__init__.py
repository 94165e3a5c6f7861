"""Raw: plain items of any table, over the same wire: conditions as text, and their values.

    raw = Raw(db, "orders")
    raw.put({"pk": "ORDER#42", "amount": Decimal("9.90")}, where="attribute_not_exists(pk)")
    raw.all(RawQuery("pk = :pk", {":pk": "ORDER#42"}))

Requests, retries, cursors, meters and errors are those of the database. It knows no classes: begin with `items` (values
and texts), then `flows`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.raw.items import RawItem as RawItem
from singletable.raw.queries import RawQuery as RawQuery
from singletable.raw.raw import Raw as Raw, RawTransaction as RawTransaction
from singletable.raw.writes import RawWrites as RawWrites

if TYPE_CHECKING:
    from singletable.raw.raw_async import AsyncRaw as AsyncRaw, AsyncRawTransaction as AsyncRawTransaction

# The awaiting shell brings asyncio.
__getattr__ = late_names(
    __name__,
    raw_async="AsyncRaw AsyncRawTransaction",
)
