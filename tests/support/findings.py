"""Findings of a check that a test looks at."""

from __future__ import annotations

from collections.abc import Iterable

from singletable.records import Finding


def but_garbage(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without contents that nothing reaches: lost races, kills and deletions of branches leave them."""
    return [finding for finding in findings if finding.code != "blob.unreached"]
