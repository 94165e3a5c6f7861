"""How much of a matrix, or of what is drawn, a test takes: some in `make test`, all in `make soak`, less elsewhere."""

from __future__ import annotations

from examples_shared.testing.sampling import sampled as sampled, strides as strides
from tests.support.engines import engine

_ELSEWHERE = 4


def fewer_elsewhere(count: int) -> int:
    """So many on the embedded engine, and a quarter on others: a request takes many times as long there, or costs."""
    return count if engine().is_embedded else -(-count // _ELSEWHERE)


def wider_elsewhere(stride: int) -> int:
    """The stride through a matrix: four times as wide on other engines, for the same reason."""
    return stride if engine().is_embedded else stride * _ELSEWHERE
