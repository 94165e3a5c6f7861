"""The kinds of steps, each a class in a module of this package. `migrations/steps.py` says what one has to have."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from singletable.migrations.steps import Step


def step_kinds() -> Iterator[type[Step]]:
    """The kinds of every module, in the order of their names."""
    for found in iter_modules(__path__, f"{__name__}."):
        module = import_module(found.name)
        names = vars(module).values()
        yield from (kind for kind in names if isinstance(kind, type) and kind.__module__ == found.name)
