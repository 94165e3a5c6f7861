"""The items of copies, imports and restores in the table that they write to."""

from __future__ import annotations

from datetime import datetime

from singletable.foundation import ANY, ToolItem, ToolKey, field


class Transfer(ToolItem, word="transfer"):
    """The progress of a copy or an import into the table. It is deleted at the end."""

    transfer: str
    """The digest of what is brought here, and how."""
    state: str = field(personal=True)
    """JSON, with the key that it has reached. Empty if that stays with the user who copies."""
    token: str
    """Random: by it a copy knows its own table from another."""

    @property
    def unfinished(self) -> str:
        """The work that goes on with the same call."""
        return "a copy or an import into it"

    @ToolKey
    @staticmethod
    def by_id(transfer: str = ANY) -> tuple[str, ...]:
        """A transfer into a table."""
        return (f"{transfer}",)


class RestoreRecord(ToolItem, word="restore"):
    """The restore that made the table, and its progress."""

    source: str = field(name="restored_from")
    """The backup, time, copy or export, in words. A graph's items have a `source` of their own."""
    identity: str
    """The table that has this record, as the service tells it from others of its name."""
    began_at: datetime
    ended_at: datetime | None = None
    done: list[str] = field(default_factory=list[str])
    """The parts that are done."""
    notes: list[str] = field(default_factory=list[str])
    """The parts that it could not bring back."""

    @property
    def unfinished(self) -> str:
        """The work that goes on with the same call; empty if it has ended."""
        return "" if self.ended_at is not None else f"its restore from {self.source}"

    @ToolKey
    @staticmethod
    def only() -> tuple[str, ...]:
        """The restore that made the table."""
        return ("table",)
