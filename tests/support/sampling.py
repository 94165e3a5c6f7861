"""How much of a matrix, or of what is drawn, a test takes: some in `make test`, all in `make soak`, less elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.engines import engine

_SOAK = pytest.mark.soak
_ELSEWHERE = 4


def sampled(values: Iterable[Any], one_in: int) -> list[Any]:
    """Parameters of a test: the first value and every `one_in`th after it, and the others among the long runs. A tuple
    is the values of several arguments."""
    groups = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*group, marks=() if n % one_in == 0 else _SOAK) for n, group in enumerate(groups)]


def strides(most: int) -> pytest.MarkDecorator:
    """Gives a test its `stride`: it takes every `most`th point of its matrix, and each one among the long runs."""
    return pytest.mark.parametrize("stride", [most, pytest.param(1, marks=_SOAK)])


def fewer_elsewhere(count: int) -> int:
    """So many on the embedded engine, and a quarter on others: a request takes many times as long there, or costs."""
    return count if engine().is_embedded else -(-count // _ELSEWHERE)


def wider_elsewhere(stride: int) -> int:
    """The stride through a matrix: four times as wide on other engines, for the same reason."""
    return stride if engine().is_embedded else stride * _ELSEWHERE
