"""Types as declarations have them: `set[str]`, `datetime | None`. Sends nothing."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin


def type_text(kind: Any) -> str:
    """A type as a declaration has it, without modules."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " | ".join(type_text(each) for each in arguments)
    if origin is not None and arguments:
        inner = ", ".join("..." if each is ... else type_text(each) for each in arguments)
        return f"{getattr(origin, '__name__', str(origin)).removeprefix('typing.')}[{inner}]"
    if kind in (None, NoneType):
        return "None"
    return str(getattr(kind, "__qualname__", None) or repr(kind)).rpartition("<locals>.")[2].removeprefix("typing.")
