"""The check of sync sees each fault that is planted in an otherwise sound table, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from singletable.documents import Documents, LocalBlobs
from singletable.schema import model_of
from singletable.sync.check import check
from singletable.sync.client_groups import group_keys
from tests.documents.models import Project, app, note
from tests.oracle.planting import assert_command_finds, assert_found, put
from tests.support.engines import fresh

KEYS = group_keys(app)


@pytest.fixture
def docs(tmp_path: Path) -> Iterator[Documents[Project]]:
    """A document with a mutation of Ada's, by a client of her group."""
    with fresh() as db:
        made = Documents(db, Project, blobs=LocalBlobs(tmp_path))
        made.create("o1", "p1")
        db.create(group(user="ada"))
        db.create(KEYS.client(group="g1", client="c1"))
        made.apply("p1", [note(word="x").by("c1", 1, principal="ada")])
        assert db.run(check(db.port, made.context)) == []
        assert db.check(app) == []
        yield made


def group(*, name: str = "g1", user: str = "ada", project: str = "p1") -> Any:
    return KEYS.group(group=name, user=user, document="Project", project=project)


def plant(docs: Documents[Project], entity: Any) -> None:
    put(docs.db, type(entity), model_of(type(entity)).item(entity))


PLANTED: dict[str, tuple[list[str], Callable[[Documents[Project]], None]]] = {
    "a group of no document": (["sync.group-homeless"], lambda docs: plant(docs, group(name="g2", project="gone"))),
    "a client of no group": (
        ["sync.client-alone"],
        lambda docs: plant(docs, KEYS.client(group="gone", client="c2")),
    ),
    "a mutation of another's client": (["sync.crossed"], lambda docs: plant(docs, group(user="eve"))),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(docs: Documents[Project], fault: str) -> None:
    wanted, how = PLANTED[fault]
    how(docs)
    assert_found(lambda: docs.db.run(check(docs.db.port, docs.context)), wanted)
    assert_command_finds(docs.db, __name__, wanted)
