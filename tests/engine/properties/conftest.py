from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import Database, connect


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with connect("local") as made:
        yield made
