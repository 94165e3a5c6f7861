"""The differences of the embedded engine from Amazon DynamoDB, as facts that the layers above can ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """The differences of an engine from DynamoDB."""

    scan_page_limit: int | None
    """The largest `Limit` of a Scan: a scan without one blocks every other request. None: no limit is needed."""

    segments_shift: bool
    """Whether the segments of a scan change with the number of items. On AWS each has its own range of hashes."""

    scans_by_key: bool
    """Whether a scan is in the order of keys; on AWS it is in that of hashes."""

    counts_parts: bool
    """Whether a GetItem with a projection costs what it returns; on AWS it costs the whole item."""

    encryption_keys: bool
    """Whether a table that is there can be given an encryption key. The data is never encrypted."""

    sweeps_ttl: bool
    """Whether the engine deletes expired items."""

    synchronous_indexes: bool
    """Whether an index contains a write as soon as the write is acknowledged."""

    begins_with_folds_case: bool
    """Whether `begins_with` in a key condition ignores case. `BETWEEN` doesn't, and is used instead."""

    remembers_tokens_over_restart: bool
    """Whether a `ClientRequestToken` still prevents a second execution after the engine was restarted."""


EMBEDDED = EngineTraits(
    scan_page_limit=1000,
    segments_shift=True,
    scans_by_key=True,
    counts_parts=True,
    encryption_keys=False,
    sweeps_ttl=False,
    synchronous_indexes=True,
    begins_with_folds_case=True,
    remembers_tokens_over_restart=False,
)
