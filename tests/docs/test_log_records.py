"""The page of log records is what the events say."""

from __future__ import annotations

from tests.docs.log_records import PAGE, kinds, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.docs.log_records"


def test_every_event_is_on_it() -> None:
    assert len(list(kinds())) >= 14
    assert all(kind.logger.startswith("singletable.") and kind.levels for kind in kinds())
