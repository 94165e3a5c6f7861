"""No test leaves a process or a pipe behind, also where it failed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.local.processes import end_all


@pytest.fixture(autouse=True)
def no_child_stays() -> Iterator[None]:
    yield
    end_all()
