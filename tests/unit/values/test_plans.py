"""A plan of a value that lacks a part says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from singletable.values.plans import ValuePlan
from singletable.values.source import Source


class HalfPlan(ValuePlan, frozen=True, eq=False):
    """It says nothing of its type."""


@pytest.mark.parametrize(
    "part",
    [
        lambda plan: plan.wire,
        lambda plan: plan.form,
        lambda plan: plan.load({"S": "a"}),
        lambda plan: plan.read(Source(), "x"),
        lambda plan: plan.write(Source(), "x"),
    ],
)
def test_an_incomplete_plan_is_told(part: Callable[[ValuePlan], Any]) -> None:
    with pytest.raises(TypeError, match="HalfPlan is incomplete"):
        part(HalfPlan())
