"""Migrations: bring a table that is in use to what its classes declare, while programs write to it.

    Migrations(db, shop).plan()
    Migrations(db, shop).apply(rate=Rate(write_units=200))

`apply` brings settings, indexes and items to what is declared. `fill` is its part that writes items, `repair`
mends what `db.check` found. Read `needed` (the
write that one item needs), `fill` (all items: in parts, resumable, each under its condition), `comparison` (what a plan
is made of), `execution` (its steps, under a lease).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.foundation import Repaired
from singletable.late_names import late_names
from singletable.migrations.backups import Backups
from singletable.migrations.fill import Filled
from singletable.migrations.migrations import Migrations
from singletable.migrations.prices import Prices, prices_of, read_prices
from singletable.migrations.refusals import ApplyRefused, PlanRefused
from singletable.migrations.shared_rate import SharedRate
from singletable.migrations.steps import Doing, Done, Estimate, Outcome, Plan, Step
from singletable.tables import Backup, Recovery

if TYPE_CHECKING:
    from singletable.migrations.backups_async import AsyncBackups
    from singletable.migrations.migrations_async import AsyncMigrations

__all__ = [
    "ApplyRefused",
    "AsyncBackups",
    "AsyncMigrations",
    "Backup",
    "Backups",
    "Doing",
    "Done",
    "Estimate",
    "Filled",
    "Migrations",
    "Outcome",
    "Plan",
    "PlanRefused",
    "Prices",
    "Recovery",
    "Repaired",
    "SharedRate",
    "Step",
    "prices_of",
    "read_prices",
]

# The awaiting shells bring asyncio.
__getattr__ = late_names(
    __name__,
    backups_async="AsyncBackups",
    migrations_async="AsyncMigrations",
)
