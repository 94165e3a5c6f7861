"""Reading the shape of a table: one scan, whole or of a sample, and the changes that its stream still has. Flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from singletable.errors import NotConfigured
from singletable.flow import Port, patiently
from singletable.foundation import (
    Table,
    TableItems,
    advanced,
    all_segments,
    check_sample,
    check_segments,
    place_in,
    port_over,
    ready,
    sample_segments,
    scan_pages,
    usual_segments,
)
from singletable.jobs.inspect import is_of_job
from singletable.reports.shape import HotKey, Prediction, TableShape, hottest
from singletable.reports.tally import Tally
from singletable.streams.inspect import Tail, TailedChange
from singletable.tables import READ_BYTES, describe

MOST_CHANGES: Final = 10_000
"""Changes that are read of a stream, unless it is said."""
_LEAST_UNITS: Final = 0.5
"""The units of a page of a segment without items."""
_NOT_EXPORTED: Final = "hottest keys: they are counted from the changes of the table's stream, which no export has"

Progress = Callable[[int], object]
"""Called with the number of items read so far, after each round trip."""


async def predict(port: Port, table: Table, sample: float | None) -> Prediction:
    """Predict the cost of reading the shape. Two requests, no units. Raises NotConfigured if the table is missing."""
    check_sample(sample)
    description = await describe(port, table.definition)
    if description is None:
        raise NotConfigured(
            "the table is missing", table=table.name, hint="Create it: singletable table create MODULE."
        )
    share = 1.0 if sample is None else sample
    units = max(_LEAST_UNITS, description.bytes * share / READ_BYTES / 2)
    return Prediction(description.items, description.bytes, round(units, 1))


async def read_shape(
    port: Port,
    table: Table,
    *,
    sample: float | None,
    seed: int,
    segments: int | None,
    changes: int,
    progress: Progress | None,
    from_export: TableItems | None = None,
) -> TableShape:
    """Scan the table, or a sample of it, eventually consistent; then read a limited number of its stream's changes. Or
    read an export, and nothing of the table."""
    check_sample(sample)
    check_segments(segments)
    port = port_over(port, from_export, sample)
    at_once = usual_segments(port) if segments is None else segments
    if from_export is None:
        await ready(port, table)
    left = all_segments(at_once) if sample is None else sample_segments(sample, f"stats/{seed}")
    share, tally = len(left) / left[0].of, Tally(table)
    while left:
        pages = await patiently(port, partial(scan_pages, port, table, left[:at_once], consistent=False))
        for page in pages:
            tally.add(page.items)
        left = advanced(left, pages)
        if progress is not None:
            progress(tally.seen)
    if from_export is not None:
        omitted = (_NOT_EXPORTED,) if changes else ()
        return tally.shape(sample, share, left_out=omitted, as_of=from_export.complete_at)
    hot, seen, left_out = await hot_keys(port, table, changes)
    return tally.shape(sample, share, hot, seen, left_out)


async def hot_keys(port: Port, table: Table, most: int) -> tuple[Sequence[HotKey], int, Sequence[str]]:
    """The partition keys with most changes among the oldest ones of the stream, without those of jobs' own items; and
    what can't be told, in words."""
    if not most:
        return (), 0, ()
    if table.definition.stream is None:
        return (), 0, ("hottest keys: they are counted from the changes of a stream, and this table declares none",)
    if table.definition.stream != "new_and_old":
        return (), 0, ('hottest keys: they are counted from a stream with both images, stream="new_and_old"',)
    tail, counted, seen = Tail(port, table, "horizon"), dict[str, tuple[int, str, str]](), 0
    while seen < most:
        changes = [change for change in await patiently(port, tail.read) if isinstance(change, TailedChange)]
        if not changes:
            break
        own = (change for change in changes if not is_of_job(change.type))
        records = {change.record.dynamodb.sequence_number: change for change in own}
        for change in records.values():
            partition, sort = place_in(table, change.record.dynamodb.keys)
            count, _, _ = counted.get(partition, (0, "", ""))
            counted[partition] = (count + 1, change.type, sort)
        seen += len(records)
    return hottest(counted), seen, ()
