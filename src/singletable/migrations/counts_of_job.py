"""The counts of a plan that was a job, in an item of the table: the next plan takes them, on any machine.

It takes them as those of a file (`kept_counts`), by the same rules. A command that has waited for a job names it: its
counts are taken for a day too, but also where they refuse the plan, or could have.
"""

from __future__ import annotations

import zlib
from typing import Any

import msgspec
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.flow import Port
from singletable.foundation import Table, flows
from singletable.migrations.apply_lease import GetIfTable, read_single
from singletable.migrations.items import PlanCounts
from singletable.migrations.kept_counts import CountsFile, KeptCounts


async def take_counts_of_job(port: Port, file: CountsFile, work: str, job: str | bool) -> None:
    """Let a reading take the counts of a job of the same work: of the last one, where they stand for a reading, or of
    a named one. A read. InvalidRequest if a named one has none."""
    table = file.counts.table
    if job is True and file.has_ended:
        return
    stored: Any = await read_single(port, PlanCounts.of(table), GetIfTable)
    if stored is not None and stored.work == work:
        counts = unpacked_counts(stored.packed)
        is_taken = file.stands(counts) if job is True else stored.job == job and file.is_young(counts)
        if is_taken:
            file.of_job = counts
            return
    if isinstance(job, str):
        raise InvalidRequest(
            f"the job {job} has no counts of this plan: it has not ended, it ended a day ago, a later one has ended, "
            "or the declaration, the record, the indexes or the accepted differences were others",
            table=table.name,
            operation="plan",
            hint="Begin it again: singletable plan MODULE --job.",
        )


async def write_counts_of_job(port: Port, table: Table, job: str, counts: KeptCounts, most_bytes: int) -> None:
    """Keep the counts of a job, in place of those of the one before. A write."""
    packed = packed_counts(counts, most_bytes)
    await flows.put(port, PlanCounts.of(table)(job=job, work=counts.work, packed=packed))


def packed_counts(counts: KeptCounts, most_bytes: int) -> bytes:
    """The kept form of counts. With fewer keys as examples where it would be larger than `most_bytes`."""
    keys = max((len(one.keys) for one in counts.counted), default=0)
    while len(data := zlib.compress(msgspec.json.encode(counts))) > most_bytes and keys:
        keys -= 1
        counts = replace(counts, counted=tuple(replace(one, keys=one.keys[:keys]) for one in counts.counted))
    return data


def unpacked_counts(data: bytes) -> KeptCounts:
    return msgspec.json.decode(zlib.decompress(data), type=KeptCounts)
