"""What a person reads as JSON is what is stored: written back unchanged, it is the same value of the same types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from singletable import Entity, InvalidValue
from singletable.expressions import encoded
from singletable.schema.models import model_of
from singletable.values import json_of, plain_of, plan_for, value_of_json, value_of_plain
from tests.property.shapes import Line, free, sets, shape
from tests.support.alike import is_alike

ANY = plan_for(Any)


@given(shape | sets)
def test_each_attribute_comes_back(entity: Entity) -> None:
    for field in model_of(type(entity)).fields:
        value = getattr(entity, field.name)
        if value is not None and not (field.plan.is_set and not value):
            again = value_of_json(field.plan, json_of(field.plan, encoded(field.plan, value)))
            assert is_alike(again, value, numbers=True)


@given(free)
def test_any_comes_back(value: Any) -> None:
    """Sets and bytes too, and a map that has one of their names as its only key."""
    for held in (value, {"B": value}, {"SS": [value]}, {"M": {"M": value}}, [{"NS": value}]):
        stored = encoded(ANY, held)
        assert is_alike(value_of_json(ANY, json_of(ANY, stored)), held, numbers=True)
        assert is_alike(value_of_plain(ANY, plain_of(ANY, stored)), held, numbers=True)


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        (Any, '{"B": 1}', r'bytes as base64 is expected, not int: \{"B": \.\.\.\} says so'),
        (Any, '{"B": "not base64"}', r'a map is \{"M": \{"B": ...\}\}'),
        (Any, '{"SS": []}', "a set of Any has a member"),
        (Any, '{"NS": ["a"]}', "a number is expected, not str"),
        (Any, '{"M": 4711}', "an object is expected, not int"),
        (Any, '{"a": 1, "a": 2}', "a name twice"),
        (Any, "NaN", "not JSON"),
        (Any, '"\\ud800"', "not JSON"),
        (Any, '{"": 1}', "at least one character"),
        (int, "4711.5", "not a value of its type"),
        (int, "true", "a number is expected, not bool"),
        (bool, "1", "true or false is expected"),
        (str, "4711", "a text is expected, not int"),
        (bytes, '"4711!"', "bytes as base64"),
        (set[str], '["4711", "4711"]', "stands twice"),
        (set[int], "[4711, 4711.0]", "stands twice"),
        (list[int], '{"4711": 1}', "a list is expected, not dict"),
        (dict[str, int], "[4711]", "an object is expected, not list"),
        (list[int | None], "[null, true]", "a number is expected, not bool"),
        (Line, '{"near": 4711}', "Line has no attribute 'near'; it has start"),
        (Line, '{"start": {"x": "4711"}}', "a number is expected, not str"),
        (Line, "{}", "not there"),
    ],
)
def test_another_text_is_refused_without_its_value(kind: Any, text: str, why: str) -> None:
    with pytest.raises(
        (InvalidValue,), match=why.replace("{", r"\{").replace("}", r"\}") if "\\" not in why else why
    ) as caught:
        value_of_json(plan_for(kind), text)
    assert "4711" not in str(caught.value)


def test_the_error_says_where() -> None:
    with pytest.raises(InvalidValue) as caught:
        value_of_json(plan_for(Line), json.dumps({"start": {"x": "far"}}))
    assert caught.value.attribute == "start.x"
