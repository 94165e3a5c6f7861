"""Exchange: what goes out of a table and comes in, as typed datasets; and copies of tables.

    Exports(db, shop).export("exports")                             # a folder of Parquet, one dataset an entity class
    Imports(other, shop).run("exports")                             # and into a table again
    TableCopy(db, other, shop).run(sample=0.01, follow_edges=True)  # a slice of a table, with masked personal values

Read `datasets` (an entity class as columns, items as rows and back), `manifest` (what a folder holds), `stores` (a
directory, or S3), `export` (the run: a parallel scan, in sections that a killed run goes on from), `row_import` (rows
into items, by the library's own writes), `table_copy` (a table or a slice of it in another), `masks`, `exported_items`
(DynamoDB's own exports to S3, read as a scan would be). All but copies need `pip install 'singletable[reports]'`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from singletable.errors import NotConfigured
from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.exchange.bad_rows import BadRow
    from singletable.exchange.copies import TableCopy
    from singletable.exchange.copies_async import AsyncTableCopy
    from singletable.exchange.datasets import UNKNOWN, Dataset, datasets_of
    from singletable.exchange.export import Exported
    from singletable.exchange.exports import Exports
    from singletable.exchange.exports_async import AsyncExports
    from singletable.exchange.formats import Format
    from singletable.exchange.imports import Imports
    from singletable.exchange.imports_async import AsyncImports
    from singletable.exchange.left_out import LeftOut
    from singletable.exchange.manifest import DataFile, DatasetFiles, Manifest, read_manifest
    from singletable.exchange.row_import import Imported
    from singletable.exchange.stores import DirectoryStore, ObjectStore, Store, store_at
    from singletable.exchange.table_copy import Copied
    from singletable.exchange.table_exports import TableExports
    from singletable.exchange.table_exports_async import AsyncTableExports
    from singletable.tables import TableExport

__all__ = [
    "UNKNOWN",
    "AsyncExports",
    "AsyncImports",
    "AsyncTableCopy",
    "AsyncTableExports",
    "BadRow",
    "Copied",
    "DataFile",
    "Dataset",
    "DatasetFiles",
    "DirectoryStore",
    "Exported",
    "Exports",
    "Format",
    "Imported",
    "Imports",
    "LeftOut",
    "Manifest",
    "ObjectStore",
    "Store",
    "TableCopy",
    "TableExport",
    "TableExports",
    "datasets_of",
    "read_manifest",
    "store_at",
]

_find = late_names(
    __name__,
    copies="TableCopy",
    copies_async="AsyncTableCopy",
    datasets="UNKNOWN Dataset datasets_of",
    export="Exported",
    exports="Exports",
    exports_async="AsyncExports",
    formats="Format",
    bad_rows="BadRow",
    row_import="Imported",
    imports="Imports",
    imports_async="AsyncImports",
    left_out="LeftOut",
    manifest="DataFile DatasetFiles Manifest read_manifest",
    stores="DirectoryStore ObjectStore Store store_at",
    table_copy="Copied",
    table_exports="TableExport TableExports",
    table_exports_async="AsyncTableExports",
)
_WITHOUT_ARROW: Final = ("AsyncTableCopy", "Copied", "TableCopy")


def __getattr__(name: str) -> Any:
    if name in __all__ and name not in _WITHOUT_ARROW and find_spec("pyarrow") is None:
        raise NotConfigured(
            "exports and imports need pyarrow", hint="Install it: python -m pip install 'singletable[reports]'."
        )
    return _find(name)
