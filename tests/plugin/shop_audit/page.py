"""The page of a table's audits."""

from __future__ import annotations

from shop_audit.mark import AuditMark
from singletable.studio import Page, Section, View, Visit


class AuditsView(View, frozen=True, kw_only=True):
    """Who has audited a table."""

    table: str
    auditors: tuple[str, ...]


async def load_audits(visit: Visit) -> AuditsView:
    """One query."""
    visit.must_read_all()
    marks = await visit.db.all(AuditMark.all_of(visit.table))
    return AuditsView(title="Audits", table=visit.table.name, auditors=tuple(mark.by for mark in marks))


SECTION = Section(
    pages=(
        Page(
            "/audits/{table}",
            "shop_audit/audits.html",
            load_audits,
            nav="Audits",
            order=95,
            style="shop_audit/audits.css",
        ),
    ),
)
