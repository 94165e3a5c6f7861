"""The steps that make and drop an index."""

from __future__ import annotations

from collections.abc import Iterator

from singletable.foundation import Table
from singletable.migrations.steps import Applying, Compared, Step, StepPhase
from singletable.tables import (
    MAX_INDEXES,
    IndexProgress,
    create_index,
    describe,
    differences,
    drop_index,
    wait_for_index,
    wait_for_table,
)

_OLD_PROGRAMS = "a program of an older version that still queries it fails from then on"


class AddIndex(Step, frozen=True, tag="add index"):
    """An index is made before the fill, not after. Both cost the same units: DynamoDB charges the writes of its own
    filling as it does those of an update. Made first, its entries are written by the fill, which keeps to a rate,
    reports its units and goes on after a kill; and a program that is already deployed can query it, though it finds all
    items only after the fill. An index that takes another's place has its keys on the items already: DynamoDB fills it
    by itself.
    """

    @classmethod
    def needed(cls, compared: Compared) -> Iterator[tuple[StepPhase, Step]]:
        table, live = compared.table, compared.live.description
        changes = {each.what: each for each in differences(table.definition, live)}
        patterns = _patterns_of(table)
        for name in table.definition.global_indexes:
            index = live.indexes.get(name)
            changed = changes.get(f"index {name} key") or changes.get(f"index {name} projection")
            if index is not None and changed is not None:
                why = f"it has {changed.found}, declared is {changed.declared}: an index can't be changed"
                notes = tuple(f"{pattern} fails until the index is there again" for pattern in patterns.get(name, ()))
                yield StepPhase.INDEXES, DropIndex(name, why, online=False, notes=notes)
                yield StepPhase.INDEXES, cls(name, _MAKE, online=False, notes=notes)
            elif index is None or index.get("IndexStatus") in ("CREATING", "DELETING"):
                notes = tuple(f"{pattern} is complete after the fill" for pattern in patterns.get(name, ()))
                yield StepPhase.INDEXES, cls(name, _MAKE, notes=notes)

    async def run(self, applying: Applying) -> None:
        """An index that an apply before began is waited for; one that is being deleted comes after that."""
        port, definition, name = applying.port, applying.table.definition, self.subject
        live = await describe(port, definition)
        index = live.indexes.get(name) if live is not None else None

        def tell(progress: IndexProgress) -> None:
            said = f"{progress.status.lower()}{', being filled' if progress.is_filling else ''}"
            applying.tell(said=said, done=progress.items, total=progress.table_items)

        if index is not None and index.get("IndexStatus") != "DELETING":
            await wait_for_index(port, definition.name, name, tell)
            return
        await wait_for_table(port, definition.name, without=name)
        await create_index(port, definition, name, tell)


class DropIndex(Step, frozen=True, tag="drop index"):
    """The removal of an index. An undeclared one stays. It goes before others are made only if there are too many."""

    @classmethod
    def needed(cls, compared: Compared) -> Iterator[tuple[StepPhase, Step]]:
        adds = sum(isinstance(step, AddIndex) for _, step in AddIndex.needed(compared))
        live = compared.live.description
        over = len(live.indexes) - len(live.local_indexes) + adds > MAX_INDEXES
        for name in _undeclared(compared):
            if name in live.local_indexes:
                continue
            if compared.record is not None and name in compared.record.indexes:
                phase = StepPhase.ROOM if over else StepPhase.OLD_INDEXES
                yield phase, cls(name, "no class declares it any more", notes=(_OLD_PROGRAMS,))

    async def run(self, applying: Applying) -> None:
        await wait_for_table(applying.port, applying.table.name)
        await drop_index(applying.port, applying.table.definition, self.subject)


_MAKE = "make the index; DynamoDB fills it with the items that have its keys"


def foreign_indexes(compared: Compared) -> list[str]:
    """The indexes that stay: no declaration has ever had them, or they go with their table only."""
    known = compared.record.indexes if compared.record is not None else ()
    local = compared.live.description.local_indexes
    return [
        f"index {name}: {'a local index goes with its table' if name in known else 'it was never declared'}"
        for name in _undeclared(compared)
        if name in local or name not in known
    ]


def _undeclared(compared: Compared) -> list[str]:
    declared = compared.table.definition.indexes
    return [name for name in compared.live.description.indexes if name not in declared]


def _patterns_of(table: Table) -> dict[str, list[str]]:
    patterns: dict[str, list[str]] = {}
    for model in table.models:
        for name, captured in model.indexes.items():
            patterns.setdefault(name, []).append(captured.shown)
    return patterns
