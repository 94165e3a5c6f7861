"""Datasets, column by column, and the places of the runs' private state: for reports, and for tools."""

from typing import TYPE_CHECKING

from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.exchange.column_types import ColumnFacts as ColumnFacts, schema_of as schema_of
    from singletable.exchange.columns import value_type as value_type
    from singletable.exchange.datasets import REST as REST
    from singletable.exchange.import_files import rows_of_columns as rows_of_columns
    from singletable.exchange.manifest import dataset_files as dataset_files
    from singletable.exchange.personal_columns import personal_columns as personal_columns
    from singletable.exchange.private_state import state_home as state_home
    from singletable.exchange.store_faults import faults as faults
    from singletable.exchange.table_export_files import open_table_export as open_table_export

__getattr__ = late_names(
    __name__,
    "reports",
    beside=True,
    column_types="ColumnFacts schema_of",
    columns="value_type",
    datasets="REST",
    import_files="rows_of_columns",
    manifest="dataset_files",
    personal_columns="personal_columns",
    private_state="state_home",
    store_faults="faults",
    table_export_files="open_table_export",
)
