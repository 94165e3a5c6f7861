"""The files of an export that DynamoDB made to S3: its manifest, its data files, their checksums.

    PREFIX/AWSDynamoDB/ID/manifest-summary.json     what was exported, when, in which format
    PREFIX/AWSDynamoDB/ID/manifest-files.json       a line of JSON for each data file
    PREFIX/AWSDynamoDB/ID/data/*.json.gz            of a full export
    PREFIX/AWSDynamoDB/data/*.gz                    of incremental exports

A manifest names its files by their keys in the bucket. Files that were copied elsewhere, with their directories, are
found there: a key counts from `AWSDynamoDB/` on.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO, Any, cast

import msgspec
from msgspec import Struct

from singletable.errors import Corrupt, InvalidRequest, NotConfigured
from singletable.exchange.foreign_text import TOO_LONG, lines_of
from singletable.exchange.gate import Count, is_below
from singletable.exchange.stores import Store, store_at
from singletable.operations import Item

_ROOT = "AWSDynamoDB/"
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)
SUMMARY, _FILES = "manifest-summary.json", "manifest-files.json"


class Summary(Struct, frozen=True, rename="camel"):
    """The content of `manifest-summary.json`."""

    export_arn: str
    table_arn: str
    manifest_files_s3_key: str = msgspec.field(name="manifestFilesS3Key")
    item_count: Count = 0
    output_format: str = "DYNAMODB_JSON"
    export_type: str = "FULL_EXPORT"
    export_time: datetime | None = None
    """The moment that a full export shows."""
    export_from_time: datetime | None = None
    export_to_time: datetime | None = None
    """The period of an incremental export: changes from the first time on and before the second."""

    @property
    def is_incremental(self) -> bool:
        return self.export_type == "INCREMENTAL_EXPORT"

    @property
    def id(self) -> str:
        return self.export_arn.rsplit("/", 1)[-1]

    @property
    def table(self) -> str:
        """The table's name."""
        return self.table_arn.rsplit("/", 1)[-1]

    @property
    def complete_at(self) -> datetime | None:
        """Up to this moment, and not after it, changes are in the export."""
        return self.export_to_time if self.is_incremental else self.export_time


class ManifestFile(Struct, frozen=True, rename="camel"):
    """A line of `manifest-files.json`."""

    data_file_s3_key: str = msgspec.field(name="dataFileS3Key")
    item_count: Count = 0
    md5_checksum: str = msgspec.field(name="md5Checksum", default="")


class ExportRecord(Struct, frozen=True):
    """An item of a full export, which has only `new`; or what an incremental one says of an item."""

    keys: Item
    new: Item | None
    """The item; None if it was deleted."""
    micros: int = 0
    """When it was last written, in microseconds since 1970; 0 in a full export."""


class TableExportFiles:
    """One export: its summary, and its records, read one by one. `name` is its directory in the store.

    Raises NotConfigured if the summary is missing; Corrupt if it was changed.
    """

    def __init__(self, store: Store, name: str) -> None:
        self.store, self.name = store, name
        self.summary = self._summary()

    @property
    def where(self) -> str:
        """The name of it in errors."""
        return f"{self.store.url}/{self.name}"

    def data_files(self) -> list[ManifestFile]:
        """The data files of the export; Corrupt if their list is not a list of files, or not all of it."""
        path = self._path(self.summary.manifest_files_s3_key)
        text = self._checked(path)
        try:
            files = [msgspec.json.decode(line, type=ManifestFile) for line in text.splitlines() if line.strip()]
        except msgspec.MsgspecError as error:
            raise Corrupt(f"{self.where}: {_FILES} is not a list of data files: {error}") from None
        listed = sum(file.item_count for file in files)
        if listed != self.summary.item_count:
            raise Corrupt(
                f"{self.where}: the summary says {self.summary.item_count:,} items, the list of files {listed:,}",
                hint="Copy the export again: a part of it is missing.",
            )
        return files

    def check(self, file: ManifestFile) -> None:
        """Corrupt if a data file is missing, or another than the manifest says. Reads it once."""
        path = self._path(file.data_file_s3_key)
        with self.store.opened(path) as content:
            if not _has_sum(content, file.md5_checksum):
                raise self._another(path)

    def records(self, file: ManifestFile) -> Iterator[ExportRecord]:
        """The records of a data file, in little memory. The file is read twice: its checksum comes before its records.

        Corrupt if it is damaged, cut short, or holds another number of records than the manifest says, before the first
        record where it has a checksum.
        """
        path = self._path(file.data_file_s3_key)
        counted = 0
        try:
            with self.store.opened(path) as content:
                is_whole = _has_sum(content, file.md5_checksum)
                content.seek(0)
                for record in self._decoded(content):
                    counted += 1
                    if is_whole:
                        yield record
        except (*_DAMAGED, msgspec.MsgspecError, ValueError, LookupError, TypeError) as error:
            raise Corrupt(f"{self.where}: {path}, record {counted + 1}: {_cause(error)}") from error
        except Corrupt as error:
            raise Corrupt(f"{self.where}: {path}, record {counted + 1}: {error.what}") from error
        if not is_whole:
            raise self._another(path)
        if counted != file.item_count:
            raise Corrupt(f"{self.where}: {path} has {counted:,} records, and the manifest says {file.item_count:,}")

    def _decoded(self, file: IO[bytes]) -> Iterator[ExportRecord]:
        with gzip.GzipFile(fileobj=file) as opened:
            for line in lines_of(self.where, cast(IO[bytes], opened)):
                if line is None:
                    raise Corrupt(TOO_LONG)
                if line.strip():
                    yield _record(_decode_line(line))

    def _summary(self) -> Summary:
        path = f"{self.name}/{SUMMARY}"
        if self.store.read(path) is None:
            raise NotConfigured(
                f"{self.where} has no {SUMMARY}",
                hint="Name the directory of one export, PREFIX/AWSDynamoDB/ID. DynamoDB writes the summary last: an "
                "export without one is not complete, or has failed.",
            )
        try:
            summary = msgspec.json.decode(self._checked(path), type=Summary)
        except msgspec.MsgspecError as error:
            raise Corrupt(f"{self.where}: {SUMMARY} is not a summary of an export: {error}") from None
        if summary.output_format != "DYNAMODB_JSON":
            raise InvalidRequest(
                f"{self.where} is an export in {summary.output_format[:40]!r}, which is not read",
                hint="Export the table again with the format DYNAMODB_JSON, the default.",
            )
        return summary

    def _checked(self, path: str) -> bytes:
        """A manifest, compared with its checksum, if it has one."""
        text = self.store.read(path)
        if text is None:
            raise self._missing(path)
        checksum = self.store.read(path.removesuffix(".json") + ".checksum")
        digest = hashlib.md5(text, usedforsecurity=False).digest()
        if checksum is not None and checksum.strip() and not _is_sum(digest, checksum.decode(errors="replace").strip()):
            raise Corrupt(f"{self.where}: {path} was changed: its MD5 differs from its .checksum file")
        return text

    def _path(self, key: str) -> str:
        """The path of a bucket's key below `files`. Raises Corrupt for a key that leads out of it."""
        tail = key.rpartition(_ROOT)[2]
        if not is_below(tail):
            raise Corrupt(f"{self.where}: its manifest names files outside of it", hint="Copy the export again.")
        summary: Summary | None = getattr(self, "summary", None)
        own = "" if summary is None else f"{summary.id}/"
        return f"{self.name}/{tail.removeprefix(own)}" if own and tail.startswith(own) else tail

    def _another(self, path: str) -> Corrupt:
        return Corrupt(f"{self.where}: {path} is not the file of the manifest: its MD5 differs")

    def _missing(self, path: str) -> Corrupt:
        return Corrupt(
            f"{self.where}: {path} is missing, and the manifest names it",
            hint="Copy the export again, with all of its directories below AWSDynamoDB.",
        )


def open_table_export(location: str) -> TableExportFiles:
    """An export by its place: `s3://BUCKET/PREFIX/AWSDynamoDB/ID`, or a directory with a copy of it.

    Up to three reads of its summary. InvalidRequest, NotConfigured, Corrupt.
    """
    place, name = split_location(location)
    return TableExportFiles(store_at(place), name)


def split_location(location: str) -> tuple[str, str]:
    """The place that holds an export, and the export's name in it; InvalidRequest for what names no export."""
    place, _, name = location.rstrip("/").removesuffix(f"/{SUMMARY}").rpartition("/")
    if not place or not name or place.endswith(":/"):
        raise InvalidRequest(
            f"{location} names no export",
            hint="As in s3://bucket/prefix/AWSDynamoDB/01693685827463-2d8752fd, or a directory with a copy of it.",
        )
    return place, name


def _record(line: Mapping[str, Any]) -> ExportRecord:
    """A record from a line of JSON."""
    item = line.get("Item")
    if item is not None:
        return ExportRecord({}, item)
    micros = _plain(line["Metadata"]["WriteTimestampMicros"])
    return ExportRecord(line["Keys"], line.get("NewImage"), micros)


def _plain(number: Any) -> int:
    """A time in microseconds, which is written as a number, as a text, or as an attribute of type N."""
    return int(number["N"] if isinstance(number, Mapping) else number)


_decode_line = msgspec.json.Decoder(dict[str, Any]).decode


def _has_sum(file: IO[bytes], stored_sum: str) -> bool:
    """Whether a file has that MD5; true where there is none to compare with."""
    digest = hashlib.file_digest(cast(Any, file), lambda: hashlib.md5(usedforsecurity=False)).digest()
    return not stored_sum or _is_sum(digest, stored_sum)


def _is_sum(digest: bytes, stored_sum: str) -> bool:
    """Whether a text is that MD5, in base64 as DynamoDB writes it, or in hexadecimal as other programs do."""
    return stored_sum in (base64.b64encode(digest).decode(), digest.hex())


def _cause(error: Exception) -> str:
    """The error of a record, without its values."""
    if isinstance(error, EOFError):
        return "the file ends too early"
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        return "it is not gzip, or damaged"
    return "it is not a record of an export"
