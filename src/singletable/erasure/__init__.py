"""Erasure: all that belongs to a person or a tenant is deleted, and a receipt says what was.

    Erasure(db, shop).plan(Customer.by_email("ada@example.org"))
    Erasure(db, shop).apply(Customer.by_email("ada@example.org"))

Read `search` (what belongs to a subject), `records` (how an item goes), `journal` (how a killed one goes on),
`execution`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from singletable.erasure.erasure import Erasure
from singletable.erasure.receipt import Erasing, ErasurePlan, Receipt, Remaining
from singletable.foundation import Belonging, Kept

if TYPE_CHECKING:
    from singletable.erasure.erasure_async import AsyncErasure

__all__ = ["AsyncErasure", "Belonging", "Erasing", "Erasure", "ErasurePlan", "Kept", "Receipt", "Remaining"]


def __getattr__(name: str) -> Any:
    """The awaiting shell is imported at its first use, as it brings asyncio."""
    if name == "AsyncErasure":
        return import_module("singletable.erasure.erasure_async").AsyncErasure
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
