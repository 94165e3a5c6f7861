"""A database of the engine that the tests run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import Database
from tests.support.engines import fresh
from tests.support.forked_questions import (
    forked_questions as forked_questions,
    nursery_of_questions as nursery_of_questions,
)


@pytest.fixture
def any_db() -> Iterator[Database]:
    with fresh() as db:
        yield db
