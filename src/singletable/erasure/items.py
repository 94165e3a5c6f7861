"""The items of erasures in a table."""

from __future__ import annotations

from datetime import datetime

from singletable.foundation import ANY, ToolItem, ToolKey, field


class ErasureRecord(ToolItem, word="erasure"):
    """An erasure that goes on, or what is left of one that has ended: counts and times, and nothing of the subject."""

    erasure: str
    """Random: no key of the table says whose erasure it was."""
    pattern: str
    """The access pattern that named the subject, without its arguments."""
    by: str = ""
    started_at: datetime
    ended_at: datetime | None = None
    salt: bytes | None = None
    digest: bytes | None = None
    """The digest of the subject's key and the salt: a second call finds its record by it. None once it has ended."""
    writes: int = 0
    """Raised by each write of the record, on condition of the count before."""
    runs: int = 0
    """The number of its runs: more than one if it was killed."""
    deleted: dict[str, int] = field(default_factory=dict[str, int])
    cleared: dict[str, int] = field(default_factory=dict[str, int])
    doing: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The items being deleted now, by class, as salted digests: after a crash, missing ones are counted."""
    again: list[str] = field(default_factory=list[str])
    """Documents whose deletion has begun, by their ids, until it has ended: such a one is in no list any more."""

    @ToolKey
    @staticmethod
    def by_id(erasure: str = ANY) -> tuple[str, ...]:
        """The erasures of a table."""
        return (f"{erasure}",)
