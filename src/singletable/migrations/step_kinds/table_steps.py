"""The first and the last step: a missing table is created, and the model that a table has is written down."""

from __future__ import annotations

from singletable.foundation import Table, model_for
from singletable.migrations.apply_lease import Held, record_writes, write_record
from singletable.migrations.model_document import document_of
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
        _, put = record_writes(planning.table, Held("", 0), planning.declared, "", 0.0)
        before = None if planning.record is None else model_for(planning.record).item(planning.record)
        return StepPrediction(Estimate(1, 1, 0.0, 2.0 * (1.0 + max(size_units(put.item), size_units(before)))))

    async def run(self, applying: Applying) -> None:
        table = applying.table
        await write_record(applying.port, table, applying.held, document_of(table), applying.by)
