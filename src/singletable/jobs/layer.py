"""Jobs as a layer of their table: the check of their items."""

from __future__ import annotations

from collections.abc import Iterator

from singletable.foundation import LayerChecks, Table
from singletable.jobs.check import JobCheck
from singletable.layers import TableLayer, ToolSettings


def _checks(table: Table, settings: ToolSettings) -> Iterator[LayerChecks]:
    """None of a foreign table, whose jobs are in a table of their own."""
    if table.own_items is None and not table.definition.foreign:
        yield LayerChecks(table, (JobCheck(table),))


LAYER = TableLayer(checks=_checks)
