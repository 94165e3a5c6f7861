"""Comparison of a declaration with the model that the table was last brought to, and with the live table: what to do.

Each kind of step finds its own steps. This module has the refusals, the differences that stay, and the order.
Undeclared parts are left alone. Parts of the record that the declaration lacks are removed, last.
"""

from __future__ import annotations

from singletable.foundation import Table, entity_name
from singletable.migrations.differences import differences
from singletable.migrations.fill import moving_keys
from singletable.migrations.model_document import ModelDocument, document_of
from singletable.migrations.refusals import PlanRefused
from singletable.migrations.rules import ModelDifference
from singletable.migrations.step_kinds import step_kinds
from singletable.migrations.step_kinds.index_steps import foreign_indexes
from singletable.migrations.step_kinds.setting_steps import unsupported_settings
from singletable.migrations.step_kinds.table_steps import CreateTable, RecordModel
from singletable.migrations.steps import Compared, Plan
from singletable.tables import Description, differences as table_differences


def compare(compared: Compared) -> Plan:
    """The steps from a live table to its declaration. Raises PlanRefused if it can't be done."""
    table, declared, record = compared.table, compared.declared, compared.record
    for former in compared.former:
        _check_record(declared, former)
    phased = sorted((pair for kind in step_kinds() for pair in kind.needed(compared)), key=lambda pair: pair[0])
    steps = [step for _, step in phased]
    if any(step.is_recorded for step in steps) or record != declared or compared.toward is not None:
        steps.append(RecordModel.of(table))
    left = foreign_indexes(compared)
    if record is not None:
        left += moved_types(table, declared, record)
    unsupported = tuple(unsupported_settings(compared))
    return Plan(
        table.name, tuple(steps), tuple(left), unsupported, declared, _differences(compared), purge=compared.purge
    )


def _differences(compared: Compared) -> tuple[ModelDifference, ...]:
    """The declarations that differ from the record, and from the model that an unfinished apply was to bring."""
    names = {model.type: entity_name(model.kind) for model in (*compared.table.models, *compared.table.leaving)}
    pairs = (one for former in compared.former for one in differences(former, compared.declared, names))
    return tuple({difference.place: difference for difference in pairs}.values())


def creation(table: Table) -> Plan:
    """The steps for a table that is missing."""
    return Plan(table.name, (CreateTable.of(table), RecordModel.of(table)), document=document_of(table))


def check_key(table: Table, live: Description) -> None:
    """PlanRefused if a table's key is not the declared one, or a declared local index is missing or another."""
    wrong = [d for d in table_differences(table.definition, live) if d.is_fixed]
    if wrong and wrong[0].what != "key":
        raise PlanRefused(
            f"{wrong[0]}; a local index is made with its table, and can't be added or changed",
            reason="local index",
            table=table.name,
            hint="Declare a global index, Index(...). Or copy the items into a new table, which has the local index: "
            "singletable copy MODULE --from ... --to ... --to-table NAME --keep-personal.",
        )
    if wrong:
        raise PlanRefused(
            f"the table's key is {wrong[0].found}, declared is {wrong[0].declared}, and a table keeps its key",
            reason="changed key",
            table=table.name,
            hint="Declare the key that the table has, as in Table(..., key=(...)), or a table of another name.",
        )


def _check_record(declared: ModelDocument, record: ModelDocument) -> None:
    forms = declared.declared
    both = forms.keys() & record.entities.keys()
    if record.entities and not both:
        raise foreign_table(declared.table, sorted(record.entities), "was brought to a model with")
    for name in sorted(both):
        mine, before = forms[name], record.entities[name]
        if mine.version < before.written_version:
            raise PlanRefused(
                f"type {name} was brought to schema version {before.written_version}; this program has {mine.version}",
                reason="older program",
                table=declared.table,
                hint="Run it from the newer program.",
            )


def foreign_table(table: str, theirs: list[str], how: str) -> PlanRefused:
    """The error for a table whose items are of another model."""
    shown = ", ".join(name or "(none)" for name in theirs[:5]) + (" and others" if len(theirs) > 5 else "")
    return PlanRefused(
        f"the table {how} the types {shown}, and this program doesn't declare them",
        reason="foreign table",
        table=table,
        hint="Name the module of that model, or a table of another name.",
    )


def moved_types(table: Table, declared: ModelDocument, record: ModelDocument) -> list[str]:
    """The parts that can go from the code: keys that classes had before, if an apply has moved their items."""
    return [
        f"{key.shown_with_was}: an apply has moved all items; it can go, once no program writes under the old key"
        for name, key in moving_keys(table)
        if name in declared.leaving.keys() & record.leaving.keys() - record.entities.keys()
        or (
            (name in declared.entities.keys() & record.entities.keys())
            and declared.entities[name].has_key_of(record.entities[name])
        )
    ]
