"""How many examples a property is tried with: a multiple of the profile's, so that `make quick` has fewer."""

from __future__ import annotations

from hypothesis import settings


def times(factor: float) -> settings:
    """So many times the examples of the profile that runs, 100 by default."""
    return settings(max_examples=round(factor * settings().max_examples))
