"""The mark of an audit, which it leaves in the table."""

from __future__ import annotations

from singletable.foundation import ANY, ToolItem, ToolKey


class AuditMark(ToolItem, word="audit"):
    """Who has audited the table."""

    by: str

    @ToolKey
    @staticmethod
    def by_auditor(by: str = ANY) -> tuple[str, ...]:
        """The audits of a table."""
        return (f"{by}",)
