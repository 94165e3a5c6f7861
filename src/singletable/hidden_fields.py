"""A `repr` without the fields that hold values of items, keys or secrets: logs and tracebacks show it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


def repr_without(*hidden: str) -> Callable[..., str]:
    """The `__repr__` of a Struct that shows all but these fields. A dataclass says `field(repr=False)`."""

    def shown(self: Struct) -> str:
        fields = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in hidden)
        return f"{type(self).__name__}({', '.join(fields)})"

    return shown
