"""What reads and writes cost, in requests, units and bytes: the figures that the documentation states."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from singletable.documents import Documents
from singletable.documents.commit import next_version
from singletable.documents.conditions import ensure_contents
from singletable.documents.submission import submit_and_read
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
    with budget(requests=3 + (1 + 1) + 1 + 1 + 3, round_trips=1 + 1 + 1 + 1 + 1):
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
    # All but the collections; the row and the collection that was written; the transaction; the inbox, and the next id.
    with budget(requests=3 + (1 + 1) + 1 + (1 + 1), round_trips=4):
        docs.apply(ID, [note(word="y").by(CLIENT, 2)])
    docs.submit(ID, [note(word="z").by("another", 1)])
    docs.process(ID)
    docs.submit(ID, [note(word="z").by("another", 2)])
    with budget(
        requests=3 + (1 + 1) + 1 + 1 + 3, round_trips=1 + 1 + 1 + 1 + 1
    ):  # the newest version names its last one
        docs.process(ID)
    # The newest version does not name the client's last mutation: the collections are read after its record.
    docs.submit(ID, [note(word="z").by(CLIENT, 3)])
    with budget(requests=3 + 1 + 1 + 1 + 1 + 3, round_trips=3 + 1 + 1 + 1):
        docs.process(ID)
    docs.submit(ID, [note(word="after a gap").by(CLIENT, 5)])
    with budget(requests=3 + 1, round_trips=2):  # what waits costs no collection
        assert docs.process(ID) == []
    # 101 mutations are three versions: the first as above, each other one read anew, as `process` does.
    docs.process(ID)
    many = [rename(name=str(number)).by("of many", number) for number in range(1, 102)]
    with budget(requests=3 + (101 + 1) + 1 + 2 + 2 * (3 + 2 + 1 + 2), round_trips=20):
        assert {outcome.status for outcome in docs.apply(ID, many)} == {"applied"}


def test_a_mutation_with_its_arguments_in_a_blob_takes_no_more(
    light: Documents[Project], budget: Callable[..., Any]
) -> None:
    docs = light
    docs.create("o1", ID, name="A project")
    with budget(requests=3 + 1 + 1 + (1 + 1), round_trips=4):
        docs.apply(ID, [rename(name="x" * 1000).by("c", 1)])
    assert docs.head(ID).name == "x" * 1000


def test_an_epoch_that_is_raised_before_the_row_is_put_is_read_again(
    light: Documents[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs, collected = light, list[int]()
    docs.create("o1", ID, name="A project")
    docs.store(ID, Project.shapes, [Shape(1, 1, "refers to nothing")])

    async def collecting_first(*given: Any) -> None:
        if not collected:
            collected.append(docs.collect_garbage(ID).deleted)
        await ensure_contents(*given)

    monkeypatch.setattr("singletable.documents.submission.ensure_contents", collecting_first)
    (outcome,) = docs.apply(ID, [rename(name="x" * 1000).by("c", 1)])
    assert (collected, outcome.status) == ([1], "applied")
    assert docs.head(ID).name == "x" * 1000


def test_what_was_read_before_another_commit_is_read_again_once(
    light: Documents[Project], budget: Callable[..., Any]
) -> None:
    docs = light
    docs.create("o1", ID, name="A project")
    _, state = docs.db.run(submit_and_read(docs.db.port, docs.context, ID, [note(word="late").by("c", 1)]))
    assert state is not None
    docs.apply(ID, [note(word="early").by("d", 1)])
    docs.submit(ID, [note(word="last").by("d", 2)])
    # Refused; then as `process`: the reads, the clients and the collection, the transaction, the inbox.
    with budget(requests=1 + 3 + (1 + 1) + 1 + 1, round_trips=1 + 5):
        outcomes = docs.db.run(next_version(docs.db.port, docs.context, ID, state=state))
    assert sorted((outcome.client, outcome.version) for outcome in outcomes) == [("d", 2)]
    assert sorted(docs.head(ID).log) == ["early", "last", "late"]
