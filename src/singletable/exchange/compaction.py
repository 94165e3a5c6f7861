"""Compaction: the changes of the log become rows, exactly one for each item, and a new manifest replaces the old.

A file without a changed row stays as it is. A file with some is written again without them, and the rows of what the
items are now go to a new file. Nothing is deleted before the manifest that needs it no more is there. So a run that is
killed at any step leaves the export before, or the one after; what it wrote otherwise is swept by the next.

Which change of an item is the newest is known by its sequence number, and that of each item changed in the last two
days is kept in `_versions`: a change that comes again or late is older, and is left out. One from before that, or from
before the scan of the export began, is in the data already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from singletable.exchange.change_log import FOLDER, LoggedChange, Place, batches
from singletable.exchange.datasets import UNKNOWN, UNKNOWN_SCHEMA, Dataset
from singletable.exchange.manifest import (
    MANIFEST,
    DataFile,
    DatasetFiles,
    Following,
    Manifest,
    Retired,
    begun_at,
    columns_of,
    dataset_files,
    encode_manifest,
    new_id,
    read_manifest,
)
from singletable.exchange.parts import Parts
from singletable.exchange.sorter import Sorter
from singletable.exchange.stores import Store
from singletable.exchange.unfinished import DRAFT_SECONDS, read_unfinished
from singletable.flow.instants import instant
from singletable.flow.port import Port
from singletable.foundation import Table
from singletable.streams.record_tail import Position

VERSIONS: Final = "_versions"
_VERSIONS_FIELDS: Final[Sequence[tuple[str, pa.DataType]]] = (
    ("partition", pa.string()),
    ("sort", pa.string()),
    ("sequence", pa.string()),
    ("at", pa.float64()),
)
_VERSIONS_SCHEMA: Final = pa.schema(_VERSIONS_FIELDS)
Texts: TypeAlias = Any
"""An array of texts; pyarrow's own types of arrays are generic by their scalars."""
KEPT_SECONDS: Final = 48 * 3600.0
"""How long an item's newest change is remembered: twice as long as a stream has its records."""
GRACE_SECONDS: Final = 3600.0
"""How long a file stays that no manifest names any more, for those who read it now."""
SMALL_ROWS: Final = 20_000
MOST_SMALL: Final = 8
"""Files of a dataset with fewer rows than that; one more, and they are written again as one."""


@dataclass(frozen=True)
class Version:
    """The newest change of an item that is in the data."""

    sequence: str
    at: float


@dataclass(eq=False)
class _Found:
    """What the log has that the data has not."""

    paths: list[str] = field(default_factory=list[str])
    newest: dict[Place, LoggedChange] = field(default_factory=dict[Place, LoggedChange])
    positions: dict[str, Position] = field(default_factory=dict[str, Position])
    complete_at: float | None = None


def compact(port: Port, table: Table, store: Store, datasets: Sequence[Dataset]) -> Manifest | None:
    """Bring the data to what the log has. None where another process replaced the manifest meanwhile: nothing is
    changed then. `datasets` are those of the table, with their keys, in any order."""
    before = store.read(MANIFEST)
    manifest = read_manifest(store)
    following = manifest.following
    if following is None:
        return None
    versions = _read_versions(store, following)
    found = _take(store, following, versions)
    if not following.versions and not _reaches(found, manifest):
        return manifest  # an item could be shown as it was before the scan
    made = _Made(port, table, store, manifest, datasets)
    written = made.datasets_with(found.newest)
    for change in found.newest.values():
        versions[change.place] = Version(change.sequence, change.at)
    complete_at = max(manifest.complete_at.timestamp(), found.complete_at or 0.0)
    known_since = max(following.known_since, complete_at - KEPT_SECONDS)
    kept = {place: version for place, version in versions.items() if version.at >= known_since}
    now, has_news = port.now(), bool(found.newest)
    after = replace(
        manifest,
        id=made.id,
        complete_at=instant(complete_at),
        written_at=instant(now),
        datasets=written,
        previous=None,
        following=Following(
            stream=following.stream,
            known_since=known_since,
            positions=found.positions or following.positions,
            merged=tuple(found.paths),
            versions=made.write_versions(kept) if has_news or len(kept) < len(versions) else following.versions,
            retired=_retired(store, manifest, written, now),
        ),
    )
    if not store.write_if(MANIFEST, encode_manifest(after), before):
        return None
    for path in (*following.merged, *found.paths):
        store.delete(path)
    _sweep(store, after, now)
    return after


def _take(store: Store, following: Following, versions: Mapping[Place, Version]) -> _Found:
    """The newest changes of the log that are newer than the data."""
    found = _Found()
    for path, batch in batches(store, following.merged):
        found.paths.append(path)
        if batch.stream != following.stream:
            continue  # of a stream that the table had before: the data was scanned since
        if batch.positions:
            found.positions = batch.positions
        if batch.complete_at is not None:
            found.complete_at = max(found.complete_at or 0.0, batch.complete_at)
        for change in batch.changes:
            version, known = versions.get(change.place), found.newest.get(change.place)
            latest = max(version.sequence if version else "", known.sequence if known else "")
            if change.at >= following.known_since and change.sequence > latest:
                found.newest[change.place] = change
    return found


def _reaches(found: _Found, manifest: Manifest) -> bool:
    """Whether the log goes on to after the scan: before, an item's newest change may be older than its row. A reader of
    all shards says so; AWS Lambda has passed a change from after the scan."""
    latest = max((change.at for change in found.newest.values()), default=0.0)
    return found.complete_at is not None or latest >= manifest.written_at.timestamp()


class _Made:
    """The data after a compaction, in a folder of its own for what is new."""

    def __init__(self, port: Port, table: Table, store: Store, manifest: Manifest, datasets: Sequence[Dataset]) -> None:
        self.id = new_id(port)
        self.table, self.store, self.manifest, self.datasets = table, store, manifest, datasets
        self.by_name = {dataset.name: dataset for dataset in datasets}

    def datasets_with(self, newest: Mapping[Place, LoggedChange]) -> tuple[DatasetFiles, ...]:
        """The datasets with the changed items as they are now."""
        if not newest:
            return self.manifest.datasets
        written: dict[str, list[DataFile]] = {}
        schemas = {**{name: dataset.schema for name, dataset in self.by_name.items()}, UNKNOWN: UNKNOWN_SCHEMA}
        parts = Parts(self.store, self.id, "parquet", schemas, written)
        images = [change.image for change in newest.values() if bytes(change.image)]
        found = Sorter(self.table, self.datasets).batches(images)
        keys = pa.array([_joined(place) for place in newest])
        grows = {name for name, _ in found}
        kept = {each.name: self._kept(each, keys, grows, parts) for each in self.manifest.datasets}
        for name, batch in found:
            parts.add(name, batch)
        parts.close()
        names = dict.fromkeys((*(each.name for each in self.manifest.datasets), *sorted(written)))
        return tuple(self._dataset(name, (*kept.get(name, ()), *written.get(name, ()))) for name in names)

    def write_versions(self, versions: Mapping[Place, Version]) -> str:
        """The newest sequence numbers, as a file."""
        path = f"{self.id}/{VERSIONS}.parquet"
        draft = self.store.draft(path)
        columns: list[list[Any]] = [
            [place[0] for place in versions],
            [place[1] for place in versions],
            [version.sequence for version in versions.values()],
            [version.at for version in versions.values()],
        ]
        names = _VERSIONS_SCHEMA.names
        found = pa.Table.from_pydict(dict(zip(names, columns, strict=True)), schema=_VERSIONS_SCHEMA)
        pq.write_table(found, draft, compression="zstd")
        self.store.keep(path, draft)
        return path

    def _kept(self, dataset: DatasetFiles, keys: Texts, grows: Set[str], parts: Parts) -> list[DataFile]:
        """The files that stay. Of the others, the rows that stay go to `parts`."""
        kept: list[DataFile] = []
        small = [file for file in dataset.files if file.rows < SMALL_ROWS]
        together = {file.path for file in small} if len(small) + (dataset.name in grows) > MOST_SMALL else set()
        for file in dataset.files:
            with self.store.opened(file.path) as content, pq.ParquetFile(content) as opened:
                if file.path in together or _has_one_of(opened, _key_columns(dataset), keys):
                    for batch in _without(opened, _key_columns(dataset), keys):
                        parts.add(dataset.name, batch)
                else:
                    kept.append(file)
        return kept

    def _dataset(self, name: str, files: tuple[DataFile, ...]) -> DatasetFiles:
        for known in self.manifest.datasets:
            if known.name == name:
                return replace(known, files=files)
        if name == UNKNOWN:
            said = "Items that no class explains, or reads."
            return DatasetFiles(UNKNOWN, "", "", "", said, columns_of(UNKNOWN_SCHEMA), "", files)
        return dataset_files(self.by_name[name], files)


def _key_columns(dataset: DatasetFiles) -> list[str]:
    """The two columns that hold an item's key: the first ones, of an export with keys."""
    if dataset.name == UNKNOWN:
        return ["partition", "sort"]
    return [column.name for column in dataset.columns[:2]]


def _has_one_of(file: pq.ParquetFile, columns: list[str], keys: Texts) -> bool:
    return any(pc.any(_is_one_of(batch, columns, keys)).as_py() for batch in file.iter_batches(64_000, columns=columns))


def _without(file: pq.ParquetFile, columns: list[str], keys: Texts) -> Iterator[pa.RecordBatch]:
    for batch in file.iter_batches(64_000):
        left = batch.filter(pc.invert(_is_one_of(batch, columns, keys)))
        if left.num_rows:
            yield left


def _is_one_of(batch: pa.RecordBatch, columns: list[str], keys: Texts) -> Any:
    """Which rows are of one of the items."""
    parts: list[Any] = [batch.column(name) for name in columns]
    return pc.is_in(pc.binary_join_element_wise(*parts, _BETWEEN), value_set=keys)


_BETWEEN: Final = "\x1f\x00\x1f"


def _joined(place: Place) -> str:
    return _BETWEEN.join(place)


def _read_versions(store: Store, following: Following) -> dict[Place, Version]:
    if not following.versions:
        return {}
    with store.opened(following.versions) as content:
        found = pq.read_table(content).to_pydict()
    columns = (found[name] for name in ("partition", "sort", "sequence", "at"))
    return {(p, s): Version(sequence, at) for p, s, sequence, at in zip(*columns, strict=True)}


def _paths(datasets: tuple[DatasetFiles, ...]) -> set[str]:
    return {file.path for dataset in datasets for file in dataset.files}


def _retired(store: Store, before: Manifest, after: tuple[DatasetFiles, ...], now: float) -> tuple[Retired, ...]:
    """The files that those who read the manifest before may still need."""
    following = before.following
    known = {each.path: each for each in following.retired} if following is not None else {}
    gone = _paths(before.datasets) - _paths(after)
    if before.previous is not None:
        gone |= set(store.list(f"{before.previous}/"))
    found = {**{path: Retired(path, now) for path in gone}, **known}
    return tuple(each for each in found.values() if now - each.at < GRACE_SECONDS)


def _sweep(store: Store, manifest: Manifest, now: float) -> None:
    """Delete what nothing names any more: what killed runs wrote, and files whose time is over. What began within an
    hour may be another process's, which is about to name it."""
    following = manifest.following
    assert following is not None
    for folder in ("", FOLDER):
        store.delete_drafts(folder, before=now - DRAFT_SECONDS)
    unfinished = read_unfinished(store)
    named = _paths(manifest.datasets) | {each.path for each in following.retired} | {following.versions}
    for path in list(store.list("")):
        is_under_way = unfinished is not None and path.startswith(f"{unfinished.id}/")
        began = begun_at(path)
        if path not in named and not is_under_way and began is not None and began < now - DRAFT_SECONDS:
            store.delete(path)
