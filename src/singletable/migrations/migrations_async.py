"""Migrations bound to a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from singletable.flow import Rate, about, at_rate, check_awaiting
from singletable.foundation import AwaitingDatabase, Finding, Repaired, Table, TableItems, flows
from singletable.migrations import execution, plans
from singletable.migrations.acceptance import Accepted
from singletable.migrations.apply_lease import check_free
from singletable.migrations.execution import Progress as ApplyProgress
from singletable.migrations.fill import Filled, Progress, fill
from singletable.migrations.kept_counts import PlanReading
from singletable.migrations.model_document import ModelDocument
from singletable.migrations.prices import Prices
from singletable.migrations.steps import Estimate, Outcome, Plan
from singletable.values import check_texts


class AsyncMigrations:
    """The changes of a table that is in use."""

    def __init__(self, db: AwaitingDatabase, table: Table) -> None:
        check_awaiting(db, "AsyncMigrations")
        self.db, self.table = about(db, table), table

    async def plan(
        self,
        *,
        rate: Rate | None = None,
        prices: Prices | None = None,
        sample: float | None = None,
        segments: int | None = None,
        accept: Accepted = (),
        purge: Sequence[str] = (),
        begins: Callable[[Estimate], object] | None = None,
        keep: Path | None = None,
        again: bool = False,
        progress: Callable[[PlanReading], object] | None = None,
        from_export: TableItems | None = None,
        job: str | bool = True,
    ) -> Plan:
        """Predict `apply`: its steps in their order, each with the requests, units, time and money that it takes.

        It compares the declaration, the model that the table was last brought to, and the live table. Where items may
        need a write, it reads the whole table consistently, or the share of it that `sample` says, as 0.01; and what a
        fill compares items with: guards, sources of copies, a node's edges. Otherwise it takes three to six requests.
        `rate` gives each step its time, and is kept to by the reading; `prices` gives it money. `begins` is called
        before the table is read, with the items, requests and units of that by the service's last count, up to six
        hours old on AWS: none where the service gives no size. It is not called where nothing is read. `progress` is
        called after each round of pages, and before each wait for a table that refuses; Throttled after some minutes.
        Writes nothing to the table.

        `keep` is a file, or a directory with a file for each table, for the reading: killed, the next plan with it goes
        on. Ended, the next plan takes its counts and reads nothing, while declaration, record, table and options are
        the same, for a day; `Plan.counted_at` says so. It counts again where items could not be read or where
        a difference may leave them so, or read otherwise, or with `again`.

        The counts of a job, `Jobs(db, shop).begin("plan")`, are taken in the same way from an item of the table, for
        one read more, on any machine; with `job=False` they are not. With its id they are taken even where they refuse
        the plan: by who has waited for it. InvalidRequest for an id whose job has no counts of this plan, of this day.

        With `from_export`, as `export_of(shop, "s3://...")`, the items of that export are counted in place of the
        table's, for no read units; `Plan.as_of` is the moment that it shows. What items lack outside of themselves is
        not counted, and an apply of such a plan counts the table itself first. Corrupt for a damaged export;
        InvalidRequest for one of another table, and with `sample`.

        Where a difference from the record may leave items unreadable, or read otherwise, it counts them. PlanRefused
        where there are any, with five keys of each; `accept` has what to go on with: `("type.changed", "Order.total")`.
        PlanRefused also for another model's table, and for an older program.

        `purge` names removed classes, by their stored types, and indexes: what they left is deleted, as a step of the
        plan. Of a declared class it is the guards of attributes that are not unique any more.
        """
        options: Any = {"segments": segments, "rate": rate, "prices": prices, "sample": sample}
        check_texts(purge=purge)
        options |= {"accept": accept, "purge": purge, "begins": begins, "keep": keep, "again": again}
        options |= {"progress": progress, "from_export": from_export, "job": job}
        return await self.db.run(plans.plan(self.db.port, self.table, **options))

    async def recorded(self, *, before: bool = False) -> ModelDocument | None:
        """The model that the table was last brought to, or the one before; None where there is none. One request.

        Corrupt for the record of a newer version of the library.
        """
        return await self.db.run(plans.recorded(self.db.port, self.table, before=before))

    async def check_free(self, *, by: str = "") -> None:
        """ApplyRefused if another apply has the table. Before a plan that is made to be applied: that reads the table.

        A read unit. Where the other one has died, it waits for half a minute, as an apply does, and writes twice.
        """
        return await self.db.run(check_free(self.db.port, self.table, by))

    async def apply(
        self,
        plan: Plan | None = None,
        *,
        by: str = "",
        rate: Rate | None = None,
        segments: int | None = None,
        progress: ApplyProgress | None = None,
        accept: Accepted = (),
        purge: Sequence[str] = (),
    ) -> Outcome:
        """Bring the table to its declaration: settings, indexes one at a time, a fill, what is taken away, the record.

        Programs may read and write meanwhile. One apply runs at a time, under a lease in the table; killed, the next
        one goes on. With a `plan` it does that plan and nothing else. A second one writes nothing. `by` is stored with
        the lease and the record: who does it. `progress` is called at each step, and while one goes on.

        ApplyRefused if another apply has the table, took over this one's lease, or the plan is out of date;
        PlanRefused, as `plan`: without a plan, or with that of a sample, it counts first, and takes `accept`. Without a
        plan it takes `purge` too.

        The requests and units are those of the plan's steps.
        """
        options: Any = {"by": by, "rate": rate, "segments": segments, "progress": progress}
        check_texts(purge=purge)
        flow = execution.apply(self.db.port, self.table, plan, **options, accept=accept, purge=purge)
        return await self.db.run(flow)

    async def fill(
        self,
        *,
        segments: int | None = None,
        rate: Rate | None = None,
        dry_run: bool = False,
        anew: bool = False,
        progress: Progress | None = None,
    ) -> Filled:
        """Write the index keys that items lack, and items of older schema versions in the current form.

        Deploy the program that writes the new form first: one that doesn't know an index leaves its key alone.
        A fill reads the whole table consistently. It writes each item that needs it once, under the condition that it
        has not changed, and one item more for each hundred. Killed, it goes on where it was, unless `anew`; a second
        one writes nothing. `dry_run` counts and writes nothing. `progress` is called after each round of pages.

        `segments` are read at once: 4, or 1 off AWS. InvalidRequest for others than 1 to 16; Throttled from a table
        that refuses for minutes on end.
        """
        port = at_rate(self.db.port, rate)
        flow = fill(port, self.table, segments=segments, dry_run=dry_run, anew=anew, progress=progress)
        return await self.db.run(flow)

    async def repair(
        self, findings: Sequence[Finding], *, rate: Rate | None = None, dry_run: bool = False
    ) -> list[Repaired]:
        """Mend the findings of `db.check(table)` that have a safe repair; returns the outcome of each, in their order.

        Each is checked again, written under the condition that all it was decided from is unchanged, and checked
        again: no concurrent write is lost. Stale index keys, guards that are missing or of nobody, copies that are
        behind, edge sets that disagree with their edges, and edges without a node can be mended; the rest is `kept`.
        `dry_run` says what would be written. An index key takes one write; the others a transaction of two items, or of
        the node and each edge that its set disagrees about. Two reads more for each. Throttled as `fill`.
        """
        port = at_rate(self.db.port, rate)
        return await self.db.run(flows.repair(port, self.table, findings, dry_run=dry_run))
