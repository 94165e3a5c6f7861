"""The catalogue of faults and threats: each with what is promised and the tests that inject it, or the reason why none.

`python -m tests.faults.proven` writes docs/reference/proven.md from it.
"""

from __future__ import annotations

from tests.faults.catalogue import delivery, documents, environment, graph, records, requests, tasks, threats
from tests.faults.catalogue.entry import Entry, Section

SECTIONS: tuple[Section, ...] = (
    *requests.SECTIONS,
    *records.SECTIONS,
    *graph.SECTIONS,
    *documents.SECTIONS,
    *delivery.SECTIONS,
    *tasks.SECTIONS,
    *environment.SECTIONS,
    threats.SECTION,
)
COUNTS = {"A": 13, "B": 7, "C": 8, "D": 8, "E": 6, "F": 18, "G": 7, "H": 12, "I": 11, "J": 8, "K": 9, "L": 6, "S": 19}
"""How many entries each section has."""

__all__ = ["COUNTS", "SECTIONS", "Entry", "Section"]
