"""What each action costs at most: the figures of the application's README."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.projects.tests.conftest import ORGANISATION
from examples.projects.tests.gitted import REGULAR, Step, make_repository
from examples_shared.testing.databases import fresh
from projects.import_git import import_git
from projects.service import Service
from singletable import Meter
from singletable.documents import LocalBlobs

FILES = 100


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A repository of 100 files, two commits; a board of one shape, two versions."""
    folder = tmp_path_factory.mktemp("costs")
    with fresh() as db:
        app = Service(db, LocalBlobs(folder / "blobs"))
        app.create_table()
        import_git(db, app.blobs, history_of(folder / "git"), organisation=ORGANISATION, project="r")
        app.create_board(ORGANISATION, "b", "Atlas", "")
        app.mutate("b", "put_shape", '{"id": "s1", "shape": {}}')
        app.mutate("b", "rename", '{"name": "Charts"}')
        yield app


def history_of(folder: Path) -> Path:
    files = {b"src/package/module_%03d.py" % n: (REGULAR, b"%d" % n) for n in range(FILES)}
    return make_repository(folder, [Step(files), Step({b"src/package/module_001.py": (REGULAR, b"changed")})])


def cost(app: Service, action: Callable[[], Any]) -> Meter:
    with app.db.meter() as meter:
        action()
    return meter


@pytest.mark.parametrize(
    ("action", "round_trips"),
    [
        (lambda app: app.version("b"), 3),
        (lambda app: app.version("r"), 4),
        (lambda app: app.version("b", 1), 3),
        (lambda app: app.version("r", 1), 4),
        (lambda app: app.history("b", 20, None), 2),
        (lambda app: app.boards.diff("b", 0, 2), 2),
        (lambda app: app.repositories.diff("r", 1, 2), 2),
        (lambda app: app.projects(ORGANISATION), 2),
    ],
    ids=["board", "repository", "board at", "repository at", "history", "board diff", "repository diff", "projects"],
)
def test_reading(app: Service, action: Callable[[Service], Any], round_trips: int) -> None:
    meter = cost(app, lambda: action(app))
    assert meter.round_trips <= round_trips
    assert meter.write_units == 0


def test_a_commit(app: Service, tmp_path: Path) -> None:
    """Ten requests in eight round trips, and before the first of them five to find where to go on."""
    repository = history_of(tmp_path / "git")

    def importing(limit: int) -> Meter:
        options: Any = {"organisation": "o2", "project": "n", "limit": limit}
        return cost(app, lambda: import_git(app.db, app.blobs, repository, **options))

    importing(1)
    one = importing(2)
    assert (one.requests <= 15, one.round_trips <= 11, 0 < one.write_units <= 25) == (True, True, True), one
    none = importing(2)
    assert (none.requests <= 5, none.round_trips <= 3, none.write_units == 0) == (True, True, True), none
