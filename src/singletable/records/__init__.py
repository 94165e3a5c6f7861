"""Records: what is sent for the entities of a schema. Reads, writes, batches, transactions, cursors, checks.

Flows are `async def` over a port; `flows` lists those that the shells run. A read goes from a pattern's value through
`query_request` to `read`; a write from `verbs` (what each verb is) through `send` (one alone) or `transactions`.
`conditions` holds the write rules. Layers above import `singletable.foundation`, and nothing deeper.
"""

from typing import TYPE_CHECKING

from singletable.later import later
from singletable.records import flows
from singletable.records.cursors import CursorSeal
from singletable.records.read import DEFAULT_MAX_PAGES, Page
from singletable.records.transactions import Failure, Transaction

if TYPE_CHECKING:
    from singletable.records.check import Finding
    from singletable.records.explain import Explainable, Explained

__all__ = [
    "DEFAULT_MAX_PAGES",
    "CursorSeal",
    "Explainable",
    "Explained",
    "Failure",
    "Finding",
    "Page",
    "Transaction",
    "flows",
]

# For tools and tests: a program that serves requests needs none of it.
_LATE = {
    "singletable.records.check": ("Finding",),
    "singletable.records.explain": ("Explainable", "Explained"),
}
__getattr__ = later(globals(), {name: module for module, names in _LATE.items() for name in names})
