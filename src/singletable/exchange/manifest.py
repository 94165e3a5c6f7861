"""The manifest of an export: what a folder holds. It is replaced last and at once, so that a reader sees the export
before or this one, whole.

    exports/manifest.json
    exports/20261123T004403Z-x7Kd/order/part-00000.parquet
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

import msgspec
import pyarrow as pa
from msgspec import Meta, Struct

from singletable.errors import Corrupt, NotFound
from singletable.exchange.column_types import ColumnFacts, schema_of
from singletable.exchange.datasets import UNKNOWN, Dataset, fingerprint_of
from singletable.exchange.declaration_digests import is_digest
from singletable.exchange.formats import Format
from singletable.exchange.gate import MOST_NAMES, Count, DatasetName, ExportId, FilePath
from singletable.exchange.left_out import LeftOut, together
from singletable.exchange.stores import Store
from singletable.flow import Port, instant

MANIFEST: Final = "manifest.json"
FORMAT_VERSION: Final = 1
T = TypeVar("T")
Several = Annotated[tuple[T, ...], Meta(max_length=MOST_NAMES)]


class DataFile(Struct, frozen=True):
    """A file of a dataset."""

    path: FilePath
    """From the folder that holds the manifest."""
    rows: Count
    bytes: Count
    left_out: dict[str, LeftOut] | None = None
    """Cells that are null while their items have a value, by column; in `_unknown`, items by the dataset that lacks
    them. None in a manifest of an older version, which did not count."""


class DatasetFiles(Struct, frozen=True):
    """A dataset of an export: its columns and files."""

    name: DatasetName
    entity: str
    """The class's name in its module; empty for `_unknown`."""
    type: str
    table: str
    description: str
    columns: Several[ColumnFacts]
    digest: str
    """The digest of the class's declaration at the time."""
    files: tuple[DataFile, ...] = ()
    is_system: bool = False
    is_contents: bool = False
    """Whether its rows are no items: contents and arguments of documents."""

    @property
    def rows(self) -> int:
        """The rows of all files together."""
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        """The bytes of all files together."""
        return sum(file.bytes for file in self.files)

    @property
    def left_out(self) -> dict[str, LeftOut] | None:
        """Values that the columns of all files leave out. None if unknown, as for an export of an older version."""
        return left_out_of(self.files)


class Manifest(Struct, frozen=True):
    """The content of an export."""

    id: ExportId
    tables: Several[str]
    format: Format
    source: dict[str, Any]
    """The source of the data: `{"kind": "scan", ...}`."""
    complete_at: datetime
    """Every write that was done before this time is in the data, or has been overwritten by one that is."""
    written_at: datetime
    fingerprint: str
    """The fingerprint of all declarations at the time."""
    datasets: Several[DatasetFiles]
    keys: bool = False
    """Whether the keys of the table and of its indexes are columns."""
    personal: bool = True
    """Whether personal values are as they were; else masks stand for them."""
    previous: ExportId | None = None
    """The id of the export before, whose files are still there for those who read it now."""
    format_version: int = FORMAT_VERSION

    @property
    def rows(self) -> int:
        """The rows of all datasets together."""
        return sum(dataset.rows for dataset in self.datasets)

    @property
    def unknown(self) -> int:
        """Items that no class explains."""
        return sum(dataset.rows for dataset in self.datasets if dataset.name == UNKNOWN)

    def dataset(self, name: str) -> DatasetFiles:
        """A dataset by its name; NotFound with the names that there are."""
        for dataset in self.datasets:
            if dataset.name == name:
                return dataset
        known = ", ".join(dataset.name for dataset in self.datasets)
        raise NotFound(f"the export has no dataset {name!r}", hint=f"It has: {known}.")

    def changed(self, datasets: Iterable[Dataset]) -> tuple[str, ...]:
        """The classes whose declarations differ from those of the export, including new classes."""
        now = tuple(datasets)
        if fingerprint_of(now) == self.fingerprint:
            return ()
        before = {dataset.name: dataset.digest for dataset in self.datasets}
        names = {dataset.name for dataset in now}
        other = [d for d in now if not is_digest(before.get(d.name, ""), d.digest)]
        changed = [d.entity for d in other if d.name in before or not d.is_system]
        gone = [d.entity for d in self.datasets if d.name not in names and d.name != UNKNOWN and not d.is_contents]
        return tuple(dict.fromkeys((*changed, *gone)))


def left_out_of(files: Iterable[DataFile]) -> dict[str, LeftOut] | None:
    """The counts of files together; None if one has none."""
    counts = [file.left_out for file in files]
    return None if None in counts else together(count for count in counts if count is not None)


def cells_left_out(files: Iterable[DataFile]) -> int | None:
    """The number of cells that files leave out."""
    counts = left_out_of(files)
    return None if counts is None else sum(left_out.cells for left_out in counts.values())


def new_id(port: Port) -> str:
    """The name of a new export: ids sort about as their times do."""
    return f"{instant(port.now()):%Y%m%dT%H%M%SZ}-{port.token()[:6].replace('_', 'x').replace('-', 'x')}"


def dataset_files(dataset: Dataset, files: Iterable[DataFile] = ()) -> DatasetFiles:
    """A dataset as a manifest has it."""
    return DatasetFiles(
        dataset.name,
        dataset.entity,
        dataset.type,
        dataset.table.name,
        dataset.description,
        columns_of(dataset.schema),
        dataset.digest,
        tuple(files),
        dataset.is_system,
    )


def columns_of(schema: pa.Schema) -> tuple[ColumnFacts, ...]:
    """The columns of a schema."""
    return tuple(_facts(f) for f in schema)


def read_manifest(store: Store) -> Manifest:
    """The manifest of a folder. NotFound if there is none; Corrupt for one that is none, or of a newer version."""
    manifest = find_manifest(store)
    if manifest is None:
        raise NotFound(
            f"{store.url} has no export: {MANIFEST} is missing",
            hint="Make one: singletable export MODULE --to DIR. One that was ended goes on with the same command.",
        )
    return manifest


def find_manifest(store: Store) -> Manifest | None:
    """The manifest of a folder, if there is one."""
    text = store.read(MANIFEST)
    if text is None:
        return None
    try:
        version = msgspec.json.decode(text, type=_Version).format_version
        if version <= FORMAT_VERSION:
            return _checked(msgspec.json.decode(text, type=Manifest))
    except (msgspec.MsgspecError, ValueError, Corrupt, RecursionError) as error:
        raise Corrupt(f"{MANIFEST} in {store.url} can't be read: {error}", hint="Export again.") from None
    raise Corrupt(
        f"{MANIFEST} in {store.url} is of format {version}; this program knows {FORMAT_VERSION}",
        hint="Read it with the program that wrote it, or a newer one.",
    )


def _checked(manifest: Manifest) -> Manifest:
    """ValueError if a name stands twice, or a column has a type that no export writes."""
    paths = [file.path for dataset in manifest.datasets for file in dataset.files]
    names = [dataset.name for dataset in manifest.datasets]
    for dataset in manifest.datasets:
        schema_of(dataset.columns)
    columns = [[column.name for column in dataset.columns] for dataset in manifest.datasets]
    if any(len(set(each)) < len(each) for each in (paths, names, *columns)):
        raise ValueError("it names a file, a dataset or a column twice")
    return manifest


def write_manifest(store: Store, manifest: Manifest) -> None:
    """Replace the manifest of a folder, at once."""
    store.write(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))


class _Version(Struct):
    format_version: int


def _facts(field: pa.Field[Any]) -> ColumnFacts:
    metadata = {name.decode(): text.decode() for name, text in (field.metadata or {}).items()}
    is_json, attribute = metadata.get("format") == "json", metadata.get("attribute", "")
    return ColumnFacts(field.name, str(field.type), metadata.get("description", ""), is_json, attribute)
