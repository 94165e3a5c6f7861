"""Ready-made roles, for people and tools that work on whole tables: they hold tables, not partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from singletable.foundation import TOOLS_PARTITION, Table
from singletable.streams import Changes
from singletable.tasks import Tasks
from singletable_deploy.access import Grant, Resource, ResourceAccess, Where, anywhere, table_resource
from singletable_deploy.layer_grants import handles, runs
from singletable_deploy.record_grants import Pattern
from singletable_deploy.role import Role

DESCRIBES = ("DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups", "ListTagsOfResource")
"""The calls that say how a table is set up."""
_READS = ("GetItem", "BatchGetItem", "Query", "Scan")
_SINGLE_ITEMS = ("PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
_ITEMS = (*_SINGLE_ITEMS, "BatchWriteItem")
_SETTINGS = ("UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups", "TagResource", "UntagResource")


def reads_all(*tables: Table) -> Grant:
    """Read everything of tables and their indexes, and how they are set up; of a foreign table its `own_items` too."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for table in _with_own_items(tables):
            yield from anywhere(table, ("Query", "Scan"), indexes=True)
            yield from anywhere(table, (*_READS, *DESCRIBES))

    return Grant(f"reads_all({_names(tables)})", tables, accesses)


def migrates(*tables: Table) -> Grant:
    """Change the settings and indexes of tables, and bring their items to what the classes declare: a move and a repair
    put and delete items too, one by one. Tables are neither created nor deleted. What a foreign table's tools keep is
    written to its `own_items`."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for table in tables:
            yield from anywhere(table, (*_READS, *DESCRIBES, *_SINGLE_ITEMS, *_SETTINGS))
            for changed in (*table.sources, *table.targets):
                yield from anywhere(changed, (*_READS, *DESCRIBES, *_SINGLE_ITEMS))
            keeper = table.own_items or table
            if keeper is not table:
                yield from anywhere(keeper, (*_READS, *DESCRIBES, *_SINGLE_ITEMS))
            yield ResourceAccess(table_resource(keeper), frozenset({"BatchWriteItem"}), (TOOLS_PARTITION,))

    return Grant(f"migrates({_names(tables)})", tables, accesses)


def administers(*tables: Table) -> Grant:
    """Everything on tables and their items, and on the `own_items` of foreign ones: create and delete them too."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for table in _with_own_items(tables):
            yield from anywhere(table, ("Query", "Scan"), indexes=True)
            yield from anywhere(table, (*_READS, *_ITEMS, *DESCRIBES, *_SETTINGS, "CreateTable", "DeleteTable"))

    return Grant(f"administers({_names(tables)})", tables, accesses)


def exports_from(*tables: Table) -> Grant:
    """Export tables: scan them, have DynamoDB export them to S3. The bucket is granted apart."""

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        for table in tables:
            own = ("Scan", "DescribeTable", "DescribeContinuousBackups", "ExportTableToPointInTime")
            yield from anywhere(table, own)
            yield ResourceAccess(Resource("exports", table.name), frozenset({"DescribeExport"}))

    return Grant(f"exports_from({_names(tables)})", tables, accesses)


def read_only(*tables: Table, name: str = "read-only") -> Role:
    """Somebody who looks, and `singletable get`, `query` and `check`; the source of `copy`."""
    return Role(name, [reads_all(*tables)])


def worker(*layers: Tasks | Changes, may: tuple[Pattern | Grant, ...] = (), name: str = "worker") -> Role:
    """The process that runs tasks and handles changes; `may` is what its functions do."""
    own = [runs(layer) if isinstance(layer, Tasks) else handles(layer) for layer in layers]
    return Role(name, [*own, *may])


def exporter(*tables: Table, name: str = "exporter") -> Role:
    """`singletable export`, with `--through`. Nothing is written to the tables."""
    return Role(name, [exports_from(*tables)])


def migration(*tables: Table, name: str = "migration") -> Role:
    """Whoever changes tables in use: `singletable fill`, new indexes and settings."""
    return Role(name, [migrates(*tables)])


def admin(*tables: Table, name: str = "admin") -> Role:
    """Everything on the tables, and nothing else: `singletable import`, and the target of `copy`."""
    return Role(name, [administers(*tables)])


def _with_own_items(tables: tuple[Table, ...]) -> Iterable[Table]:
    """The tables, and those where the tools keep what belongs to foreign ones."""
    return dict.fromkeys(each for table in tables for each in (table, table.own_items) if each is not None)


def _names(tables: tuple[Table, ...]) -> str:
    return ", ".join(table.name for table in tables)
