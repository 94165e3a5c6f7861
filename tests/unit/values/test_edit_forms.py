"""The studio's form of an attribute: what its text says is what is stored, also of `Any`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from singletable import Entity, Key, Table, field
from singletable.schema import model_of
from singletable.studio.edits import VALUE, changed, fields_of
from tests.support.alike import is_alike

app = Table("app")


@dataclass
class Note:
    text: str
    more: Any = None


class Doc(Entity, table=app, type="doc"):
    id: str
    free: Any = None
    by_name: dict[str, Any] = field(default_factory=dict[str, Any])
    note: Note | None = None
    blobs: list[bytes] = field(default_factory=list[bytes])

    @app.key
    @staticmethod
    def of(id: str) -> Key:
        """One document."""
        return f"doc#{id}", "doc"


def edited(attribute: str, before: Any, old: str, new: str) -> Any:
    """The value after a person replaced a part of the text in the form."""
    doc = Doc(id="1", **{attribute: before})
    (shown,) = (one for one in fields_of(model_of(Doc), doc, covered=False) if one.name == attribute)
    assert shown.form == "json"
    assert old in shown.text
    values, fields = changed(model_of(Doc), doc, {VALUE + attribute: shown.text.replace(old, new)}, covered=False)
    assert [one.problem for one in fields if one.problem] == []
    return values.get(attribute, before)


EDITS: list[tuple[str, Any, str, str, Any]] = [
    ("free", {"a": b"\xff", "b": "old"}, "old", "new", {"a": b"\xff", "b": "new"}),
    ("free", {"a": {b"\xff"}, "b": "old"}, "old", "new", {"a": {b"\xff"}, "b": "new"}),
    ("free", {"a": {"x", "y"}, "b": 1}, "1", "2", {"a": {"x", "y"}, "b": 2}),
    ("free", {"a": {1, Decimal("2.5")}, "b": "old"}, "old", "new", {"a": {1, Decimal("2.5")}, "b": "new"}),
    ("free", {"B": "old"}, "old", "new", {"B": "new"}),
    ("free", [Decimal("1." + "9" * 37), 0], "0", "1", [Decimal("1." + "9" * 37), 1]),
    ("free", [1], "1", "true", [True]),
    ("by_name", {"a": b"\xff", "b": "old"}, "old", "new", {"a": b"\xff", "b": "new"}),
    ("note", Note("old", {"x"}), "old", "new", Note("new", {"x"})),
    ("blobs", [b"\xff", b"old"], "b2xk", "bmV3", [b"\xff", b"new"]),
]


@pytest.mark.parametrize(("attribute", "before", "old", "new", "after"), EDITS)
def test_an_edit_changes_what_was_edited_alone(attribute: str, before: Any, old: str, new: str, after: Any) -> None:
    assert is_alike(edited(attribute, before, old, new), after, numbers=True)


def test_a_text_that_no_value_has_is_a_problem() -> None:
    doc = Doc(id="1", free={"a": b"x"})
    values, fields = changed(model_of(Doc), doc, {VALUE + "free": '{"a": {"B": "no base64"}}'}, covered=False)
    assert values == {}
    assert ["base64" in one.problem for one in fields if one.problem] == [True]
