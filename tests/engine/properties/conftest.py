from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import Database
from tests.support.engines import fresh


@pytest.fixture(scope="module")
def db(engine_under_test: None) -> Iterator[Database]:
    with fresh() as made:
        yield made
