"""Records: what is sent for the entities of a schema. Reads, writes, batches, transactions, cursors, checks.

Flows are `async def` over a port; `flows` lists those of the shells. A read goes from a pattern's value through
`query_request` to `read`; a write from `entity_writes` and `item_writes` (what each verb is) through `send` (one alone)
or `transactions`. `placement` says what verbs do about items that lie elsewhere, `conditions` holds the write rules,
`compiled_writes` keeps their texts.
Layers above import `singletable.foundation`, and nothing deeper.
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.records import flows as flows
from singletable.records.cursors import CursorSeal as CursorSeal
from singletable.records.page import Page as Page
from singletable.records.read import DEFAULT_MAX_PAGES as DEFAULT_MAX_PAGES
from singletable.records.unreadable import OnUnreadable as OnUnreadable, Unreadable as Unreadable

if TYPE_CHECKING:
    from singletable.records.check_passes import Layer as Layer
    from singletable.records.check_run import (
        CheckOptions as CheckOptions,
        CheckRound as CheckRound,
        CheckState as CheckState,
        RepairMode as RepairMode,
    )
    from singletable.records.explain import (
        Explainable as Explainable,
        Explained as Explained,
        Explanation as Explanation,
    )
    from singletable.records.findings import Finding as Finding
    from singletable.records.segments import MOST_SEGMENTS as MOST_SEGMENTS, usual_segments as usual_segments
    from singletable.records.table_items import TableItems as TableItems
    from singletable.records.transaction_block import BlockingTransaction as BlockingTransaction
    from singletable.records.transaction_block_async import AwaitingTransaction as AwaitingTransaction
    from singletable.records.transactions import Transaction as Transaction

# For tools and tests, and for who writes; each shell has its own transaction.
__getattr__ = late_names(
    __name__,
    check_passes="Layer",
    check_run="CheckOptions CheckRound CheckState RepairMode",
    explain="Explainable Explained Explanation",
    findings="Finding",
    table_items="TableItems",
    transaction_block="BlockingTransaction",
    transaction_block_async="AwaitingTransaction",
    transactions="Transaction",
    segments="MOST_SEGMENTS usual_segments",
)
