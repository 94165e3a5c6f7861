"""Tables as such: their definition, and creating, describing and comparing them.

TableDefinition("app", indexes={"gsi1": Index("gsi1pk", "gsi1sk")}).creation()   # the body of CreateTable
"""

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
from singletable.tables.definition import Index, StreamView, TableDefinition, named_indexes
from singletable.tables.expiry_sweep import sweep
from singletable.tables.settings import Billing, Provisioned, TableClass, TableSettings

__all__ = [
    "Billing",
    "Description",
    "Difference",
    "Index",
    "Provisioned",
    "StreamView",
    "TableClass",
    "TableDefinition",
    "TableSettings",
    "add_index",
    "check_capabilities",
    "check_indexes",
    "create",
    "delete",
    "describe",
    "describe_indexes",
    "differences",
    "find_capabilities",
    "is_empty",
    "named_indexes",
    "set_stream",
    "set_ttl",
    "smaller_indexes",
    "sweep",
    "wait_until_active",
]
