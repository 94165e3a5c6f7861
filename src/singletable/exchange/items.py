"""The items of copies and imports in the table that they write to."""

from __future__ import annotations

from singletable.foundation import ANY, ToolItem, ToolKey, field


class Transfer(ToolItem, word="transfer"):
    """The progress of a copy or an import into the table. It is deleted at the end."""

    transfer: str
    """The digest of what is brought here, and how."""
    state: str = field(personal=True)
    """JSON, with the key that it has reached. Empty if that stays with the user who copies."""
    token: str
    """Random: by it a copy knows its own table from another."""

    @ToolKey
    @staticmethod
    def by_id(transfer: str = ANY) -> tuple[str, ...]:
        """A transfer into a table."""
        return (f"{transfer}",)
