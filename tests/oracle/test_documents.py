"""A document's check sees each fault that is planted in an otherwise sound document, and no other kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from singletable.documents import Documents, LocalBlobs
from singletable.documents.document import document_model
from singletable.documents.rows import AppliedMutation
from singletable.foundation import Finding, flows
from singletable.schema import key_of, model_of
from tests.documents.models import Project, Shape, app, put_shape, rename
from tests.oracle.planting import assert_command_finds, assert_found, delete, put
from tests.support.engines import fresh

ROWS = document_model(Project).rows
SHAPES = ROWS.collections["shapes"]
LONG_AGO = datetime(2026, 1, 1, tzinfo=timezone.utc)
Docs = Documents[Project]


@pytest.fixture
def docs(tmp_path: Path) -> Iterator[Docs]:
    """A document of four versions and two of its shapes, and its branch; both shapes are one blob."""
    with fresh() as db:
        made = Documents(db, Project, blobs=LocalBlobs(tmp_path))
        made.create("o1", "p1")
        made.apply("p1", [put_shape(id="s1", shape=Shape()).by("c1", 1)])
        made.apply("p1", [rename(name="x").by("c1", 2)])
        made.apply("p1", [put_shape(id="s2", shape=Shape()).by("c1", 3)])
        made.branch("p1", "b1")
        assert made.check("p1") == made.check("b1") == []
        assert db.check(app) == []
        yield made


def plant(docs: Docs, row: Any) -> None:
    put(docs.db, type(row), model_of(type(row)).item(row))


def read(docs: Docs, key: Any) -> Any:
    found = docs.db.run(flows.get(docs.db.port, key.consistent()))
    assert found is not None
    return found


def version(docs: Docs, number: int, **changes: Any) -> Any:
    return replace(read(docs, ROWS.version.by_number("p1", number)), **changes)


def after_the_last(docs: Docs, **changes: Any) -> Any:
    """A version that follows the last, of no mutation."""
    last = version(docs, 3)
    return replace(last, **{"number": 4, "time": datetime.now(timezone.utc), "mutations": [], **changes})


def record(docs: Docs, **changes: Any) -> Any:
    return replace(read(docs, ROWS.mutation.by_id("p1", "c1", 3)), **changes)


def client(docs: Docs, **changes: Any) -> Any:
    return replace(read(docs, ROWS.client.by_client("p1", "c1")), **changes)


def waiting(**said: Any) -> Any:
    return ROWS.inbox(**{"document_id": "p1", "client": "c1", "name": "rename", "arguments": '{"name":"y"}', **said})


def out_of_order(docs: Docs) -> None:
    """The last mutation has the id 4, in all that is stored of it."""
    last = record(docs)
    delete(docs.db, key_of(last))
    plant(docs, replace(last, id=4))
    plant(docs, client(docs, last_id=4))
    plant(docs, version(docs, 3, mutations=[AppliedMutation("c1", 4, "put_shape")]))


def only_its_epoch(docs: Docs) -> None:
    """Of all that is stored of the document, but for its branch."""
    for number in range(4):
        delete(docs.db, ROWS.version.by_number("p1", number))
    for number in (1, 2):
        delete(docs.db, SHAPES.by_number("p1", number, 0))
    for number in (1, 2, 3):
        delete(docs.db, ROWS.mutation.by_id("p1", "c1", number))
    delete(docs.db, ROWS.client.by_client("p1", "c1"))


def damaged_blob(docs: Docs) -> None:
    store: Any = docs.context.store
    contents = docs.context.contents_of(version(docs, 3))
    (content,) = [content for content in contents.list() if content.folder == "shapes"]
    store.delete(contents.path(content))


def left_behind(docs: Docs) -> None:
    docs.store("p1", Project.shapes, [Shape(9, 9, "left")])


def condemned(docs: Docs) -> None:
    digest = read(docs, SHAPES.by_number("p1", 2, 0)).items["s2"]
    of = {"document_id": "p1", "folder": "shapes", "sha256": digest.hex(), "run": "r"}
    plant(docs, ROWS.condemned(**of, deleting=True))


def key_of_branch() -> Any:
    return ROWS.branch.by_branch("p1", "b1")


PLANTED: dict[str, tuple[list[str], Callable[[Docs], None]]] = {
    "a version that is missing": (["version.gap"], lambda d: plant(d, after_the_last(d, number=5))),
    "a version that is too early": (["version.time"], lambda d: plant(d, version(d, 3, time=LONG_AGO))),
    "a version of another parent": (["version.organisation"], lambda d: plant(d, version(d, 3, parent="o2"))),
    "a collection that goes back": (["version.collection"], lambda d: plant(d, after_the_last(d, collections={}))),
    "no version": (["version.missing"], only_its_epoch),
    "no epoch": (["epoch.missing"], lambda d: delete(d.db, ROWS.epoch.by_document("p1"))),
    "half a collection": (
        ["collection.parts"],
        lambda d: plant(d, replace(read(d, SHAPES.by_number("p1", 1, 0)), spills=2)),
    ),
    "a collection of no version": (
        ["collection.orphan"],
        lambda d: plant(d, replace(read(d, SHAPES.by_number("p1", 2, 0)), number=9)),
    ),
    "a mutation in two versions": (
        ["client.last", "mutation.order", "mutation.record", "mutation.twice"],
        lambda d: plant(d, after_the_last(d, mutations=[AppliedMutation("c1", 3, "put_shape")])),
    ),
    "a mutation of another version": (["mutation.record"], lambda d: plant(d, record(d, version=2))),
    "a mutation that follows none": (["mutation.order"], out_of_order),
    "a mutation of no version": (["mutation.orphan"], lambda d: plant(d, record(d, id=9))),
    "another last id": (["client.last"], lambda d: plant(d, client(d, last_id=9))),
    "no last id": (["client.missing"], lambda d: delete(d.db, key_of(client(d)))),
    "a mutation that was applied waits": (["inbox.dead"], lambda d: plant(d, waiting(id=1))),
    "a mutation waits for another": (["inbox.gap"], lambda d: plant(d, waiting(id=9, at=LONG_AGO))),
    "a mutation that nobody applies": (["inbox.unprocessed"], lambda d: plant(d, waiting(id=4, at=LONG_AGO))),
    "a mutation waits for a program": (
        ["inbox.unknown"],
        lambda d: plant(d, waiting(id=4, name="gone", at=datetime.now(timezone.utc))),
    ),
    "a content that is damaged": (["blob.wrong"], damaged_blob),
    "a content that nothing reaches": (["blob.unreached"], left_behind),
    "a content that is being deleted": (["blob.deleting"], condemned),
    "half a deletion": (
        ["document.deleting"],
        lambda d: plant(d, replace(read(d, ROWS.epoch.by_document("p1")), deleted=True)),
    ),
    "no entry in its parent's list": (["listing.missing"], lambda d: delete(d.db, ROWS.listing.by_parent("o1", "p1"))),
    "a branch that is missing": (
        ["branch.missing"],
        lambda d: plant(d, replace(read(d, key_of_branch()), branch="gone")),
    ),
}
OF_THE_BRANCH: dict[str, tuple[list[str], Callable[[Docs], None]]] = {
    "a branch that nobody names": (["branch.unknown"], lambda d: delete(d.db, key_of_branch())),
    "a branch without a version": (["version.missing"], lambda d: delete(d.db, ROWS.version.by_number("b1", 0))),
    "a branch without its beginning": (["branch.source"], lambda d: delete(d.db, SHAPES.by_number("p1", 2, 0))),
}


@pytest.mark.parametrize("fault", [*PLANTED, *OF_THE_BRANCH])
def test_a_planted_fault_is_found_and_nothing_else(docs: Docs, fault: str) -> None:
    wanted, how = {**PLANTED, **OF_THE_BRANCH}[fault]
    how(docs)
    assert_found(lambda: _once(docs.check("p1" if fault in PLANTED else "b1")), wanted)
    store: Any = docs.context.store
    assert_command_finds(docs.db, __name__, wanted, "--blobs", str(store.directory))


def _once(found: list[Finding]) -> list[Finding]:
    """One finding of each kind: a fault of a version may be told of each of its mutations."""
    return list({finding.code: finding for finding in found}.values())
