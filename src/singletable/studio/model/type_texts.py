"""Values and signatures as people write them, and the program's own types in them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, cast, get_args, get_type_hints

from singletable.foundation import Entity, attribute_docs, class_doc, type_text
from singletable.studio.model.views import MemberView, TypeView

_LONGEST_VALUE = 60


def value_text(value: Any) -> str:
    """A default as a declaration has it; long ones are cut."""
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}"
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def signature_text(function: Callable[..., Any], leave_out: int = 0) -> str:
    """The parameters of a function with their types; the first ones may be left out."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())[leave_out:]
    return ", ".join(_parameter_text(each) for each in parameters)


def _parameter_text(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    said = annotation if isinstance(annotation, str) else type_text(annotation)
    typed = parameter.name if annotation is parameter.empty else f"{parameter.name}: {said}"
    return typed if parameter.default is parameter.empty else f"{typed} = {value_text(parameter.default)}"


def own_types(kinds: Iterable[Any]) -> tuple[TypeView, ...]:
    """The enums and dataclasses that types are made of, each once, those within dataclasses too."""
    views: dict[type[Any], TypeView] = {}
    waiting = list[Any](kinds)
    while waiting:
        annotation = waiting.pop(0)
        waiting += get_args(annotation)
        kind: type[Any] = annotation if isinstance(annotation, type) else Entity
        if kind in views or issubclass(kind, Entity):
            continue
        if issubclass(kind, Enum):
            choices = tuple(MemberView(each.name, value_text(each.value)) for each in kind)
            views[kind] = TypeView(type_text(kind), "enum", class_doc(kind), choices)
        elif dataclasses.is_dataclass(kind):
            hints = _hints(kind)
            views[kind] = TypeView(type_text(kind), "dataclass", class_doc(kind), tuple(_parts(kind, hints)))
            waiting += hints.values()
    return tuple(views.values())


def _parts(kind: type[Any], hints: dict[str, Any]) -> Iterator[MemberView]:
    docs = attribute_docs(kind)
    for part in dataclasses.fields(cast(Any, kind)):
        yield MemberView(part.name, type_text(hints.get(part.name, part.type)), docs.get(part.name, ""))


def _hints(kind: type[Any]) -> dict[str, Any]:
    """The types of a dataclass's parts; their source text if a name in them is not known outside."""
    try:
        return get_type_hints(kind)
    except NameError:
        return {part.name: part.type for part in dataclasses.fields(kind)}
