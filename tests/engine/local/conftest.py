"""No test leaves a process or a pipe behind, also where it failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.local.processes import end_all
from tests.support.engine_option import mark_folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_folder(items, Path(__file__).parent, "these tests are of the embedded engine")


@pytest.fixture(autouse=True)
def no_child_stays() -> Iterator[None]:
    yield
    end_all()
