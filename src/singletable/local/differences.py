"""Where the embedded engine differs from Amazon DynamoDB, as facts an upper layer can ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """What to know about an engine before relying on it."""

    scan_page_limit: int | None
    """The largest `Limit` to scan with; an unlimited Scan stalls every other request. None: no bound is needed."""

    counts_parts: bool
    """Whether a GetItem with a projection is counted by the bytes that it gives, where AWS counts the whole item."""

    sweeps_ttl: bool
    """Whether expired items are ever deleted by the engine."""

    synchronous_indexes: bool
    """Whether an index shows a write as soon as the write is answered."""

    begins_with_folds_case: bool
    """Whether a key condition's `begins_with` also finds prefixes in the other case; `BETWEEN` is exact instead."""

    remembers_tokens_over_restart: bool
    """Whether a `ClientRequestToken` still prevents a second run after the engine was restarted."""


EMBEDDED = EngineTraits(
    scan_page_limit=1000,
    counts_parts=True,
    sweeps_ttl=False,
    synchronous_indexes=True,
    begins_with_folds_case=True,
    remembers_tokens_over_restart=False,
)
