"""The tables and views of an export in Athena, as statements. Text, nothing is run.

    order__3f2a91c0    the files, a partition a day: exported='2026-11-23'
    order              the newest export: a view, so that the text of a question is the one that DuckDB takes

The name of a table has the digest of its class's declaration. A class that changes gets a table of its own, and its
view goes over to that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from singletable.errors import InvalidRequest
from singletable.exchange import Dataset, DatasetFiles, Manifest
from singletable.exchange.column_types import type_of
from singletable.exchange.datasets import REST
from singletable.reports.names import quoted, text
from singletable.reports.relations import Relation, relations_of
from singletable.reports.views import relation_view

_PLAIN: Final[tuple[tuple[Callable[[pa.DataType], bool], str], ...]] = (
    (pa.types.is_string, "string"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int32, "int"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float64, "double"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_date32, "date"),
    (pa.types.is_timestamp, "timestamp"),
)
_DATABASE: Final = re.compile(r"[a-z0-9_]{1,255}")
PARTITION: Final = "exported"


def athena_statements(manifest: Manifest, place: str, database: str, datasets: Sequence[Dataset]) -> tuple[str, ...]:
    """What brings an Athena database to an export in S3: run them in their order, as often as you like.

    None of them reads data, so they cost nothing. InvalidRequest for an export that is not Parquet in S3, for a
    followed one, and for a name that Athena does not take.
    """
    if not place.startswith("s3://"):
        raise InvalidRequest(f"Athena reads exports in S3, not in {place}", hint="Export with --to s3://BUCKET/PREFIX.")
    if manifest.format != "parquet":
        raise InvalidRequest(f"Athena reads Parquet here, not {manifest.format}", hint="Export with --format parquet.")
    if any(not file.path.startswith(_folder(manifest, each)) for each in manifest.datasets for file in each.files):
        raise InvalidRequest(
            "Athena reads all files of a folder, and a followed export has some that are of earlier versions",
            hint="Make an export for Athena, in a folder of its own: singletable export MODULE --to s3://BUCKET/PREFIX.",
        )
    if not _DATABASE.fullmatch(database):
        raise InvalidRequest(f"{database!r} is no name of a database: lower case letters, digits and _")
    return tuple(_statements(manifest, place.rstrip("/"), database, datasets))


def _statements(manifest: Manifest, place: str, database: str, datasets: Sequence[Dataset]) -> Iterator[str]:
    yield f"CREATE DATABASE IF NOT EXISTS `{database}`"
    day = f"{manifest.complete_at:%Y-%m-%d}"
    for each in manifest.datasets:
        folder = f"{place}/{_folder(manifest, each)}"
        yield _table(each, f"{place}/", database)
        yield (
            f"ALTER TABLE `{database}`.`{table_name(each)}` ADD IF NOT EXISTS "
            f"PARTITION ({PARTITION} = {text(day)}) LOCATION {text(folder)}"
        )
        yield (
            f"ALTER TABLE `{database}`.`{table_name(each)}` "
            f"PARTITION ({PARTITION} = {text(day)}) SET LOCATION {text(folder)}"
        )
    for each in manifest.datasets:
        names = ", ".join(quoted(column.name) for column in each.columns if column.name != REST)
        rows = f"{quoted(table_name(each))} WHERE {PARTITION} = {text(day)}"
        yield f"CREATE OR REPLACE VIEW {quoted(each.name)} AS SELECT {names} FROM {rows}"  # noqa: S608  (names are quoted)
    yield from _relation_views(manifest, relations_in(manifest, datasets))


def _folder(manifest: Manifest, dataset: DatasetFiles) -> str:
    return f"{manifest.id}/{dataset.name}/"


def _relation_views(manifest: Manifest, relations: Sequence[Relation]) -> Iterator[str]:
    """Relations, as views of views."""
    files = {each.name: each for each in manifest.datasets}
    rows, covered = {name: quoted(name) for name in files}, dict.fromkeys(files, frozenset[str]())
    for relation in relations:
        yield relation_view(relation, files, rows, covered).replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1)


def relations_in(manifest: Manifest, datasets: Sequence[Dataset]) -> tuple[Relation, ...]:
    """The relations whose both sides the export has."""
    known = {each.name for each in manifest.datasets}
    return tuple(each for each in relations_of(datasets) if {each.left, each.right} <= known)


def table_name(dataset: DatasetFiles) -> str:
    """The table of a dataset's files."""
    return f"{dataset.name}__{dataset.digest[:8]}" if dataset.digest else dataset.name + "__files"


def _table(dataset: DatasetFiles, place: str, database: str) -> str:
    columns = ",\n".join(
        f"  `{column.name}` {hive_type(type_of(column.type))}{_comment(column.description)}"
        for column in dataset.columns
    )
    return (
        f"CREATE EXTERNAL TABLE IF NOT EXISTS `{database}`.`{table_name(dataset)}` (\n{columns}\n)\n"
        f"{_comment(dataset.description).strip()}{chr(10) if dataset.description else ''}"
        f"PARTITIONED BY (`{PARTITION}` string)\nSTORED AS PARQUET\nLOCATION {text(place)}"
    )


def _comment(said: str) -> str:
    """A docstring in one line, at most 255 characters as Glue takes it."""
    line = " ".join(said.split()).replace("\\", "")[:255]
    return " COMMENT '" + line.replace("'", "\\'") + "'" if line else ""


def hive_type(type: pa.DataType) -> str:
    """The type of a column in Athena. InvalidRequest for one that has none."""
    found: Any = type
    if pa.types.is_dictionary(type):
        return hive_type(found.value_type)
    if pa.types.is_decimal(type):
        return f"decimal({found.precision},{found.scale})"
    if pa.types.is_list(type):
        return f"array<{hive_type(found.value_type)}>"
    if pa.types.is_map(type):
        return f"map<{hive_type(found.key_type)},{hive_type(found.item_type)}>"
    if pa.types.is_struct(type):
        return f"struct<{','.join(f'{part.name}:{hive_type(part.type)}' for part in found)}>"
    for is_of, name in _PLAIN:
        if is_of(type):
            return name
    raise InvalidRequest(f"Athena has no type for {type}")
