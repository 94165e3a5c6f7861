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

from typing import TYPE_CHECKING

from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.exchange.bad_rows import BadRow as BadRow
    from singletable.exchange.copies import TableCopy as TableCopy
    from singletable.exchange.copies_async import AsyncTableCopy as AsyncTableCopy
    from singletable.exchange.datasets import UNKNOWN as UNKNOWN, Dataset as Dataset, datasets_of as datasets_of
    from singletable.exchange.export import Exported as Exported
    from singletable.exchange.exported_scans import ExportedItems as ExportedItems, export_of as export_of
    from singletable.exchange.exports import Exports as Exports
    from singletable.exchange.exports_async import AsyncExports as AsyncExports
    from singletable.exchange.formats import Format as Format
    from singletable.exchange.import_cost import ImportCost as ImportCost
    from singletable.exchange.imports import Imports as Imports
    from singletable.exchange.imports_async import AsyncImports as AsyncImports
    from singletable.exchange.left_out import LeftOut as LeftOut
    from singletable.exchange.manifest import (
        DataFile as DataFile,
        DatasetFiles as DatasetFiles,
        Manifest as Manifest,
        read_manifest as read_manifest,
    )
    from singletable.exchange.restore_run import (
        Restored as Restored,
        RestorePlan as RestorePlan,
        RestoreStep as RestoreStep,
    )
    from singletable.exchange.restores import Restore as Restore
    from singletable.exchange.restores_async import AsyncRestore as AsyncRestore
    from singletable.exchange.row_import import Imported as Imported
    from singletable.exchange.stores import (
        DirectoryStore as DirectoryStore,
        ObjectStore as ObjectStore,
        Store as Store,
        store_at as store_at,
    )
    from singletable.exchange.table_copy import Copied as Copied
    from singletable.exchange.table_exports import TableExports as TableExports
    from singletable.exchange.table_exports_async import AsyncTableExports as AsyncTableExports
    from singletable.tables import TableExport as TableExport


__getattr__ = late_names(
    __name__,
    "reports",
    copies="TableCopy",
    copies_async="AsyncTableCopy",
    datasets="UNKNOWN Dataset datasets_of",
    export="Exported",
    exports="Exports",
    exports_async="AsyncExports",
    formats="Format",
    bad_rows="BadRow",
    restore_run="Restored RestorePlan RestoreStep",
    restores="Restore",
    restores_async="AsyncRestore",
    row_import="Imported",
    import_cost="ImportCost",
    imports="Imports",
    imports_async="AsyncImports",
    left_out="LeftOut",
    manifest="DataFile DatasetFiles Manifest read_manifest",
    stores="DirectoryStore ObjectStore Store store_at",
    table_copy="Copied",
    exported_scans="ExportedItems export_of",
    table_exports="TableExport TableExports",
    table_exports_async="AsyncTableExports",
)
