"""A processor is killed at each step, before it, after it, and with the answer unheard, while another one works.

Steps are requests and blobs: the reads, the contents, the transaction, the clearing of the inbox. Afterwards the
client that heard nothing pushes again, and nothing is lost, nothing doubled, no version without its blobs.
"""

from __future__ import annotations

import threading  # noqa: TID251
from collections.abc import Iterator
from pathlib import Path

import pytest

from singletable import Database
from singletable.documents import Documents, LocalBlobs
from tests.documents import processes
from tests.documents.models import Project, Shape, app, said
from tests.documents.processes import BLOB_AFTER, BLOB_BEFORE, connected, pushed
from tests.faults.failpoints import AFTER, BEFORE
from tests.support.children import KILLED, run_child
from tests.support.findings import but_garbage


@pytest.fixture
def db(engine_url: str) -> Iterator[Database]:
    with connected(engine_url) as made:
        made.create_table(app)
        yield made


@pytest.fixture
def docs(db: Database, tmp_path: Path) -> Documents[Project]:
    return Documents(db, Project, blobs=LocalBlobs(tmp_path))


def settle(docs: Documents[Project], id: str, clients: tuple[str, ...]) -> None:
    """Everyone pushes again, and everything was applied once."""
    for client in clients:
        assert [o.status for o in docs.apply(id, pushed(client))] == ["applied"] * 4
    assert docs.process(id) == []
    assert but_garbage(docs.check(id)) == []
    head = docs.head(id)
    assert sorted(said(head)) == sorted(word for c in clients for word in (f"{c}1", f"{c}4"))
    for client in clients:
        assert said(head).index(f"{client}1") < said(head).index(f"{client}4")
        assert head.shapes[f"{client}-large"] == Shape(2, 2, client * 1000)
    assert docs.last_ids(id, clients) == dict.fromkeys(clients, 4)
    versions = docs.history(id, limit=100).items
    assert sorted((m.client, m.id) for v in versions for m in v.mutations) == sorted(
        (client, n) for client in clients for n in range(1, 5)
    )


def die_at_each(docs: Documents[Project], point: str, task: str, racing: bool, stride: int = 1) -> int:
    """Kill the child at a point, the 1st time it passes, the 2nd, and so on, until it survives."""
    url, directory = docs.db.target.endpoint.url, str(docs.context.store.directory)  # type: ignore[attr-defined]
    for n in range(1, 200, stride):
        id = f"{task}-{point}-{n}-{racing}"
        docs.create("o1", id)
        if task == "collect":
            docs.store(id, Project.shapes, [Shape(7, 7, "garbage"), Shape(1, 1, "child")])
        errors: list[BaseException] = []
        other = threading.Thread(target=_work, args=(docs, id, errors))
        if racing:
            other.start()
        died = run_child(getattr(processes, task), url, directory, id, dies_at=f"{point}:{n}") == KILLED
        if racing:
            other.join()
        assert errors == []
        if task == "collect":
            docs.collect_garbage(id, take_over=True)
        settle(docs, id, ("child", "other") if racing else ("child",))
        _collect(docs, id)
        if not died:
            return n
    raise AssertionError("the child never survives")


def _work(docs: Documents[Project], id: str, errors: list[BaseException]) -> None:
    try:
        docs.apply(id, pushed("other"))
        for _ in range(10):
            docs.process(id)
    except BaseException as error:
        errors.append(error)


def _collect(docs: Documents[Project], id: str) -> None:
    """Two runs take what the dead left; the last is told that it is alone."""
    docs.collect_garbage(id)
    docs.collect_garbage(id, take_over=True)
    assert but_garbage(docs.check(id)) == []
    contents = docs.context.contents("o1", id)
    head = docs.head(id)
    folders = [content.folder for content in contents.list()]
    assert folders.count("shapes") == len({head.shapes.hash_of(item) for item in head.shapes})


# A request of each sort is passed within the first dozen; the soak runs go through all, with another one racing.
@pytest.mark.parametrize("point", [AFTER, BLOB_AFTER])
def test_a_dead_processor_loses_and_doubles_nothing(docs: Documents[Project], point: str) -> None:
    assert die_at_each(docs, point, "apply", racing=False, stride=2 if point == BLOB_AFTER else 3) > 3


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("point", [BEFORE, AFTER, BLOB_BEFORE, BLOB_AFTER])
def test_nor_beside_another_one(docs: Documents[Project], point: str) -> None:
    assert die_at_each(docs, point, "apply", racing=True) > 3


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("point", [BEFORE, AFTER, BLOB_BEFORE, BLOB_AFTER])
def test_nor_does_a_dead_collection(docs: Documents[Project], point: str) -> None:
    assert die_at_each(docs, point, "collect", racing=True) >= 2
