"""The parts of an import, each the rows of one file or of one table, from a position on.

a folder of an export       a part for each of its files: nodes and records first, edges last
DynamoDB's export to S3     a part for each of its data files: items as they were
one file                    a part, of a class that the caller names; DynamoDB's JSON says its classes itself
another table               a part, of a class that the caller names: its attributes by their names
classes of another table    the same sources, each item read by its class there: `foreign_rows`
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import file_digest
from itertools import islice
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from singletable.errors import InvalidRequest, NotFound
from singletable.exchange.arrow_rows import PART_BYTES
from singletable.exchange.datasets import UNKNOWN, Dataset
from singletable.exchange.declaration_digests import is_digest
from singletable.exchange.foreign_rows import ForeignRows
from singletable.exchange.import_files import FileRow, ImportFormat, Unknown, format_of, rows_of
from singletable.exchange.manifest import MANIFEST, Manifest, read_manifest
from singletable.exchange.stores import Store, store_at
from singletable.exchange.table_export_files import SUMMARY, ManifestFile, TableExportFiles, open_table_export
from singletable.flow import DECLARED, Port, TableNames, name_in
from singletable.foundation import Table
from singletable.graph import Edge
from singletable.operations import RAW, Item, Scan, Selection
from singletable.values import from_attribute_value

_CONTENTS: Final = "contents of documents lie in a store, which `singletable restore --contents` fills"
PAGE: Final = 500
"""Rows between two checkpoints."""


Into = type[Any] | Mapping[type[Any], type[Any]]


class Read(Struct, frozen=True):
    """Rows of a part, and the position after them; None after the last ones."""

    rows: Sequence[FileRow]
    position: Any


class ImportPart(Struct, frozen=True):
    """The rows of one file or table."""

    name: str
    """The name in reports of bad rows."""
    identity: Sequence[Any]
    """Values that change with its content: a killed import goes on with the same content only."""
    pages: Callable[[Any], AsyncIterator[Read]]
    """Its rows after a position; None is the beginning."""
    dataset: Dataset | None
    """The class of its rows; None if each row says its own."""
    table: Table | None
    """The table of its rows; None if each row says its own."""


class FileOptions(Struct, frozen=True):
    """How the rows of files are read: as the caller says."""

    into: Into | None = None
    """The class of one file's rows; or classes of the table that the items come from, with those that take them."""
    format: ImportFormat | None = None
    ignored: Sequence[str] = ()
    unknown: Unknown = "refuse"
    names: TableNames = DECLARED
    """The names in the account, which DynamoDB's own exports have."""


def file_part(
    fetch: Callable[[str], Path],
    path: str,
    format: ImportFormat,
    dataset: Dataset | None,
    options: FileOptions,
    content: str,
) -> ImportPart:
    """A file of an export's folder, or one that the caller names. `content` changes with what it holds."""

    async def pages(position: Any) -> AsyncIterator[Read]:
        done = int(position or 0)
        for read in _pages(rows_of(fetch(path), format, dataset, options.ignored, done, options.unknown)):
            yield read

    identity = (path, format, "" if dataset is None else dataset.digest, content)
    return ImportPart(path, identity, pages, dataset, None if dataset is None else dataset.table)


def table_part(port: Port, name: str, datasets: Sequence[Dataset], options: FileOptions, place: str = "") -> ImportPart:
    """Another table, of any layout: its items are read by classes of it, or by the names that one class has."""
    if isinstance(options.into, Mapping):
        return read_by(foreign_rows(datasets, options), _items_of(port, name, None, options, place))
    assert options.into is not None
    return _items_of(port, name, dataset_of(datasets, options.into), options, place)


def _items_of(port: Port, name: str, dataset: Dataset | None, options: FileOptions, place: str) -> ImportPart:
    """The items of a table, by a scan."""

    async def pages(position: Any) -> AsyncIterator[Read]:
        number, after = position or (0, None)
        limit = min(PAGE, port.traits.scan_page_limit or PAGE)
        while True:
            page = await port.send(Scan(name, Selection(limit=limit, after=after, consistent=True), RAW))
            rows = [_row_of(n, item, dataset, options) for n, item in enumerate(page.items, number + 1)]
            number, after = number + len(rows), page.after
            yield Read(rows, None if after is None else (number, after))
            if after is None:
                return

    identity = ("table", place, name, "" if dataset is None else dataset.digest)
    return ImportPart(name, identity, pages, dataset, None if dataset is None else dataset.table)


def _row_of(number: int, item: Item, dataset: Dataset | None, options: FileOptions) -> FileRow:
    """An item for a class, with the values that it does not declare."""
    if dataset is None:
        return FileRow(number, item=item)
    known = {name for field in dataset.model.fields for name in (field.stored, field.name)}
    known |= {*dataset.table.definition.reserved, *options.ignored}
    rest = {name: from_attribute_value(item[name]) for name in sorted(item.keys() - known)}
    if rest and options.unknown == "refuse":
        return FileRow(number, reason=f"{min(rest)}: the class has no such attribute")
    return FileRow(number, item=item, rest=rest)


def read_by(rows: ForeignRows, part: ImportPart) -> ImportPart:
    """A part whose items are read by the classes of the table that they come from."""

    async def pages(position: Any) -> AsyncIterator[Read]:
        async for page in part.pages(position):
            yield Read([rows.read(row, part.dataset) for row in page.rows], page.position)

    return ImportPart(part.name, (*part.identity, rows.identity), pages, None, None)


def _table_export_part(files: TableExportFiles, file: ManifestFile, table: Table) -> ImportPart:
    """A data file of an export that DynamoDB made to S3: its items, as they were."""

    async def pages(position: Any) -> AsyncIterator[Read]:
        files.check(file)
        items = (FileRow(n, item=record.new) for n, record in enumerate(files.records(file), 1))
        for read in _pages(islice(items, int(position or 0), None)):
            yield read

    name = file.data_file_s3_key
    return ImportPart(name, (files.summary.export_arn, name, file.md5_checksum), pages, None, table)


def _pages(rows: Iterator[FileRow]) -> Iterator[Read]:
    """Pages of rows, fewer if they are large."""
    page: list[FileRow] = []
    size = 0
    for row in rows:
        page.append(row)
        size += row.size
        if len(page) == PAGE or size >= PART_BYTES:
            yield Read(page, row.number)
            page, size = [], 0
    if page:
        yield Read(page, page[-1].number)
    yield Read((), None)


class ImportSource(Struct, frozen=True):
    """All parts of an import."""

    parts: Sequence[ImportPart]
    manifest: Manifest | None = None
    """The manifest of an export; None for other files."""
    is_exact: bool = False
    """The items are put unchanged: an export with keys, of classes with the same declarations."""
    left_out: Mapping[str, int] = {}
    """Rows that are not imported, by their dataset and the reason."""


def source_at(place: str | os.PathLike[str] | Store, datasets: Sequence[Dataset], options: FileOptions) -> ImportSource:
    """The folder of an export, ours or DynamoDB's, or one file. NotFound if neither is there; InvalidRequest for a
    file without a class, and for a manifest of tables that are not given."""
    if isinstance(place, (str, os.PathLike)):
        path = Path(os.fspath(place))
        if path.is_file():
            return _file(path, datasets, options)
    store = store_at(place)
    if isinstance(options.into, Mapping):
        return _foreign_folder(store, foreign_rows(datasets, options), options)
    if options.into is not None or options.format is not None:
        raise NotFound(
            f"file {store.url} does not exist", hint="A class and a format are for one file, on this machine."
        )
    return _folder(store, datasets, options)


def foreign_rows(datasets: Sequence[Dataset], options: FileOptions) -> ForeignRows:
    """The reader of the items of another table, by its classes. InvalidRequest for a class that is not given."""
    assert isinstance(options.into, Mapping)
    takers = {kind: dataset_of(datasets, taker) for kind, taker in options.into.items()}
    return ForeignRows(takers, options.unknown, options.ignored)


def dataset_of(datasets: Iterable[Dataset], entity: type[Any]) -> Dataset:
    """The dataset of a class. InvalidRequest for one of another table."""
    for dataset in datasets:
        if dataset.model.kind is entity:
            return dataset
    raise InvalidRequest(f"{entity.__name__} is not a class of the tables", hint="Give its table: Imports(db, table).")


def _file(path: Path, datasets: Sequence[Dataset], options: FileOptions) -> ImportSource:
    format, into = options.format or format_of(path.name), options.into
    if into is None and format != "dynamodb":
        raise InvalidRequest(
            f"{path.name} does not name the class of its rows", hint="Give it: into=Order (--as Order)."
        )
    is_foreign = isinstance(into, Mapping)
    if is_foreign and format != "dynamodb":
        raise InvalidRequest(
            f"{path.name} has rows of one class", hint="Name the class that takes them: into=Order (--as Order)."
        )
    dataset = None if into is None or isinstance(into, Mapping) else dataset_of(datasets, into)
    with open(path, "rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    part = file_part(lambda _: path, path.name, format, dataset, options, digest)
    return ImportSource([read_by(foreign_rows(datasets, options), part) if is_foreign else part])


def _foreign_folder(store: Store, rows: ForeignRows, options: FileOptions) -> ImportSource:
    """The folder of an export of another table, ours or DynamoDB's."""
    source = _folder(store, tuple(rows.datasets.values()), options)
    parts = [read_by(rows, part) for part in source.parts]
    return ImportSource(parts, source.manifest, left_out=source.left_out)


def _folder(store: Store, datasets: Sequence[Dataset], options: FileOptions) -> ImportSource:
    if store.read(MANIFEST) is None:
        if store.read(SUMMARY) is not None:
            return _table_export(open_table_export(store.url), _by_name(datasets, options.names))
        raise NotFound(
            f"{store.url} has no export: {MANIFEST} is missing",
            hint="Name the folder of an export, or one file and its class: into=Order (--as Order).",
        )
    manifest = read_manifest(store)
    by_name = {dataset.name: dataset for dataset in datasets}
    is_exact = (
        manifest.keys
        and manifest.personal
        and not any(
            by_name.get(each.name) is None or not is_digest(each.digest, by_name[each.name].digest)
            for each in manifest.datasets
            if each.name != UNKNOWN and not each.is_contents
        )
    )
    parts: list[ImportPart] = []
    left_out: dict[str, int] = {}
    for files in sorted(manifest.datasets, key=lambda each: _is_edge(by_name.get(each.name))):
        dataset = by_name.get(files.name)
        if why := _CONTENTS if files.is_contents else _why_not(files.name, dataset, is_exact, options):
            if files.rows:
                left_out[f"{files.name}: {why}"] = files.rows
            continue
        wanted = dataset.with_keys() if dataset is not None and manifest.keys else dataset
        parts += [
            file_part(store.fetch, file.path, manifest.format, wanted, options, manifest.id) for file in files.files
        ]
    return ImportSource(parts, manifest, is_exact, left_out)


def _by_name(datasets: Sequence[Dataset], names: TableNames) -> dict[str, Table]:
    """The tables by their declared names, and by those in the account, which decide."""
    tables = {each.table.name: each.table for each in datasets}
    return tables | {name_in(names[name]): table for name, table in tables.items()}


def _table_export(files: TableExportFiles, tables: Mapping[str, Table]) -> ImportSource:
    """An export of DynamoDB's, of the table of its name, or of the one that is given. InvalidRequest for an incremental
    one."""
    if files.summary.is_incremental:
        raise InvalidRequest(
            f"{files.where} has what changed in a while, not a table",
            hint="Make one of it first: singletable export MODULE --keys --from-export FULL --from-export INCREMENTAL.",
        )
    name = files.summary.table
    table = tables[name] if name in tables else next(iter(tables.values()))
    if name not in tables and len(set(tables.values())) > 1:
        raise InvalidRequest(f"{files.where} is of the table {name}, which was not given", hint="Name one table.")
    return ImportSource([_table_export_part(files, file, table) for file in files.data_files()], is_exact=True)


def _is_edge(dataset: Dataset | None) -> bool:
    return dataset is not None and issubclass(dataset.model.kind, Edge)


def _why_not(name: str, dataset: Dataset | None, is_exact: bool, options: FileOptions) -> str:
    """Why a dataset of an export is not imported, if it is not. What no class explains is counted by kind where classes
    of the table read it."""
    if is_exact or (name == UNKNOWN and isinstance(options.into, Mapping)):
        return ""
    if name == UNKNOWN:
        return "no class explains them; an export with keys has them as they were"
    if dataset is None:
        return "no class of the tables is called so"
    return "the library makes them itself; an export with keys has them as they were" if dataset.is_system else ""
