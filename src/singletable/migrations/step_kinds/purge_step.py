"""The step that deletes what removed classes and indexes left, where a person asked for it."""

from __future__ import annotations

from collections.abc import Iterator

from singletable.errors import Unavailable
from singletable.flow import at_rate
from singletable.migrations.apply_lease import Held, record_of
from singletable.migrations.fill import Filled, fill
from singletable.migrations.items import ModelRecord
from singletable.migrations.model_document import ModelDocument, read_document
from singletable.migrations.prediction import FillForecast, count_fill, requests_of, segments_to_read
from singletable.migrations.purge import Purge, purge_of
from singletable.migrations.step_kinds.table_steps import RecordModel, record_units
from singletable.migrations.steps import Applying, Compared, Estimate, Planning, Step, StepPhase, StepPrediction
from singletable.tables import projected_in


class PurgeRemains(Step, frozen=True, tag="purge"):
    """It comes after all else, when an index that goes is gone, so that taking its keys away writes no index."""

    remains: Purge = Purge()

    is_optional = True
    reads = "purge"
    is_recorded = False

    @classmethod
    def needed(cls, compared: Compared) -> Iterator[tuple[StepPhase, Step]]:
        if compared.purge:
            live = compared.live.description.indexes
            remains = purge_of(compared.table, compared.former, compared.purge, live)
            parts = [f"items of type {name}, and their guards" for name in remains.types]
            parts += [f"attribute {name}" for name in remains.attributes]
            what = f"delete {'; '.join(parts)}"
            yield StepPhase.REMAINS, cls(", ".join(compared.purge), what, notes=(_NO_WAY_BACK,), remains=remains)

    async def predict(self, planning: Planning) -> StepPrediction:
        assert planning.live is not None
        port, table, sample = planning.port, planning.table, planning.sample
        size, kept = planning.live.description.bytes, planning.kept.of("purge")
        indexes, chosen = projected_in(table.definition), segments_to_read(table, planning.segments, sample, size)
        is_sample = sample is not None
        run = FillForecast(port, table, indexes, chosen, kept, {}, is_sample=is_sample, purge=self.remains)
        counted = await count_fill(run, planning.segments)
        if planning.is_proof(kept) and not counted.writes:
            return StepPrediction(None)
        requests, units = requests_of(counted, planning.segments), counted.write_units
        declared = planning.declared.with_purged(counted.purged)
        if counted.purged and _is_recorded(planning.record, planning.declared):
            record = record_of(table, Held("", 0), declared, "", 0.0, planning.record)
            requests, units = requests + 1, units + record_units(table, record, planning.record)
        takes = Estimate(counted.writes, requests, counted.read_units + 2.0, units)
        return StepPrediction(takes, declared=declared)

    async def run(self, applying: Applying) -> None:
        def tell(filled: Filled) -> None:
            applying.tell(said=f"{filled.seen} items read, {filled.written} written", done=filled.written)

        port = at_rate(applying.port, applying.rate)
        filled = await fill(port, applying.table, segments=applying.segments, purge=self.remains, progress=tell)
        if filled.contended:
            raise Unavailable(
                f"{filled.contended} items changed between each read and write",
                table=applying.table.name,
                hint="Apply again when fewer programs write them; it goes on.",
            )
        is_last = _is_recorded(applying.record, applying.document)
        applying.document = applying.document.with_purged(filled.purged)
        if filled.purged and is_last:
            await RecordModel.of(applying.table).run(applying)


def _is_recorded(record: ModelRecord | None, document: ModelDocument) -> bool:
    """Whether the plan has no step that records the model, so that a purge records its counts itself."""
    return record is not None and record.toward is None and read_document(record.packed or record.model) == document


_NO_WAY_BACK = "it can't be undone: export or back up first what you may need"
