"""The items of migrations in a table: the record of its model, the lease of its applies, the progress of fills, the
counts of a plan that was a job, and the processes that share a rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from singletable.foundation import ANY, ToolItem, ToolKey, field, texts_of
from singletable.operations import Key


class FillPart(ToolItem, word="migration"):
    """The progress of one segment of a fill."""

    declaration: str
    """The digest of what the table was filled for."""
    segment: int
    segments: int
    position: dict[str, str] | None = field(default=None, personal=True)
    """The key after which it goes on; None at its beginning."""
    is_over: bool = False
    seen: int = 0
    written: int = 0
    old_keys: dict[str, int] = field(default_factory=dict[str, int])
    """The number of items under the keys that their classes had before, by type."""

    @ToolKey
    @staticmethod
    def by_segment(declaration: str = ANY, segment: int = ANY) -> tuple[str, ...]:
        """The progress of one segment of a fill."""
        return f"{declaration}", f"{segment}"

    def moved(self, after: Key | None, seen: int, written: int, old_keys: Mapping[str, int]) -> FillPart:
        """The part after a page, which ended at a key."""
        place = None if after is None else texts_of(after)
        return type(self)(
            declaration=self.declaration,
            segment=self.segment,
            segments=self.segments,
            position=place,
            is_over=after is None,
            seen=self.seen + seen,
            written=self.written + written,
            old_keys=dict(Counter(self.old_keys) + Counter(old_keys)),
        )


class ModelRecord(ToolItem, word="model", goes_along=True):
    """The model that a table was last brought to."""

    model: str
    """JSON, the output of `singletable plan --check-in`. Empty for a model that is in `packed`."""
    brought_at: datetime
    by: str
    """Who brought it there, as they called themselves."""
    fence: int
    """The fence of the apply that wrote it."""
    packed: bytes | None = None
    """The JSON compressed, of a model that would be too large for an item."""
    toward: bytes | None = None
    """The model, compressed, that an apply has begun to rewrite items for and has not ended."""
    before: bytes | None = None
    """The model, compressed, that the table had before this one."""

    @ToolKey
    @staticmethod
    def only() -> tuple[str, ...]:
        """The model that the table was last brought to."""
        return ("model",)


class ApplyLease(ToolItem, word="apply"):
    """Who changes the table: at most one apply at a time."""

    fence: int
    """Raised whenever it is taken. Every write of its owner is conditional on it."""
    owner: str = ""
    """A token of the apply that has it; "" when it is free."""
    by: str = ""
    since: datetime | None = None
    beats: int = 0
    """Raised by its owner. Unchanged for a lease's length, the owner counts as dead."""
    doing: str = ""
    """The step that it is at, for people."""

    @ToolKey
    @staticmethod
    def only() -> tuple[str, ...]:
        """Who changes the table."""
        return ("lease",)


class PlanCounts(ToolItem, word="plan"):
    """The counts of the last plan that was a job."""

    job: str
    work: str
    """A digest of all that decides what is counted, and of the form of this item."""
    packed: bytes
    """The counts, compressed: at most 350 KB."""

    @ToolKey
    @staticmethod
    def only() -> tuple[str, ...]:
        """The counts of the last plan that was a job."""
        return ("counts",)


class SharedBudget(ToolItem, word="rate"):
    """The processes that share a rate. Each has an attribute `m_<random id>`, a number that it raises."""

    name: str

    @ToolKey
    @staticmethod
    def by_name(name: str = ANY) -> tuple[str, ...]:
        """Who shares a rate."""
        return (f"{name}",)
