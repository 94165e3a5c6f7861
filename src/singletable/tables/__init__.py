"""Tables as such: their definition, and creating, describing and comparing them.

TableDefinition("app", indexes={"gsi1": Index("gsi1pk", "gsi1sk")}).creation()   # the body of CreateTable
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.tables.admin import (
    Description,
    Difference,
    add_index,
    check_indexes,
    create,
    delete,
    describe,
    describe_indexes,
    differences,
    is_empty,
    set_stream,
    set_ttl,
    smaller_indexes,
    wait_until_active,
)
from singletable.tables.capabilities import check_capabilities, find_capabilities
from singletable.tables.definition import MAX_INDEXES, STREAM_VIEWS, Index, StreamView, TableDefinition, named_indexes
from singletable.tables.expiry_sweep import sweep
from singletable.tables.settings import Billing, Provisioned, TableClass, TableSettings

if TYPE_CHECKING:
    from singletable.tables import backups, exports
    from singletable.tables.backups import Backup, Progress, Recovery, list_backups, recovery
    from singletable.tables.changes import (
        IndexProgress,
        Setting,
        apply_setting,
        create_index,
        drop_index,
        remove_setting,
        wait_for_index,
        wait_for_table,
    )
    from singletable.tables.exports import TableExport
    from singletable.tables.live import LiveSettings, live_settings
    from singletable.tables.units import (
        READ_BYTES,
        WRITE_BYTES,
        Projected,
        projected,
        projected_in,
        read_units,
        size_units,
        write_units,
    )

__all__ = [
    "MAX_INDEXES",
    "READ_BYTES",
    "STREAM_VIEWS",
    "WRITE_BYTES",
    "Backup",
    "Billing",
    "Description",
    "Difference",
    "Index",
    "IndexProgress",
    "LiveSettings",
    "Progress",
    "Projected",
    "Provisioned",
    "Recovery",
    "Setting",
    "StreamView",
    "TableClass",
    "TableDefinition",
    "TableExport",
    "TableSettings",
    "add_index",
    "apply_setting",
    "backups",
    "check_capabilities",
    "check_indexes",
    "create",
    "create_index",
    "delete",
    "describe",
    "describe_indexes",
    "differences",
    "drop_index",
    "exports",
    "find_capabilities",
    "is_empty",
    "list_backups",
    "live_settings",
    "named_indexes",
    "projected",
    "projected_in",
    "read_units",
    "recovery",
    "remove_setting",
    "set_stream",
    "set_ttl",
    "size_units",
    "smaller_indexes",
    "sweep",
    "wait_for_index",
    "wait_for_table",
    "wait_until_active",
    "write_units",
]

# For tools that change a table, save it or predict its cost.
__getattr__ = late_names(
    __name__,
    backups="Backup Progress Recovery list_backups recovery",
    changes="IndexProgress Setting apply_setting create_index drop_index remove_setting wait_for_index wait_for_table",
    exports="TableExport",
    live="LiveSettings live_settings",
    units="Projected READ_BYTES WRITE_BYTES projected projected_in read_units size_units write_units",
)
