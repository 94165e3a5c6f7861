"""A table whose items lack what their classes declare now."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import Database
from tests.jobs.people import put_people
from tests.support.engines import fresh


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        put_people(made, 120)
        yield made
