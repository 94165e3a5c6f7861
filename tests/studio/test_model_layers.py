"""Where boxes stand: whatever names what, no box lies on another, and each line goes from box to box."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, strategies as st

from goals.model import records
from manhunt.model import manhunt
from organisations.model import organisations
from singletable import Table
from singletable.studio.model import diagram_of, model_view
from singletable.studio.model.layers import Box, layout_of

NAMES = [f"n{number}" for number in range(9)]
SIZES = st.fixed_dictionaries({name: st.tuples(st.integers(40, 300), st.integers(20, 90)) for name in NAMES})
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=24)


def touch(one: Box, other: Box) -> bool:
    beside = one.x + one.width <= other.x or other.x + other.width <= one.x
    below = one.y + one.height <= other.y + 0.01 or other.y + other.height <= one.y + 0.01
    return not (beside or below)


@given(SIZES, PAIRS)
def test_no_box_lies_on_another(sizes: dict[str, tuple[int, int]], pairs: list[tuple[str, str]]) -> None:
    found = layout_of(sizes, pairs)
    assert found.boxes.keys() == sizes.keys()
    assert not any(touch(one, other) for one, other in combinations(found.boxes.values(), 2))
    for name, box in found.boxes.items():
        assert (box.width >= sizes[name][0], box.height) == (True, sizes[name][1])
        assert box.x >= 0
        assert box.y >= -0.01
        assert box.x + box.width <= found.width
        assert box.y + box.height <= found.height + 0.01


@given(SIZES, PAIRS)
def test_each_pair_has_one_line_from_side_to_side(
    sizes: dict[str, tuple[int, int]], pairs: list[tuple[str, str]]
) -> None:
    found = layout_of(sizes, pairs)
    wanted = {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
    assert {frozenset(pair) for pair in found.lines} == wanted
    assert len(found.lines) == len(wanted)
    for (one, other), points in found.lines.items():
        left, right = found.boxes[one], found.boxes[other]
        assert points[0][0] == left.x + left.width
        assert points[-1][0] == right.x
        assert left.y <= points[0][1] <= left.y + left.height
        assert right.y <= points[-1][1] <= right.y + right.height
        assert [x for x, _ in points] == sorted(x for x, _ in points)


@given(SIZES, PAIRS)
def test_the_same_boxes_stand_in_the_same_places(
    sizes: dict[str, tuple[int, int]], pairs: list[tuple[str, str]]
) -> None:
    assert layout_of(sizes, pairs) == layout_of(dict(sizes), list(pairs))


def test_nothing_gives_an_empty_picture() -> None:
    assert layout_of({}, []).boxes == {}


def test_every_class_is_a_link_in_the_picture() -> None:
    for table in (records, manhunt, organisations):
        (view,) = model_view([table]).tables
        found = diagram_of(view, lambda each: f"to-{each.name}")
        for each in view.classes:
            assert f'href="to-{each.name}"' in found.svg


def test_a_pair_is_drawn_by_its_surest_relation() -> None:
    (view,) = model_view([organisations]).tables
    svg = diagram_of(view, lambda each: "#").svg
    assert "<title>UserOrganisation belongs to User: email is User.email</title>" in svg
    assert "UserOrganisation mentions User" not in svg
    assert svg.count("<path class=") - svg.count('class="arrow"') == len(
        {frozenset((r.holder, r.subject)) for r in view.relations if r.holder != r.subject}
    )


def test_a_table_without_classes_is_an_empty_picture() -> None:
    (view,) = model_view([Table("nothing")]).tables
    assert diagram_of(view, lambda each: "#").legend == ()
