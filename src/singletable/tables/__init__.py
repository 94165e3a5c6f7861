"""Tables as such: their definition, and creating, describing and comparing them.

TableDefinition("app", indexes={"gsi1": Index("gsi1pk", "gsi1sk")}).creation()   # the body of CreateTable
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names
from singletable.tables.definition import (
    MAX_INDEXES as MAX_INDEXES,
    STREAM_VIEWS as STREAM_VIEWS,
    B as B,
    Index as Index,
    Indexes as Indexes,
    KeyKind as KeyKind,
    Local as Local,
    N as N,
    StreamView as StreamView,
    TableDefinition as TableDefinition,
    key_names as key_names,
    kinds_in as kinds_in,
    named_indexes as named_indexes,
)
from singletable.tables.settings import (
    Billing as Billing,
    Provisioned as Provisioned,
    TableClass as TableClass,
    TableSettings as TableSettings,
)

if TYPE_CHECKING:
    from singletable.tables import backups as backups, exports as exports
    from singletable.tables.admin import (
        Description as Description,
        Difference as Difference,
        add_index as add_index,
        check_indexes as check_indexes,
        create as create,
        delete as delete,
        describe as describe,
        describe_indexes as describe_indexes,
        differences as differences,
        is_empty as is_empty,
        set_stream as set_stream,
        set_ttl as set_ttl,
        smaller_indexes as smaller_indexes,
        table_identity as table_identity,
        wait_until_active as wait_until_active,
    )
    from singletable.tables.backups import (
        Backup as Backup,
        Progress as Progress,
        Recovery as Recovery,
        list_backups as list_backups,
        recovery as recovery,
    )
    from singletable.tables.capabilities import (
        check_capabilities as check_capabilities,
        find_capabilities as find_capabilities,
    )
    from singletable.tables.changes import (
        IndexProgress as IndexProgress,
        Setting as Setting,
        apply_setting as apply_setting,
        create_index as create_index,
        drop_index as drop_index,
        remove_setting as remove_setting,
        wait_for_index as wait_for_index,
        wait_for_table as wait_for_table,
    )
    from singletable.tables.expiry_sweep import sweep as sweep
    from singletable.tables.exports import TableExport as TableExport
    from singletable.tables.live import LiveSettings as LiveSettings, live_settings as live_settings
    from singletable.tables.units import (
        READ_BYTES as READ_BYTES,
        WRITE_BYTES as WRITE_BYTES,
        Projected as Projected,
        projected as projected,
        projected_in as projected_in,
        read_units as read_units,
        size_units as size_units,
        write_units as write_units,
    )

# For whoever makes or changes a table, saves it or predicts its cost.
__getattr__ = late_names(
    __name__,
    admin="Description Difference add_index check_indexes create delete describe "
    "describe_indexes differences is_empty set_stream set_ttl smaller_indexes table_identity wait_until_active",
    capabilities="check_capabilities find_capabilities",
    expiry_sweep="sweep",
    backups="Backup Progress Recovery list_backups recovery",
    changes="IndexProgress Setting apply_setting create_index drop_index remove_setting wait_for_index wait_for_table",
    exports="TableExport",
    live="LiveSettings live_settings",
    units="Projected READ_BYTES WRITE_BYTES projected projected_in read_units size_units write_units",
)
