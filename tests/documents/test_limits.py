"""Limits: a map that no item holds lies in several; one that no transaction holds is refused; nothing is half done."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from singletable import InvalidRequest, Table, Unavailable
from singletable.documents import Documents, LocalBlobs, Submission
from singletable.documents.batches import map_bytes
from singletable.documents.commit import _check_refusal
from singletable.errors import DeclarationError, InvalidValue
from singletable.operations.transact import Reason, ReasonedCancellation
from singletable.records import flows
from singletable.schema import ANY
from tests.documents.models import Project, Shape, note, put_comment, put_shape, put_shapes, rename, said, shout
from tests.support.engines import fresh


def parts_of(docs: Documents[Project], id: str) -> list[Any]:
    kind = docs.context.model.rows.collections["shapes"]
    return docs.db.run(flows.read_all(docs.db.port, kind.by_number(id, ANY)))


def test_a_map_lies_in_as_few_items_as_it_needs(light: Documents[Project]) -> None:
    docs = light
    docs.create("o1", "p1")
    docs.apply("p1", [put_shapes(count=5000, width=36).by("c", 1)])
    assert [(part.number, part.spill, part.spills) for part in parts_of(docs, "p1")] == [(1, 0, 1)]
    docs.apply("p1", [put_shapes(count=2000, first=5000, width=36).by("c", 2)])
    assert [(p.number, p.spill, p.spills) for p in parts_of(docs, "p1")] == [(1, 0, 1), (2, 0, 2), (2, 1, 2)]
    assert len(docs.head("p1").shapes) == len(docs.items("p1", Project.shapes)) == 7000
    assert len(docs.at("p1", version=1).shapes) == 5000
    docs.apply("p1", [put_shape(id="000000".ljust(36, "-"), shape=Shape(9, 9)).by("c", 3)])
    found = docs.diff("p1", 2, 3).collections["shapes"]
    assert (len(found.added), found.changed, found.removed) == (0, ("000000".ljust(36, "-"),), ())


@pytest.mark.parametrize(
    ("id", "why"), [("\ud800", "a lone surrogate"), ("", "not 0"), ("é" * 513, "not 1026"), (7, "a str, not int")]
)
def test_what_cant_be_an_items_id_is_refused_by_the_collections_name(id: Any, why: str) -> None:
    shapes: Any = Project.shapes
    with pytest.raises(InvalidValue, match=why) as refused:
        shapes.check_id(id)
    assert refused.value.attribute == "shapes"
    assert shapes.check_id("é" * 512)


def test_the_bytes_of_a_map_are_those_of_what_is_in_it() -> None:
    """What is added is counted, and what is removed; a change, or the removal of what never was there, adds nothing."""
    known, digest = {"kept": b"1", "changed": b"2", "removed": b"3"}, b"4"
    changed = {"changed": digest, "removed": None, "added": digest, "never there": None}
    working: Any = SimpleNamespace(bytes_of=lambda name: 1000, changed={"shapes": changed}, hashes={"shapes": known})
    assert map_bytes(working, "shapes") == 1000 + len("added") - len("removed")


def test_a_refusal_of_a_commit_that_is_no_race_is_told() -> None:
    context: Any = SimpleNamespace(model=SimpleNamespace(table=Table("app")))
    lost = ReasonedCancellation((Reason("ConditionalCheckFailed", "", None),), False, "app")
    _check_refusal(context, lost)
    worse = ReasonedCancellation((*lost.reasons, Reason("ValidationError", "", None)), False, "app")
    with pytest.raises(InvalidRequest, match="refused the commit: ValidationError") as refused:
        _check_refusal(context, worse)
    assert (refused.value.table, refused.value.operation) == ("app", "process")


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_document_holds_near_30000_items_and_refuses_more_before_anything_is_written(
    light: Documents[Project],
) -> None:
    docs = light
    docs.create("o1", "p1")
    for n in range(14):
        (outcome,) = docs.apply("p1", [put_shapes(count=2000, first=2000 * n, width=96).by("c", n + 1)])
        assert outcome.status == "applied"
    found = docs.apply(
        "p1", [put_shapes(count=8000, first=28_000, width=96).by("c", 15), note(word="after").by("c", 16)]
    )
    assert [o.status for o in found] == ["rejected", "applied"]
    assert "4 MB" in (found[0].error or "")
    assert len(docs.head("p1").shapes) == 28_000


def test_what_fits_alone_but_not_together_goes_into_two_versions(light: Documents[Project]) -> None:
    docs = light
    docs.create("o1", "p1")
    wide = [put_shapes(count=1200, first=1200 * n, width=1000).by(str(n), 1) for n in range(4)]
    found = docs.apply("p1", wide)
    assert [(o.status, o.version) for o in found] == [("applied", 1)] * 3 + [("rejected", 2)]
    assert len(docs.head("p1").shapes) == 3600


def test_scalars_have_1536_bytes_together(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    room = 1536 - len("name") - len("description") - len("log") - 3
    assert docs.apply("p1", [rename(name="x" * room).by("c", 1)])[0].status == "applied"
    (outcome,) = docs.apply("p1", [rename(name="x" * (room + 1)).by("c", 2)])
    assert outcome.status == "rejected"
    assert f"name ({room + 5} bytes)" in (outcome.error or "")
    with pytest.raises(ValueError, match="1536"):
        docs.create("o1", "p2", name="x" * 1600)


def test_the_longest_names_and_errors_fit_a_version(light: Documents[Project]) -> None:
    light.create("o1", "p" * 255)
    clients = [f"{n:03}".ljust(256, "c") for n in range(40)]
    work = [put_comment(id="r", text="x" * 470).by(client, 1, principal="p" * 256) for client in clients]
    work += [shout().by(client, 2) for client in clients]
    found = light.apply("p" * 255, work)
    assert [o.status for o in found] == ["applied"] * 40 + ["rejected"] * 40
    assert {len((o.error or "").encode()) for o in found[40:]} == {len("RuntimeError: ...") + (500 - 17) * 4}
    assert light.head("p" * 255, collections=[]).version == 2
    for wrong in ("", "c" * 257, "\ud800"):
        with pytest.raises(ValueError, match="client"):
            note(word="x").by(wrong, 1)


def test_version_times_rise_when_the_clock_does_not(docs: Documents[Project], clock: Any) -> None:
    port: Any = docs.db.port
    port.now = clock.now
    docs.create("o1", "p1")
    docs.apply("p1", [note(word="1").by("c", 1)])
    clock.set_back(3600)
    docs.apply("p1", [note(word="2").by("c", 2)])
    times = [docs.at("p1", version=n).time for n in range(3)]
    step = timedelta(milliseconds=1)
    assert times == [times[0], times[0] + step, times[0] + 2 * step]


def test_a_flood_behind_a_gap_delays_no_other_client(docs: Documents[Project]) -> None:
    """A client whose first id is missing has more waiting than a page holds; another's is found behind it."""
    docs.create("o1", "p1")
    flood: list[Submission] = [note(word="x" * 480).by("a", n) for n in range(2, 1001)]
    docs.submit("p1", flood)
    with pytest.raises(Unavailable, match="400 mutations wait"):
        docs.submit("p1", [note(word="z").by("z", 2)])
    with pytest.raises(InvalidRequest, match="more than 1000 ahead"):
        docs.submit("p1", [note(word="z").by("z", 1), note(word="z").by("z", 1001)])
    assert docs.apply("p1", [note(word="b").by("b", 1)])[0].status == "applied"
    assert said(docs.head("p1")) == ["b"]


# --- declarations -----------------------------------------------------------------------------------------------------
def test_keys_are_those_of_the_published_design(docs: Documents[Project]) -> None:
    docs.create("o_1", "p_4567")
    docs.apply("p_4567", [put_shape(id="s", shape=Shape()).by("c_1", 1), note(word="x").by("c_1", 3)])
    from tests.support.raw import all_items

    items = docs.db.run(all_items(docs.db.port, "documents-test"))
    assert sorted((item["pk"]["S"], item["sk"]["S"]) for item in items) == [
        ("Organisation#o_1", "Project#p_4567"),
        ("Project#p_4567", "Client#c_1"),
        ("Project#p_4567", "GcEpoch"),
        ("Project#p_4567", "Inbox#c_1#000000000003"),
        ("Project#p_4567", "Mutation#c_1#000000000001"),
        ("Project#p_4567", "ProjectVersion#pv_000000000000"),
        ("Project#p_4567", "ProjectVersion#pv_000000000001"),
        ("Project#p_4567", "Shapes#shapes_v_000000000001#0000"),
    ]
    listing = next(item for item in items if item["pk"]["S"] == "Organisation#o_1")
    assert (listing["gsi1pk"]["S"], listing["gsi1sk"]["S"]) == ("Project#p_4567", "Organisation#o_1")
    part = next(item for item in items if item["sk"]["S"].startswith("Shapes#"))
    assert len(part["items"]["M"]["s"]["B"]) == 44  # 32 bytes


def test_two_classes_share_a_table_and_never_an_item(tmp_path: Any) -> None:
    from singletable.documents import Document, Draft, Items

    table = Table("shared-documents", indexes=["gsi1"])

    class Board(Document, table=table, index="gsi1"):
        title: str = ""
        notes: Items[str]

    class Sketch(Document, table=table, index="gsi1", word="Drawing", prefix="dv_", parent="Team", plural="sketches"):
        strokes: Items[list[int]]
        raw: Items[bytes]

    @Board.mutation
    def write(draft: Draft[Board], *, id: str, text: str) -> None:
        draft.notes[id] = text

    @Sketch.mutation
    def draw(draft: Draft[Sketch], *, points: list[int], data: bytes) -> None:
        draft.strokes["s"] = points
        draft.raw["r"] = data

    with fresh() as db:
        store = LocalBlobs(tmp_path)
        boards, sketches = Documents(db, Board, blobs=store), Documents(db, Sketch, blobs=store)
        boards.create("o", "1")
        sketches.create("o", "1")
        boards.apply("1", [write(id="n", text="é\n").by("c", 1)])
        sketches.apply("1", [draw(points=[1, 2], data=b"\0\xff").by("c", 1)])
        assert boards.head("1").notes.all() == {"n": "é\n"}
        assert (sketches.head("1").strokes["s"], sketches.head("1").raw["r"]) == ([1, 2], b"\0\xff")
        assert boards.check("1") == sketches.check("1") == db.check(table) == []
        assert {path.split("/")[1] for path in store.list("o/")} == {"boards", "sketches"}


def test_what_can_not_hold_is_refused_when_the_class_is_made() -> None:
    from singletable.documents import Document, Items, collection

    table = Table("refused-documents")
    with pytest.raises(DeclarationError, match="says no table"):

        class NoTable(Document):
            name: str = ""

    with pytest.raises(DeclarationError, match="taken by every document"):

        class Timed(Document, table=table):
            time: str = ""  # type: ignore[assignment]

    with pytest.raises(DeclarationError, match="another collection"):

        class Twice(Document, table=table):
            ones: Items[str] = collection(word="ThingVersion", prefix="pv_")
            others: Items[str] = collection(word="ThingVersion", prefix="pv_")

    with pytest.raises(DeclarationError, match="is not valid in keys"):

        class Odd(Document, table=table, word="a#b"):
            name: str = ""
