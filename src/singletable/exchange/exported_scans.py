"""Scans that an export answers: what reads a whole table reads the export's files, and takes no read units.

    Stats(db, shop).read(from_export=export_of(shop, "s3://reports/shop/AWSDynamoDB/01693685827463-2d8752fd"))

A page has what a page of the table has: at most a megabyte, or the request's limit, and the key after which the next
one begins. An export is one sequence, so the first segment of a scan has all items, and the others have none. A page
that is asked for again is given again; a reading that goes on after a kill reads the files up to its position first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.exchange.exported_items import ExactItems, ExportedTable
from singletable.exchange.stores import store_at
from singletable.exchange.table_export_files import SUMMARY, open_table_export
from singletable.flow import Operation, Port, Request, Response, Traits, WrappedPort, name_in
from singletable.foundation import Table
from singletable.operations import Item, Key
from singletable.tables import read_units
from singletable.values import item_size

T = TypeVar("T")
_PAGE_ITEMS: Final = 1_000
_PAGE_BYTES: Final = 1 << 20


class ExportedItems:
    """The items of one table in its export: `TableItems`. Made by `export_of`."""

    def __init__(self, table: Table, exported: ExactItems) -> None:
        self.table, self.exported = table, exported

    def __repr__(self) -> str:
        return f"<ExportedItems {self.where}>"

    @property
    def where(self) -> str:
        """The place of the export."""
        return self.exported.where

    @property
    def complete_at(self) -> datetime:
        """The moment that the items show."""
        return self.exported.complete_at

    def over(self, port: Port) -> Port:
        """The port, with scans of the table answered from the export. InvalidRequest if its table has another name."""
        there = name_in(port.names[self.table.name])
        name = self.exported.base.summary.table if isinstance(self.exported, ExportedTable) else there
        if name != there:
            raise InvalidRequest(
                f"{self.where} is an export of table {name}, and this one is {port.names.shown(self.table.name)}",
                table=self.table.name,
                hint=f"Name an export of {there}, or the table of the export: --table-name {self.table.name}={name}.",
            )
        return _ExportScans(port, self)


def export_of(table: Table, *places: str) -> ExportedItems:
    """An export of a table: one that DynamoDB made, in S3 or a copied directory, with the incremental ones after it; or
    a folder of `Exports.export` with keys and personal values.

    Up to four reads of its manifests; the items are read when a flow asks for them. A data file is compared with its
    checksum before an item of it is used. Incremental exports are held in memory. NotConfigured if a manifest is
    missing; Corrupt if one was changed; InvalidRequest for exports of several tables, or with a gap between them.
    """
    if len(places) == 1 and store_at(places[0]).read(SUMMARY) is None:
        from singletable.exchange.exported_folder import exported_at  # noqa: PLC0415 it loads pyarrow

        return ExportedItems(table, exported_at(table, places))
    return ExportedItems(table, ExportedTable(table, [open_table_export(place) for place in places]))


class _ExportScans(WrappedPort):
    """A port that reads the pages of a table's scans from its export."""

    def __init__(self, port: Port, source: ExportedItems) -> None:
        super().__init__(port)
        self._name = port.names[source.table.name]
        self._pages = _ExportPages(source)

    @property
    def traits(self) -> Traits:
        """Those of the engine, where a table is read in one segment."""
        return replace(self._port.traits, segments_shift=True)

    async def send(self, operation: Operation[T]) -> T:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        scans = [self._scan(operation.request(self.names)) for operation in operations]
        sent = [operation for operation, scan in zip(operations, scans, strict=True) if scan is None]
        values = iter(await self._port.send_all(sent))  # also nothing: a port under a lease shows then that it lives
        calls = [partial(self._pages.answer, scan) for scan in scans if scan is not None]
        answers = iter(await self._port.call_all(calls)) if calls else iter(())
        pairs = zip(operations, scans, strict=True)
        return [next(values) if scan is None else one.answer(next(answers))[0] for one, scan in pairs]

    def _scan(self, request: Request) -> dict[str, Any] | None:
        """The body of a scan of all items of the table; None for any other request."""
        if request.operation != "Scan":
            return None
        body: dict[str, Any] = msgspec.json.decode(request.body)
        is_whole = "IndexName" not in body and "FilterExpression" not in body
        return body if is_whole and body["TableName"] == self._name else None


class _ExportPages:
    """The pages of one reading of an export, one after the other."""

    def __init__(self, source: ExportedItems) -> None:
        self._source, self._key = source, tuple(filter(None, source.table.definition.key))
        self._start: Key | None = None
        self._page: dict[str, Any] | None = None
        self._left: Iterator[Item] = iter(())
        self._next: Item | None = None

    def answer(self, scan: dict[str, Any]) -> Response:
        """The answer to a scan, as the service would give it."""
        if scan.get("Segment", 0):
            return Response(200, b"{}")
        start = scan.get("ExclusiveStartKey")
        if self._page is None or start != self._start:
            self._page, self._start = self._read(start, scan), start
        return Response(200, msgspec.json.encode(self._page))

    def _read(self, start: Key | None, scan: dict[str, Any]) -> dict[str, Any]:
        if self._page is None or start is None or start != self._page.get("LastEvaluatedKey"):
            self._begin(start)
        items: list[Item] = []
        size, most = 0, min(scan.get("Limit", _PAGE_ITEMS), _PAGE_ITEMS)
        while self._next is not None and len(items) < most and size < _PAGE_BYTES:
            items.append(self._next)
            size += item_size(self._next)
            self._next = next(self._left, None)
        units = read_units(size, consistent=scan.get("ConsistentRead", False))
        page = {"Items": items, "ScannedCount": len(items), "ConsumedCapacity": {"CapacityUnits": units}}
        return page if self._next is None else {**page, "LastEvaluatedKey": self._key_of(items[-1])}

    def _begin(self, start: Key | None) -> None:
        """Go to the item after a key. InvalidRequest if the export has no such item."""
        self._left = self._source.exported.items()
        if start is not None and not any(self._key_of(item) == start for item in self._left):
            raise InvalidRequest(
                f"{self._source.where} lacks the item at which the earlier reading ended",
                table=self._source.table.name,
                hint="Go on with the export that it began with, or begin again.",
            )
        self._next = next(self._left, None)

    def _key_of(self, item: Item) -> Key:
        return {name: item[name] for name in self._key}
