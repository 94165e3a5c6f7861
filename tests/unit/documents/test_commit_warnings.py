"""What is logged of mutations that wait: once by each port."""

from __future__ import annotations

import logging

import pytest

from singletable.documents.commit import warn_once


class SomePort:
    """Stands for a port: only its identity counts."""


def test_it_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    port = SomePort()
    with caplog.at_level(logging.WARNING, "singletable.documents"):
        for place in ("a", "b", "a"):
            warn_once(port, place, f"{place} waits")  # type: ignore[arg-type]  # a name for an object
    assert [each.getMessage() for each in caplog.records] == ["a waits", "b waits"]


def test_a_port_in_the_place_of_a_freed_one_logs_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "singletable.documents"):
        for _ in range(20):
            warn_once(SomePort(), "a", "a waits")  # type: ignore[arg-type]  # as above
    assert len(caplog.records) == 20
