"""An application of its own for each test, ended by the check of every project in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.projects.tests.gitted import make_repository
from examples.projects.tests.histories import EVERYTHING
from examples_shared.testing.databases import fresh
from projects.service import Service
from singletable.documents import LocalBlobs

ORGANISATION = "o1"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Service]:
    with fresh() as db:
        app = Service(db, LocalBlobs(tmp_path / "blobs"))
        app.create_table()
        yield app
        for _, row in app.projects(ORGANISATION):
            assert app.documents_of(row.document_id).check(row.document_id) == []


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of everything that a history can hold; for tests that change nothing."""
    return make_repository(tmp_path_factory.mktemp("git") / "everything", EVERYTHING)
