"""How much of a matrix, or of what is drawn, a test takes: some in `make test`, all in `make soak`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

_SOAK = pytest.mark.soak


def sampled(values: Iterable[Any], one_in: int) -> list[Any]:
    """Parameters of a test: the first value and every `one_in`th after it, and the others among the long runs. A tuple
    is the values of several arguments."""
    groups = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*group, marks=() if n % one_in == 0 else _SOAK) for n, group in enumerate(groups)]


def strides(most: int) -> pytest.MarkDecorator:
    """Gives a test its `stride`: it takes every `most`th point of its matrix, and each one among the long runs."""
    return pytest.mark.parametrize("stride", [most, pytest.param(1, marks=_SOAK)])
