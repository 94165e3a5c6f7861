"""The step that deletes what removed classes and indexes left, where a person asked for it."""

from __future__ import annotations

from collections.abc import Iterator

from singletable.errors import Unavailable
from singletable.flow import at_rate
from singletable.migrations.fill import Filled, fill
from singletable.migrations.item_counts import ItemCounts
from singletable.migrations.kept_counts import CountsFile
from singletable.migrations.prediction import count_fill, requests_of
from singletable.migrations.purge import Purge, purge_of
from singletable.migrations.steps import Applying, Compared, Estimate, Planning, Step, StepPhase, StepPrediction
from singletable.tables import projected_in


class PurgeRemains(Step, frozen=True, tag="purge"):
    """It comes after all else, when an index that goes is gone, so that taking its keys away writes no index."""

    remains: Purge = Purge()

    is_optional = True
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
        size, kept = planning.live.description.bytes, CountsFile(port, None, "", ItemCounts(table, []))
        indexes = projected_in(table.definition)
        counted = await count_fill(port, table, indexes, planning.segments, sample, size, kept, purge=self.remains)
        if sample is None and not counted.writes:
            return StepPrediction(None)
        requests = requests_of(counted, planning.segments)
        return StepPrediction(Estimate(counted.writes, requests, counted.read_units + 2.0, counted.write_units))

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


_NO_WAY_BACK = "it can't be undone: export or back up first what you may need"
