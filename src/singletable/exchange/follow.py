"""Following a table: its changes, from the stream, go to the log; compactions bring the data to what the log has.

One reader of all shards, without a lease: how far it has come is in each batch of the log, beside the changes, and
later in the manifest. So a reader that is killed loses nothing, and what it read twice is in the data once.

The data begins with a scan. A change from well before the scan is in it; every later one is read from the stream, which
has those of a day. Where changes may be missing, because nothing followed the table for a day, its stream was replaced,
or a class is declared otherwise now, the table is scanned again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import PASSING, InvalidRequest, Unavailable
from singletable.exchange.change_log import Batch, LoggedChange, batches, logged, name_of, write_batch
from singletable.exchange.compaction import compact
from singletable.exchange.datasets import Dataset, datasets_of
from singletable.exchange.export import ExportOptions, export
from singletable.exchange.manifest import MANIFEST, Following, Manifest, encode_manifest, find_manifest, read_manifest
from singletable.exchange.stores import Store
from singletable.flow.port import Port
from singletable.flow.stop import Stop
from singletable.foundation import Table
from singletable.streams.acquisition import MARGIN_SECONDS, SAFE_SECONDS
from singletable.streams.record_tail import Position, RecordTail, TailedRecord

_log = logging.getLogger("singletable.exchange")
_FLUSH_BYTES: Final = 8 << 20
"""Images of changes in memory; with more, they go to the log."""
_COMPACT_BYTES: Final = 64 << 20
"""Images in the log; with more, it is compacted."""
_LAGS: Final = 2
"""A change is in the stream within two of the times that an index may lag by: seconds on AWS, at once locally."""


class Followed(Struct, frozen=True):
    """How far a followed export has come."""

    changes: int
    """Changes read since this process began."""
    complete_at: datetime
    """Every write from before this moment is in the data."""
    manifest: Manifest
    scans: int = 0
    """How often the whole table was read: at the beginning, and after a gap."""


Progress = Callable[[Followed], object]


class FollowOptions(Struct, frozen=True):
    """How a table is followed; seconds throughout. InvalidRequest for times that are none."""

    once: bool = False
    """End when the stream has nothing more."""
    poll_seconds: float = 1.0
    flush_seconds: float = 5.0
    compact_seconds: float = 300.0
    anew: bool = False

    def __post_init__(self) -> None:
        if min(self.poll_seconds, self.flush_seconds, self.compact_seconds) <= 0:
            raise InvalidRequest("a table is followed with times above 0 seconds", hint="Leave out what is usual.")


async def follow(
    port: Port, table: Table, store: Store, options: FollowOptions, stop: Stop, progress: Progress | None = None
) -> Followed:
    """Follow a table until `stop` returns True, or until the stream has nothing more; then the data is compacted."""
    run = _Run(port, table, store, options, progress)
    await run.begin()
    while not stop():
        found = await _round(run, options)
        if options.once and run.is_caught_up:
            break
        if not found:
            await port.sleep(options.poll_seconds)
    return await run.end()


async def _round(run: _Run, options: FollowOptions) -> bool:
    """A round. An error that passes is logged, and the next round goes on; not where it is to end by itself."""
    try:
        return await run.round()
    except PASSING as error:
        if options.once:
            raise
        _log.warning("following goes on later: %s", error)
        return False


class _Run:
    """One process that follows a table."""

    def __init__(
        self, port: Port, table: Table, store: Store, options: FollowOptions, progress: Progress | None
    ) -> None:
        if table.definition.stream not in ("new", "new_and_old"):
            raise InvalidRequest(
                "the table has no stream of new images, so it can't be followed",
                table=table.name,
                hint='Say Table(..., stream="new_and_old"), and `singletable apply` switches it on.',
            )
        self.port, self.table, self.store, self.options, self.progress = port, table, store, options, progress
        self.datasets = followed_datasets(table)
        self.changes = self.scans = 0
        self._pending: list[LoggedChange] = []
        self._pending_bytes = self._log_bytes = 0
        self._began_at = port.now()
        self._flushed_at = self._compacted_at = port.monotonic()
        self._tail = RecordTail(port, table, "horizon")
        self._manifest: Manifest

    @property
    def is_caught_up(self) -> bool:
        """Whether everything that was in the stream when this process began has been read."""
        return self._tail.complete_at >= self._began_at

    async def begin(self) -> None:
        """The data that is there, or a scan; and the stream, from where the last process was."""
        manifest = find_manifest(self.store)
        if manifest is None or self.options.anew or not self._can_go_on(manifest):
            manifest = await self._scan(anew=self.options.anew)
        following = manifest.following
        positions = {} if following is None else self._positions(following)
        stream = "" if following is None else following.stream
        self._manifest = manifest
        self._tail = RecordTail(self.port, self.table, "horizon", stream=stream, known=positions)
        self._began_at = self.port.now()

    async def round(self) -> bool:
        """Read what has come; True where there was something."""
        found = await self._tail.read()
        if any(not isinstance(one, TailedRecord) for one in found):
            await self._begin_again()
            return True
        self._ensure_following()
        following = self._manifest.following
        assert following is not None
        for one in found:
            if isinstance(one, TailedRecord):
                change = logged(self.table, one.record)
                self.changes += 1
                if change.at >= following.known_since:
                    self._pending.append(change)
                    self._pending_bytes += 200 + len(bytes(change.image))
        self._settle(bool(found))
        return bool(found)

    async def end(self) -> Followed:
        """Everything that was read is in the log; and in the data, unless that would show an item as it was before the
        scan."""
        if self._manifest.following is not None:
            self._flush()
            if self.is_caught_up:
                self._compact()
        return self._told()

    def _settle(self, came: bool) -> None:
        now = self.port.monotonic()
        waited = now - self._flushed_at >= self.options.flush_seconds
        if self._pending and (self._pending_bytes >= _FLUSH_BYTES or (waited and not self.options.once)):
            self._flush()
        is_due = now - self._compacted_at >= self.options.compact_seconds or self._log_bytes >= _COMPACT_BYTES
        if is_due and self.is_caught_up:
            self._flush()
            self._compact()

    def _flush(self) -> None:
        """Write what is in memory to the log, with how far the stream was read."""
        complete_at = self._tail.complete_at - _LAGS * self.port.traits.index_lag_seconds
        known = complete_at if self.is_caught_up else None
        batch = Batch(self._tail.stream, self._pending, self._tail.positions(), known)
        write_batch(self.store, name_of(self.port), batch)
        self._log_bytes += self._pending_bytes
        self._pending, self._pending_bytes = [], 0
        self._flushed_at = self.port.monotonic()

    def _compact(self) -> None:
        """Where another process compacts too, what it made is the beginning of the next try."""
        while (made := compact(self.port, self.table, self.store, self.datasets)) is None:
            found = find_manifest(self.store)
            if found is None or not self._can_go_on(found):
                raise Unavailable(
                    "another export replaced the one that is followed, in a form that can't be",
                    hint="Begin again, which scans the table. Give other exports folders of their own.",
                )
            self._ensure_following()
        self._manifest = made
        self._compacted_at, self._log_bytes = self.port.monotonic(), 0
        if self.progress is not None:
            self.progress(self._told())

    async def _begin_again(self) -> None:
        """Changes may be missing: the data is scanned, and the stream is read from its beginning."""
        self._pending, self._pending_bytes = [], 0
        self._manifest = await self._scan(anew=True)
        self._tail = RecordTail(self.port, self.table, "horizon")
        self._began_at = self.port.now()

    async def _scan(self, *, anew: bool) -> Manifest:
        """Scan the table, or go on with a scan that was ended, if the stream reaches back to its beginning."""
        self.scans += 1
        done = await export(self.port, [self.table], self.store, ExportOptions(keys=True, anew=anew))
        assert done.manifest is not None
        return done.manifest if anew or self._can_go_on(done.manifest) else await self._scan(anew=True)

    def _can_go_on(self, manifest: Manifest) -> bool:
        """Whether the data that is there can be brought to what the table has."""
        is_like_it = manifest.keys and manifest.format == "parquet" and manifest.tables == (self.table.name,)
        is_recent = self.port.now() - manifest.complete_at.timestamp() < SAFE_SECONDS - MARGIN_SECONDS
        return is_like_it and is_recent and not manifest.changed(datasets_of(self.table))

    def _positions(self, following: Following) -> Mapping[str, Position]:
        """The positions of the manifest, or of a batch after it."""
        found = following.positions
        for _, batch in batches(self.store, following.merged):
            if batch.positions and batch.stream == following.stream:
                found = batch.positions
        return found

    def _ensure_following(self) -> None:
        """Say in the manifest which stream the data follows, before the first batch of it."""
        following = self._manifest.following
        while following is None or following.stream != self._tail.stream:
            before, found = self.store.read(MANIFEST), read_manifest(self.store)
            since = found.complete_at.timestamp() - MARGIN_SECONDS
            self._manifest = replace(found, following=Following(self._tail.stream, since))
            if self.store.write_if(MANIFEST, encode_manifest(self._manifest), before):
                return
            following = read_manifest(self.store).following

    def _told(self) -> Followed:
        return Followed(self.changes, self._manifest.complete_at, self._manifest, self.scans)


def followed_datasets(table: Table) -> tuple[Dataset, ...]:
    """The datasets of a table with their keys."""
    return tuple(dataset.with_keys() for dataset in datasets_of(table))
