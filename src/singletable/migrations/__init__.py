"""Migrations: bring a table that is in use to what its classes declare, while programs write to it.

    Migrations(db, shop).plan()
    Migrations(db, shop).apply(rate=Rate(write_units=200))

`apply` brings settings, indexes and items to what is declared. `fill` is its part that writes items, `repair`
mends what `db.check` found, `backups` keeps and lists copies to restore. Read `model_document` (what is recorded of the
classes), `form_changes` and `differences` (what changed), `rules` (what that means), `needed` (the write that one item
needs), `fill` (all items: in parts, resumable, each under its condition), `comparison` (what a plan is made of),
`execution` (its steps, under a lease).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.foundation import Repaired as Repaired
from singletable.late_names import late_names
from singletable.migrations.backups import Backups as Backups
from singletable.migrations.fill import Filled as Filled
from singletable.migrations.item_counts import Counted as Counted
from singletable.migrations.kept_counts import PlanReading as PlanReading
from singletable.migrations.migrations import Migrations as Migrations
from singletable.migrations.model_document import (
    ModelDocument as ModelDocument,
    document_of as document_of,
    read_document as read_document,
)
from singletable.migrations.prices import Prices as Prices, prices_of as prices_of, read_prices as read_prices
from singletable.migrations.refusals import ApplyRefused as ApplyRefused, PlanRefused as PlanRefused
from singletable.migrations.rules import ModelDifference as ModelDifference
from singletable.migrations.shared_rate import SharedRate as SharedRate
from singletable.migrations.steps import (
    Doing as Doing,
    Done as Done,
    Estimate as Estimate,
    Outcome as Outcome,
    Plan as Plan,
    Step as Step,
)
from singletable.migrations.two_versions import (
    Cell as Cell,
    Effect as Effect,
    TwoVersions as TwoVersions,
    two_versions as two_versions,
)
from singletable.tables import Backup as Backup, Recovery as Recovery

if TYPE_CHECKING:
    from singletable.migrations.backups_async import AsyncBackups as AsyncBackups
    from singletable.migrations.migrations_async import AsyncMigrations as AsyncMigrations


# The awaiting shells bring asyncio.
__getattr__ = late_names(
    __name__,
    backups_async="AsyncBackups",
    migrations_async="AsyncMigrations",
)
