"""Carries an erasure out: search, delete the deepest first, and search again until only the subject is left; then it.

Killed anywhere, the same call goes on: the subject goes last, so all that is left is found by it. One erasure or apply
works on a table at a time, under the lease of applies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from singletable.documents import BlobStore
from singletable.erasure.journal import BATCH, Journal, at, open_journal
from singletable.erasure.receipt import Erasing, ErasurePlan, Receipt, beside_mentions, remaining
from singletable.erasure.scan_job import ScanJobs, forget_scans
from singletable.erasure.search import ErasableItems, Root, SubjectSearch, root_of
from singletable.errors import NotFound, SingletableError
from singletable.flow import Meter, Port, Rate, at_rate
from singletable.foundation import (
    Belonging,
    CursorSeal,
    HasBelongings,
    Kept,
    LayerBelongings,
    Query,
    Subject,
    Table,
    TableItems,
    belongings_of,
)
from singletable.layers import belongings_of as layer_belongings
from singletable.migrations.flows import LeasedPort, release, take
from singletable.schema import Whole

Progress = Callable[[Erasing], object]
SEARCHES = 10
"""The number of searches while writers add to the subject."""


async def plan(
    port: Port,
    table: Table,
    asked: Query[Any] | Whole[Any],
    parts: Sequence[LayerBelongings],
    from_export: TableItems | None = None,
    jobs: ScanJobs | None = None,
) -> ErasurePlan:
    """Predict an erasure. Raises NotFound if nothing belongs to the subject. Writes nothing."""
    root = root_of(table, asked)
    with Meter() as meter:
        search = SubjectSearch(port, table, parts, from_export, jobs)
        items = await search.run(root)
    left_out = tuple(text for part in parts for text in part.left_out)
    as_of = None if from_export is None else from_export.complete_at
    if as_of is not None and search.has_scanned:
        left_out += (f"what was written since {as_of:%Y-%m-%d %H:%M:%S} UTC: the erasure scans the table for it",)
    if items.is_empty and not items.kept:
        raise nothing(table, root, as_of if search.has_scanned else None)
    read_units = meter.read_units + (0.0 if jobs is None else jobs.read_units)
    return ErasurePlan(table.name, root.name, tuple(items.all), tuple(items.kept), left_out, read_units, as_of)


async def apply(
    port: Port,
    table: Table,
    asked: Query[Any] | Whole[Any],
    parts: Sequence[LayerBelongings],
    *,
    by: str = "",
    rate: Rate | None = None,
    progress: Progress | None = None,
    from_export: TableItems | None = None,
    jobs: ScanJobs | None = None,
) -> Receipt:
    """Erase, or go on with an erasure of the same subject that was ended. ApplyRefused, NotFound."""
    root = root_of(table, asked)
    with Meter() as meter:
        held = await take(port, table, by)
        try:
            leased = LeasedPort(at_rate(port, rate), table, held)
            leased.doing = f"erase {root.name}"
            run = ErasureRun(leased, table, parts, root, by, progress, from_export, jobs)
            await run.all()
        finally:
            with suppress(SingletableError):
                await release(port, table, held)
        left = await remaining(port, table, run.journal.record.ended_at)
        layers = [place for part in parts for place in part.remains()]
        left = (*beside_mentions(table, run.journal.record.cleared), *layers, *left)
    return run.receipt(left, meter)


def parts_of(
    table: Table, layers: Sequence[HasBelongings], seal: CursorSeal, blobs: BlobStore | None = None
) -> list[LayerBelongings]:
    """The layers of an erasure: the given ones, and the others that this program declares for the table."""
    given = belongings_of(table, layers)
    known = {part.identity for part in given}
    declared = (layer.belongings() for layer in layer_belongings(table, seal, blobs))
    parts = [*given, *(part for part in declared if not part.identity or part.identity not in known)]
    for part in parts:
        part.beside(parts)
    return parts


def nothing(table: Table, root: Root, as_of: datetime | None = None) -> NotFound:
    """The error of a search that found nothing: of a table, or of an export of a moment."""
    when = "" if as_of is None else f", as of {as_of:%Y-%m-%d %H:%M:%S} UTC"
    hint = "Look at the arguments. An item that was erased before is in no table any more."
    if as_of is not None:
        hint += " Items written since the export are found without it."
    return NotFound(f"nothing belongs to what {root.name} names{when}", table=table.name, operation="erase", hint=hint)


class ErasureRun:
    """One run of an erasure."""

    journal: Journal

    def __init__(
        self,
        port: LeasedPort,
        table: Table,
        parts: Sequence[LayerBelongings],
        root: Root,
        by: str,
        progress: Progress | None,
        from_export: TableItems | None = None,
        jobs: ScanJobs | None = None,
    ) -> None:
        self.port, self.table, self.root, self.by, self.jobs = port, table, root, by, jobs
        self.parts, self.progress, self.from_export = parts, progress, from_export
        self.known: dict[tuple[str, str], Subject] = {}
        self.named: set[tuple[str, str]] = set() if root.subject is None else {root.subject.place}
        """The places of all subjects, which scans may name."""
        self.searches, self.done, self.total = 0, 0, 0
        self.looked = at(port.now())

    async def all(self) -> None:
        """Everything but the subject, until there is nothing more of it; then the subject, and what came meanwhile."""
        self.journal = await open_journal(self.port, self.table, self.root.name, self.root.text, self.by)
        items = await self._first()
        if self.journal.is_stored:
            await self.journal.resumed(items.all)
        elif items.is_empty:
            await forget_scans(self.port, self.table, self.named)
            raise nothing(self.table, self.root)
        while self.searches < SEARCHES and any(below := _below(items)):
            await self._delete(below)
            items = await self._search()
        await self._delete(items.in_order)
        while self.searches <= SEARCHES and not (items := await self._search()).is_empty:
            await self._delete(items.in_order)
        self.found = items
        await forget_scans(self.port, self.table, self.named)
        await self.journal.close()

    async def _first(self) -> ErasableItems:
        """All that is to be deleted. Candidates of an export, and of a scan that a killed process has begun, are
        followed in the table before anything is deleted: what was written since may be found by one of them alone."""
        # A run that goes on looks in the table: it counts what the earlier one has deleted by what is still there.
        items = await self._search(None if self.journal.is_stored else self.from_export)
        is_old = self.jobs is not None and self.jobs.has_gone_on
        if not is_old and (self.from_export is None or self.journal.is_stored):
            return items
        return (
            await SubjectSearch(self.port, self.table, self.parts, jobs=self.jobs).closed(self.root, items)
            or await self._search()
        )

    async def _search(self, from_export: TableItems | None = None) -> ErasableItems:
        self.searches += 1
        self.looked = at(self.port.now())
        known, again = list(self.known.values()), self.journal.record.again
        search = SubjectSearch(self.port, self.table, self.parts, from_export, self.jobs)
        items = await search.run(self.root, known, again)
        if self.jobs is not None:
            self.jobs.goes_on = False
        subjects = (belonging.subject for level in items.levels for belonging in level)
        self.named.update(subject.place for subject in subjects if subject is not None)
        for belonging in items.levels[0] if items.levels else ():
            if belonging.subject is not None:
                self.known[belonging.place] = belonging.subject
        self.total = self.done + len(items.all)
        return items

    async def _delete(self, groups: Sequence[Sequence[Belonging]]) -> None:
        for group in groups:
            for i in range(0, len(group), BATCH):
                await self._batch(group[i : i + BATCH])

    async def _batch(self, batch: Sequence[Belonging]) -> None:
        await self.journal.begin(batch)
        results: dict[int, bool] = {}
        alone = [belonging for belonging in batch if belonging.together is None]
        calls: list[Callable[[], Any]] = [partial(belonging.erase, self.port) for belonging in alone]
        for belonging, done in zip(alone, await self.port.call_all(calls), strict=True):
            results[id(belonging)] = done
        for together in dict.fromkeys(belonging.together for belonging in batch if belonging.together is not None):
            some = [belonging for belonging in batch if belonging.together is together]
            for belonging, done in zip(some, await together(self.port, some), strict=True):
                results[id(belonging)] = done
        self.journal.end(batch, [results[id(belonging)] for belonging in batch])
        self.done += len(batch)
        if self.progress is not None:
            self.progress(Erasing(self.done, self.total, self.searches))

    def receipt(self, left: Any, meter: Meter) -> Receipt:
        record, items = self.journal.record, self.found
        kept = [*items.kept]
        if not items.is_empty:
            kept.append(Kept(self.root.name, "writers go on adding to it: end them, and erase again", len(items.all)))
        return Receipt(
            self.table.name,
            self.root.name,
            record.erasure,
            record.by,
            record.started_at,
            record.ended_at,
            self.looked,
            record.deleted,
            record.cleared,
            tuple(kept),
            tuple(text for part in self.parts for text in part.left_out),
            left,
            record.runs,
            meter.requests,
            meter.read_units + (0.0 if self.jobs is None else self.jobs.read_units),
            meter.write_units + (0.0 if self.jobs is None else self.jobs.write_units),
        )


def _below(items: ErasableItems) -> list[list[Belonging]]:
    """All but the subject's own items."""
    return [group for group in (items.clears, *reversed(items.levels[1:])) if group]
