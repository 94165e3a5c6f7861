"""Erasure: all that belongs to a person or a tenant is deleted, and a receipt says what was.

    Erasure(db, shop).plan(Customer.by_email("ada@example.org"))
    Erasure(db, shop).apply(Customer.by_email("ada@example.org"))

Read `search` (what belongs to a subject), `records` (how an item goes), `journal` (how a killed one goes on),
`execution`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.erasure.erasure import Erasure as Erasure
from singletable.erasure.receipt import (
    Erasing as Erasing,
    ErasurePlan as ErasurePlan,
    Receipt as Receipt,
)
from singletable.erasure.scan_job import SharedScans as SharedScans
from singletable.foundation import Belonging as Belonging, Kept as Kept, Remaining as Remaining
from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.erasure.erasure_async import AsyncErasure as AsyncErasure


# The awaiting shell brings asyncio.
__getattr__ = late_names(
    __name__,
    erasure_async="AsyncErasure",
)
