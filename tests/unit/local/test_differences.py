"""What upper layers ask about the engine."""

from __future__ import annotations

from singletable_local import EMBEDDED


def test_the_traits_are_those_of_the_engine_in_use() -> None:
    assert EMBEDDED.scan_page_limit == 1000
    assert EMBEDDED.synchronous_indexes
    assert not EMBEDDED.sweeps_ttl
