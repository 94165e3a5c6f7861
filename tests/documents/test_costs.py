"""What reads and writes cost, in requests, units and bytes: the figures that the documentation states."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from singletable.documents import Documents
from tests.documents.models import Project, Shape, move_shape, note, put_shape, rename
from tests.documents.recording import recorded

ID = "0" * 36
CLIENT = "c" * 36


def item_id(n: int) -> str:
    return f"{n:036}"


def filled(docs: Documents[Project], count: int, size: int = 50_000) -> None:
    """A document of some items of random text, with ids of 36 bytes."""
    docs.create("o1", ID, name="A project")
    for first in range(0, count, 40):
        part = range(first, min(count, first + 40))
        docs.apply(
            ID,
            [put_shape(id=item_id(n), shape=Shape(n, n, os.urandom(size // 2).hex())).by("load", n + 1) for n in part],
        )


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_a_mutation_writes_its_blob_4_KB_and_70_bytes_an_entry(light: Documents[Project], count: int) -> None:
    docs = light
    filled(docs, count)
    with recorded(docs) as written:
        docs.apply(ID, [move_shape(id=item_id(count // 2), x=-1, y=-1).by(CLIENT, 1)])
    assert [folder for folder, _ in written.blobs] == ["shapes"]
    assert count * 32 < written.bytes_of("Shapes") <= 300 + count * 70  # 32 bytes are the sha256
    assert written.bytes_of() <= 4096 + count * 80
    assert 0 < written.bytes_of() - written.bytes_of("Shapes") < 1500
    with recorded(docs) as written:
        docs.apply(ID, [rename(name="Another").by(CLIENT, 2)])
    assert (written.blobs, written.bytes_of("Shapes")) == ([], 0)


def test_requests_and_units(light: Documents[Project], budget: Callable[..., Any]) -> None:
    docs = light
    filled(docs, 100, size=100)
    with budget(requests=2, round_trips=2, read_units=2):
        docs.submit(ID, [note(word="x").by(CLIENT, 1)])
    # The newest version, the epoch and the inbox; the client and two collections; the transaction; the inbox again.
    with budget(requests=3 + 1 + 1 + 1 + 1 + 3, round_trips=3 + 1 + 1 + 1):
        assert [outcome.status for outcome in docs.process(ID)] == ["applied"]
    with budget(requests=2, round_trips=2, read_units=1 + 2):
        assert len(docs.head(ID).shapes) == 100
    with budget(requests=1, round_trips=1, read_units=1):
        docs.head(ID, collections=[])
    with budget(requests=2, round_trips=1, read_units=1 + 2):
        assert len(docs.items(ID, Project.shapes)) == 100
    with budget(requests=1 + 2, round_trips=2, read_units=2 + 2):
        docs.at(ID, version=2)
    with budget(requests=1, round_trips=1):
        docs.history(ID)
    with budget(requests=3, round_trips=2):
        docs.diff(ID, 1, 2)
    with budget(requests=1, round_trips=1, read_units=0.5 * 2):
        assert docs.last_ids(ID, [CLIENT]) == {CLIENT: 1}
