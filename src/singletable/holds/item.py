"""The item that holds a table."""

from __future__ import annotations

from datetime import datetime

from singletable.foundation import ToolItem, ToolKey


class HoldItem(ToolItem, word="hold"):
    """Since when, and why, the workers of a table begin nothing; or when it was released."""

    why: str
    """The source: `copied from local:shop.db`."""
    since: datetime
    noticed_at: datetime
    """When every worker has read it that ran when it was written."""
    opened_at: datetime | None = None
    """The time of its release, in whole seconds, by the service's clock. Changes from before are handled by nobody.
    None while the table is held."""

    @ToolKey
    @staticmethod
    def only() -> tuple[str, ...]:
        """The hold of the table."""
        return ("table",)
