"""Overlap: two templates that could write one text are told, with a text that both have written."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from singletable.schema.key_text import Template
from singletable.schema.overlap import could_begin, could_meet
from tests.property.examples import times
from tests.property.keys import separators, templates, values


@times(4)
@given(st.data(), separators)
def test_a_text_that_both_read_is_never_missed(data: st.DataObject, separator: str) -> None:
    one, other = data.draw(templates(separator, rest=True)), data.draw(templates(separator, rest=True))
    written = one.prefix(data.draw(values(one)))
    meet = could_meet(one, other)
    assert (meet is None) == (could_meet(other, one) is None)
    if written and other.read(written) is not None:
        assert meet is not None


@times(4)
@given(st.data(), separators)
def test_the_example_is_read_by_both(data: st.DataObject, separator: str) -> None:
    one, other = data.draw(templates(separator, rest=True)), data.draw(templates(separator, rest=True))
    example = could_meet(one, other)
    if example:
        assert one.read(example) is not None, (one.shown, other.shown, example)
        assert other.read(example) is not None, (one.shown, other.shown, example)


@given(st.data(), separators)
def test_a_template_meets_itself(data: st.DataObject, separator: str) -> None:
    template = data.draw(templates(separator))
    assert could_meet(template, template) is not None


@times(3)
@given(st.data(), separators)
def test_a_beginning_that_is_written_is_never_missed(data: st.DataObject, separator: str) -> None:
    one, other = data.draw(templates(separator)), data.draw(templates(separator))
    written = one.prefix(data.draw(values(one)))
    known = data.draw(st.integers(0, len(other.names)))
    given_ = data.draw(values(other))
    prefix = other.prefix({name: given_[name] for name in other.names[:known]})
    parts = len(other.parts) if known == len(other.names) else _part_of(other, other.names[known])
    if known < len(other.names) and written.startswith(prefix):
        assert could_begin(one, other, parts)


def _part_of(template: Template, name: str) -> int:
    return next(i for i, part in enumerate(template.parts) if part.slot and part.slot.name == name)


def template(shown: str, separator: str = "#") -> Template:
    """`user#{str}` by a class of one key function."""
    from datetime import date
    from decimal import Decimal
    from uuid import UUID

    from singletable.schema.key_text import KeyPart, Slot
    from tests.property.keys import Role, Status

    types = {"str": str, "int": int, "date": date, "uuid": UUID, "role": Role, "status": Status, "dec": Decimal}
    parts = []
    for number, piece in enumerate(shown.split(separator)):
        literal, _, slot = piece.partition("{")
        kind, _, form = slot.rstrip("}").partition(":")
        made = Slot.of(f"v{number}", types[kind], form) if slot else None
        parts.append(KeyPart(literal, made))
    return Template(tuple(parts), separator)


@pytest.mark.parametrize(
    ("one", "other", "separator", "meet"),
    [
        ("user#{str}", "user#all", "#", True),
        ("user#{uuid}", "user#all", "#", False),
        ("user#{str}", "user#{str}#x", "#", False),
        ("user#{str}", "org#{str}", "#", False),
        ("x{str}", "xy{str}", "#", True),
        ("x{str}", "y{str}", "#", False),
        ("{int}", "{int:06}", "#", False),
        ("{int:06}", "{int:06}", "#", True),
        ("{int:06}", "000005", "#", True),
        ("{int:06}", "5", "#", False),
        ("{int}", "a5", "#", True),
        ("{int}", "a", "#", False),
        ("{status}", "on", "#", True),
        ("{status}", "offside", "#", False),
        ("{role}", "500.LEAD", "#", True),
        ("{role}", "{status}", "#", False),
        ("{status}", "{int:04}", "#", True),
        ("{date}", "{int:04}", "#", False),
        ("{date}", "2026-11-20", "#", True),
        ("{dec}", "{int}", "#", False),
        ("a#{str}#b", "a#{str}#c", "#", False),
        ("GOAL-{str}", "USER-{str}", "-", False),
        ("GOAL-{str:rest}", "GOAL-MEMBER-{str:rest}", "-", True),
        ("GOAL-{str:rest}", "GOALS-{str:rest}", "-", False),
        ("GOAL-{str}", "GOAL-MEMBER-{str}", "-", True),
        ("GOAL-{str}-x", "GOAL-MEMBER-{str}", "-", True),
        ("GOAL-{str}-x", "GOAL-MEMBER-{str}-y", "-", False),
        ("GOAL-{str}-MEMBER-x", "GOAL-{str}-USER-{str}", "-", False),
        ("user/{str}", "user/{str}/role/{int}", "/", True),
        ("user/{uuid}", "user/{str}/role/{int}", "/", False),
        ("{int:04}-{int:02}-{int:02}", "{date}", "-", True),
        ("{int:04}-{int:02}", "{date}", "-", False),
        ("user/{str}", "user/{str}", "/", True),
    ],
)
def test_overlap_by_example(one: str, other: str, separator: str, meet: bool) -> None:
    a, b = template(one, separator), template(other, separator)
    assert (could_meet(a, b) is not None) == (could_meet(b, a) is not None) == meet
