"""What a change of an attribute's form means for items that are stored."""

from __future__ import annotations

from typing import Any

import pytest

from singletable.migrations.form_changes import form_changes


@pytest.mark.parametrize(
    ("was", "now", "rule"),
    [
        ("S", "any", "type.wider"),
        ("S", {"or null": "S"}, "type.wider"),
        ({"or null": "S"}, "S", "type.changed"),
        ("S", {"or null": "N"}, "type.changed"),
        ("any", "S", "type.changed"),
        ("S", "N", "type.changed"),
    ],
)
def test_a_form_is_wider_only_if_it_reads_all_of_the_other(was: Any, now: Any, rule: str) -> None:
    assert [change[0] for change in form_changes(was, now)] == [rule]


def test_the_same_form_is_no_change() -> None:
    assert list(form_changes({"or null": "S"}, {"or null": "S"})) == []
