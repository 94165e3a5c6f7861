"""The step that brings all items to what their classes declare: a fill, under the lease, at the rate of the apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from singletable.errors import Unavailable
from singletable.flow import at_rate
from singletable.foundation import ScanSegment, Table, model_for, place_in, ready
from singletable.migrations.apply_lease import write_record
from singletable.migrations.fill import Filled, fill
from singletable.migrations.items import ModelRecord
from singletable.migrations.model_document import ModelDocument, stale_types
from singletable.migrations.prediction import FillCount, FillForecast, count_fill, requests_of, segments_to_read
from singletable.migrations.refusals import ApplyRefused
from singletable.migrations.step_kinds.table_steps import record_units
from singletable.migrations.steps import Applying, Compared, Estimate, Live, Planning, Step, StepPhase, StepPrediction
from singletable.operations import Item
from singletable.tables import Projected, describe, projected, projected_in

_FILLS = 3
"""The number of times a fill is begun for items that others changed each time."""


class FillItems(Step, frozen=True, tag="fill"):
    """It is needed if no record says that all items are as declared; a reading of the table may find that none has
    to be written: one that is made now, as of an earlier one items may have come since."""

    is_optional = True
    counts = True
    reads = ""

    @classmethod
    def needed(cls, compared: Compared) -> Iterator[tuple[StepPhase, Step]]:
        table, declared = compared.table, compared.declared
        if compared.record is None:
            what = "bring all items to what their classes declare; no record says that they are"
            yield StepPhase.ITEMS, cls(table.name, what)
            return
        stale = {name: former for former in compared.former for name in stale_types(declared, former)}
        if stale:
            changes = ", ".join(_change(name, declared, stale[name]) for name in sorted(stale))
            yield StepPhase.ITEMS, cls(table.name, f"rewrite items: {changes}")

    async def predict(self, planning: Planning) -> StepPrediction:
        assert planning.live is not None
        table, record = planning.table, _toward(planning.record, planning.declared)
        chosen = segments_to_read(table, planning.segments, planning.sample, planning.live.description.bytes)
        counted = await count_fill(self.reading(planning, chosen), planning.segments)
        if planning.is_proof(planning.kept) and not counted.writes and not counted.gaps:
            return StepPrediction(None, _unread(counted))
        items, requests = counted.writes + counted.gaps, requests_of(counted, planning.segments)
        read_units = counted.read_units + 2.0  # the two reads of the parts
        units = counted.write_units
        if record is not None:
            requests, units = requests + 1, units + record_units(table, record, planning.record)
        return StepPrediction(Estimate(items, requests, read_units, units), _unread(counted), record)

    def reading(self, planning: Planning, segments: Sequence[ScanSegment]) -> FillForecast:
        assert planning.live is not None
        table, record = planning.table, _toward(planning.record, planning.declared)
        later = {} if record is None else _placed(table, record)
        run = FillForecast(
            planning.port,
            table,
            _indexes(table, planning.live),
            segments,
            planning.kept,
            later,
            is_sample=planning.sample is not None,
            is_divided=planning.is_divided,
        )
        run.gaps = None if planning.is_exported else run.gaps
        return run

    async def run(self, applying: Applying) -> None:
        await ready(applying.bare, applying.table)
        await _check_targets(applying)
        if (record := _toward(applying.record, applying.document)) is not None:
            await write_record(applying.port, applying.table, applying.held, record)

        def tell(filled: Filled) -> None:
            applying.tell(said=f"{filled.seen} items read, {filled.written} written", done=filled.seen)

        filled = Filled()
        for _ in range(_FILLS):
            port = at_rate(applying.port, applying.rate)
            filled = await fill(port, applying.table, segments=applying.segments, progress=tell)
            applying.unreadable, applying.unknown = filled.unreadable, filled.unknown
            _check_filled(applying.table, filled)
            if not filled.contended:
                return
        raise Unavailable(
            f"{filled.contended} items changed between each read and write",
            table=applying.table.name,
            hint="Apply again when fewer programs write them; it goes on.",
        )


def _toward(record: ModelRecord | None, declared: ModelDocument) -> ModelRecord | None:
    """The record with the model that items are rewritten for: another program's plan sees it, until the record says
    that all are. None if there is no record, or if it says so already."""
    if record is None or record.toward == declared.packed:
        return None
    return replace(record, toward=declared.packed)


def _placed(table: Table, record: ModelRecord) -> dict[tuple[str, str], Item]:
    """The record by its place; none if it is in another table, with keys of its own."""
    model = model_for(record)
    if model.table is not table:
        return {}
    item = model.item(record)
    return {place_in(table, item): item}


async def _check_targets(applying: Applying) -> None:
    """ApplyRefused if a table that items move to is missing."""
    for target in applying.table.targets:
        await ready(applying.bare, target)
        if await describe(applying.port, target.definition) is None:
            raise ApplyRefused(
                f"items of {applying.table.name} move to table {target.name}, which is missing",
                reason="missing table",
                table=applying.table.name,
                hint=f"Apply {target.name} first: it makes the table.",
            )


def _check_filled(table: Table, filled: Filled) -> None:
    """ApplyRefused if items stay under an old key, or unique values have no guard: the record would deny it."""
    stay = [
        finding for finding in (*filled.twice, *filled.unreadable) if finding.code in ("key.twice", "key.immovable")
    ]
    taken = [finding for finding in filled.unfilled if finding.code == "guard.taken"]
    if taken:
        raise ApplyRefused(
            f"{len(taken)} items have a unique value that another item has, as of type {taken[0].type}",
            reason="values not unique",
            table=table.name,
            hint="`singletable fill` names both of each. Change or delete one, and apply again.",
        )
    if stay:
        raise ApplyRefused(
            f"{len(stay)} items can't be moved to their new key, as of type {stay[0].type}: {stay[0].what}",
            reason="items not moved",
            table=table.name,
            hint="`singletable fill` names them. Put or delete the right one of each, and apply again.",
        )


def _indexes(table: Table, live: Live) -> list[Projected]:
    """The indexes while the fill runs: the declared ones, and the ones that are dropped after it, or stay."""
    definition = table.definition
    others = {n: raw for n, raw in live.description.indexes.items() if n not in definition.indexes}
    return [*projected_in(definition), *(_index(name, raw, definition.key) for name, raw in others.items())]


def _index(name: str, raw: Any, table_keys: tuple[str, str]) -> Projected:
    keys = tuple(str(key["AttributeName"]) for key in raw.get("KeySchema", ()))
    return projected(name, keys, table_keys, raw.get("Projection", {}))


def _unread(counted: FillCount) -> tuple[str, ...]:
    unreadable = f"{counted.unreadable} items that their class can't read: `singletable fill --dry-run` names them"
    unknown = f"{counted.unknown} items of a type that no class here has"
    return (*([unreadable] if counted.unreadable else ()), *([unknown] if counted.unknown else ()))


def _change(name: str, declared: ModelDocument, record: ModelDocument) -> str:
    """The change of a type's items."""
    if name in declared.leaving:
        return f"{name} moves to table {declared.leaving[name].other_table}"
    mine, before = declared.entities[name], record.classes[name]
    if mine.becomes not in ((), before.becomes):
        return f"{name} becomes {', '.join(mine.becomes)}"
    if not mine.has_key_of(before):
        return f"{name} moves from {' / '.join(before.key)} to {' / '.join(mine.key)}"
    if mine.version != before.version:
        return f"{name} to version {mine.version}"
    if mine.stored_as != before.stored_as:
        return f"{name} in the form of version {mine.written_version}"
    added = [part for part in mine.outside if part not in before.outside]
    return f"{name} with {', '.join(added) or 'its index keys'}"
