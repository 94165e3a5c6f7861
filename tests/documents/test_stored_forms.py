"""The keys and types under which a document's items are stored: data of older programs holds them, byte for byte."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import Entity, Table
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs, ObjectBlobs, collection
from singletable.documents.rows import Place
from singletable.schema import model_of
from singletable.schema.catalogue import catalogue
from singletable.values.key_types import SEPARATORS
from tests.support.engines import fresh
from tests.support.raw import all_items

AT = datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)

STORED = {
    "Project": ("Organisation#o1", "Project#p1"),
    "ProjectVersion": ("Project#p1", "ProjectVersion#pv_000000000007"),
    "ProjectShapes": ("Project#p1", "Shapes#shapes_v_000000000003#0001"),
    "ProjectRemarks": ("Project#p1", "Remarks#r_000000000003#0000"),
    "ProjectMutation": ("Project#p1", "Mutation#c9#000000000012"),
    "ProjectClient": ("Project#p1", "Client#c9"),
    "ProjectInbox": ("Project#p1", "Inbox#c9#000000000013"),
    "ProjectGcEpoch": ("Project#p1", "GcEpoch"),
    "ProjectCondemned": ("Project#p1", "Condemned#shapes#ab12"),
    "ProjectTag": ("Project#p1", "ProjectTag#v1"),
    "ProjectBranch": ("Project#p1", "ProjectBranch#p2"),
}
"""Type to partition and sort key, in a table whose separator is "#"."""


def declared(table: Table) -> type[Any]:
    class Project(Document, table=table, index="gsi1"):
        name: str = ""
        shapes: Items[str]
        comments: Items[str] = collection(word="Remarks", prefix="r_")

    @Project.mutation
    def put(draft: Draft[Project], *, id: str) -> None:
        draft.shapes[id] = id

    return Project


def rows_of(project: type[Any], document_id: str, parent: str, client: str) -> list[Entity]:
    """One of each item."""
    rows, of = project.__document__.rows, {"document_id": document_id}
    shapes, remarks = rows.collections["shapes"], rows.collections["comments"]
    return [
        rows.listing(**of, parent=parent, created=AT),
        rows.version(**of, parent=parent, number=7, time=AT, scalars={}, collections={}, mutations=[]),
        shapes(**of, parent=parent, number=3, spill=1, spills=2, items={}),
        remarks(**of, parent=parent, number=3, spill=0, spills=1, items={}),
        rows.mutation(**of, client=client, id=12, name="put", version=7),
        rows.client(**of, client=client, last_id=12, version=7),
        rows.inbox(**of, client=client, id=13, name="put"),
        rows.epoch(**of, parent=parent, epoch=2),
        rows.condemned(**of, folder="shapes", sha256="ab12", run="r", deleting=False),
        rows.tag(**of, name="v1", number=7, time=AT),
        rows.branch(**of, branch="p2", parent=parent, origin=Place("p1", 7), sources={}, created=AT),
    ]


def stored(entity: Entity) -> dict[str, Any]:
    return model_of(type(entity)).item(entity)


@pytest.mark.parametrize("separator", SEPARATORS)
def test_each_item_lies_where_it_always_did(separator: str) -> None:
    project = declared(Table("documents", indexes=["gsi1"], separator=separator))
    items = [stored(entity) for entity in rows_of(project, "p1", "o1", "c9")]
    assert {i["_type"]["S"]: (i["pk"]["S"], i["sk"]["S"]) for i in items} == {
        type: (partition.replace("#", separator), sort.replace("#", separator))
        for type, (partition, sort) in STORED.items()
    }
    assert {(i["gsi1pk"]["S"], i["gsi1sk"]["S"]) for i in items if "gsi1pk" in i} == {
        (f"Project{separator}p1", f"Organisation{separator}o1")
    }


def test_a_separator_inside_an_id_is_escaped() -> None:
    project = declared(Table("documents", indexes=["gsi1"]))
    listing, _, _, _, mutation, client, inbox, epoch, *_ = map(stored, rows_of(project, "p#1%", "o-1/2", "c#9"))
    assert (listing["pk"]["S"], listing["sk"]["S"]) == ("Organisation#o-1/2", "Project#p%231%25")
    assert mutation["sk"]["S"] == "Mutation#c%239#000000000012"
    assert client["sk"]["S"] == "Client#c%239"
    assert inbox["sk"]["S"] == "Inbox#c%239#000000000013"
    assert epoch["pk"]["S"] == "Project#p%231%25"


def test_they_are_listed_with_the_library_s_own_only() -> None:
    table = Table("documents", indexes=["gsi1"])
    declared(table)
    assert catalogue(table) == ()
    listed = {f"{pattern.partition} {pattern.sort}" for pattern in catalogue(table, system=True)}
    assert "Project#{document_id} Inbox#{client}#{id}" in listed
    assert len(listed) == len(STORED) + 1, "each by its key, and the listing by its index"


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_document_lives_in_a_table_with_any_separator(separator: str, tmp_path: Path) -> None:
    table = Table("documents", indexes=["gsi1"], separator=separator)
    project = declared(table)
    put = project.__document__.mutators["put"]
    with fresh() as db:
        docs: Documents[Any] = Documents(db, project, blobs=LocalBlobs(tmp_path / "blobs"))
        docs.create("o/1-a#", "p-1/a#")
        docs.create("o/1", "p-1")
        outcomes = docs.apply("p-1/a#", [put(id=str(n)).by(f"c-{n % 2}/#", n // 2 + 1) for n in range(50)])
        assert {outcome.status for outcome in outcomes} == {"applied"}
        assert sorted(docs.head("p-1/a#").shapes) == sorted(map(str, range(50)))
        assert [listing.document_id for listing in docs.page("o/1-a#")] == ["p-1/a#"]
        assert docs.head("p-1").version == 0
        docs.collect_garbage("p-1/a#")
        assert docs.check("p-1/a#") == docs.check("p-1") == []
        assert db.check(table) == []
        types = {item["_type"]["S"] for item in db.run(all_items(db.port, table.name))}
        assert types <= set(STORED)


SEALS = [b"", b"\0", b"\xff\xfe", b"Mw==", bytes(range(256))]


@pytest.mark.parametrize("seal", SEALS)
def test_scalars_of_bytes_are_what_was_given(seal: bytes) -> None:
    """Created, changed by a mutation, and merged from a branch."""
    table = Table("sealed", indexes=["gsi1"])

    class Sealed(Document, table=table, index="gsi1"):
        seal: bytes = b""
        seals: list[bytes] = []

    @Sealed.mutation
    def reseal(draft: Draft[Sealed], *, seal: bytes) -> None:
        draft.seals = [*draft.seals, draft.seal]
        draft.seal = seal

    with fresh() as db:
        db.create_table(table)
        documents = Documents(db, Sealed, blobs=ObjectBlobs(MemoryStore()))
        assert documents.create("o1", "p1", seal=seal).seal == seal
        documents.branch("p1", "p2")
        documents.apply("p2", [reseal(seal=seal + b"!").by("c", 1)])
        assert documents.merge("p2", onto="p1").is_merged
        merged = documents.head("p1")
        assert (merged.seal, merged.seals) == (seal + b"!", [seal])
        assert documents.check("p1") == []
