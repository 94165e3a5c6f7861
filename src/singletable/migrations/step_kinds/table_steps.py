"""The first and the last step: a missing table is created, and the model that a table has is written down."""

from __future__ import annotations

from singletable.foundation import Table, model_for
from singletable.migrations.apply_lease import Held, record_of, record_writes, write_record
from singletable.migrations.items import ModelRecord
from singletable.migrations.steps import Applying, Estimate, Planning, Step, StepPrediction
from singletable.tables import create, size_units


class CreateTable(Step, frozen=True, tag="create table"):
    """Nothing takes it back: a table goes with its items, by `singletable table delete`."""

    makes_table = True

    @classmethod
    def of(cls, table: Table) -> CreateTable:
        indexes = ", ".join(table.definition.indexes)
        return cls(table.name, f"create the table{f' with {indexes}' if indexes else ''}")

    async def predict(self, planning: Planning) -> StepPrediction:
        definition = planning.table.definition
        more = (definition.ttl_attribute is not None) + bool(definition.settings.point_in_time_recovery)
        return StepPrediction(Estimate(requests=1 + more))

    async def run(self, applying: Applying) -> None:
        await create(applying.bare, applying.table.definition)


class RecordModel(Step, frozen=True, tag="record"):
    """The last step of every plan that has any."""

    @classmethod
    def of(cls, table: Table) -> RecordModel:
        return cls(table.name, "write down the model that the table now has")

    async def predict(self, planning: Planning) -> StepPrediction:
        """A transaction: the check of the lease, and the record, over the one before."""
        record = record_of(planning.table, Held("", 0), planning.declared, "", 0.0, planning.record)
        return StepPrediction(Estimate(1, 1, 0.0, record_units(planning.table, record, planning.record)))

    async def run(self, applying: Applying) -> None:
        table, held = applying.table, applying.held
        record = record_of(table, held, applying.document, applying.by, applying.port.now(), applying.record)
        await write_record(applying.port, table, held, record)


def record_units(table: Table, record: ModelRecord, before: ModelRecord | None) -> float:
    """The write units of the transaction that writes a record over the one before."""
    item = None if before is None else model_for(before).item(before)
    _, put = record_writes(table, Held("", 0), record)
    return 2.0 * (1.0 + max(size_units(put.item), size_units(item)))
