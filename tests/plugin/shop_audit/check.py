"""What a check reports of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from singletable.flow import Port
from singletable.foundation import Finding, ItemCheck, LayerChecks, Table, place_in, type_in
from singletable.layers import TableLayer, ToolSettings
from singletable.operations import Item


class NameCheck(ItemCheck):
    """Items whose name is blank."""

    def __init__(self, table: Table) -> None:
        self.table = table

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        blank = [item for item in items if item.get("name", {}).get("S", "-").isspace()]
        places = [(type_in(self.table, item), place_in(self.table, item)) for item in blank]
        return [Finding("audit.blank", "its name is blank", type_name, place) for type_name, place in places]


def _checks(table: Table, settings: ToolSettings) -> Iterable[LayerChecks]:
    return [LayerChecks(table, (NameCheck(table),))]


LAYER = TableLayer(checks=_checks)
