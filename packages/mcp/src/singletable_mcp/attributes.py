"""Values as arguments of tools that write, of attributes and of commands: their JSON Schema, and how they are read.

A value of one text, number or truth is read from its text, as every argument is. Others are JSON of their stored form,
by `singletable.values`, as the tools that read show them: so what an agent reads it can write back unchanged.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any, Final, Union, get_args, get_origin

import click

from singletable.errors import InvalidValue
from singletable.foundation import Model
from singletable.values import (
    ConvertedPlan,
    Field,
    FreePlan,
    ListPlan,
    MapPlan,
    NestedPlan,
    OptionalPlan,
    PerKind,
    Scalar,
    SetPlan,
    UnionPlan,
    ValuePlan,
    ValueType,
    value_of_plain,
    value_type_of,
)
from singletable_mcp.schema import text_of, truth

_NUMBER: Final = {"anyOf": [{"type": "number"}, {"type": "string"}]}
_KINDS: Final[PerKind[Mapping[str, Any]]] = PerKind(
    text={"type": "string"},
    flag={"type": "boolean"},
    integer={"type": "integer"},
    decimal=_NUMBER,
    float={"type": "number"},
    bytes={"type": "string", "contentEncoding": "base64"},
    instant={"type": "string", "format": "date-time"},
    day={"type": "string", "format": "date"},
    uuid={"type": "string", "format": "uuid"},
    formatted={"type": "string"},
    reference={"type": "string"},
)
_FREE: Final = {
    "description": 'Any JSON. Bytes are {"B": "base64"}, sets {"SS": ["text"]}, {"NS": [1]} and {"BS": ["base64"]}, '
    'a number of many digits {"N": "0.1"}; an object with one of these names alone is {"M": {"B": 1}}.'
}


class ValueSchema:
    """One attribute of a class, or one argument of a command."""

    def __init__(self, name: str, kind: Any, plan: ValuePlan, *, is_required: bool) -> None:
        self.name = name
        self.plan = plan
        self.is_required = is_required
        """Whether nothing takes its place where it is left out."""
        inner, self.takes_none = _without_none(kind)
        self.value_type = value_type_of(inner)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its value."""
        shown = dict(_schema_of(self.plan, self.value_type))
        return {"anyOf": [shown, {"type": "null"}]} if self.takes_none and shown is not _FREE else shown

    def value(self, given: Any) -> Any:
        """The value of an argument. UsageError says what is wanted."""
        if given is None and self.takes_none:
            return None
        try:
            if self.value_type is None or isinstance(given, (dict, list)):
                return value_of_plain(self.plan, given)
            if self.value_type.choices == ("true", "false"):
                return truth(self.name, given)
            value = self.value_type.typed(text_of(self.name, given, is_float=self.value_type.type is float))
        except InvalidValue as error:
            place = f"{self.name}.{error.attribute}" if error.attribute else self.name
            raise click.UsageError(f"{place}: {error.what}.") from None
        if isinstance(value, (float, Decimal)) and not isfinite(value):
            raise click.UsageError(f"{self.name}: it is a finite number: a table has no other.")
        return value


def attributes_of(model: Model[Any]) -> dict[str, ValueSchema]:
    """The attributes of a class, by name."""
    plans = {field.name: field.plan for field in model.fields}
    declared = model.kind.__dataclass_fields__
    return {
        name: ValueSchema(name, kind, plans[name], is_required=_has_no_default(declared[name]))
        for name, kind in model.types.items()
    }


def values_in(schemas: Mapping[str, ValueSchema], given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the rule of every argument: null is left out where it is not a value of the type."""
    kept = {name: value for name, value in given.items() if value is not None or schemas[name].takes_none}
    return {name: schemas[name].value(value) for name, value in kept.items()}


def all_values_in(
    schemas: Mapping[str, ValueSchema], given: Mapping[str, Any], owner: str, what: str
) -> dict[str, Any]:
    """The values that make a whole. UsageError for one that is unknown, and where a required one is missing."""
    if unknown := sorted(given.keys() - schemas.keys()):
        raise click.UsageError(f"{owner} has no {what} {unknown[0]!r}; it has {', '.join(schemas) or 'none'}.")
    values = values_in(schemas, given)
    if missing := [name for name, one in schemas.items() if one.is_required and name not in values]:
        raise click.UsageError(f"{missing[0]} is missing.")
    return values


def object_schema(schemas: Mapping[str, ValueSchema]) -> dict[str, Any]:
    """The JSON schema of an object with these values."""
    properties = {name: one.schema for name, one in schemas.items()}
    required = [name for name, one in schemas.items() if one.is_required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _has_no_default(declared: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return declared.default is missing and declared.default_factory is missing


def _without_none(declared: Any) -> tuple[Any, bool]:
    if get_origin(declared) in (Union, types.UnionType):
        rest = [one for one in get_args(declared) if one is not types.NoneType]
        return (rest[0] if len(rest) == 1 else Any), len(rest) < len(get_args(declared))
    return declared, declared is Any


def _tagged(plan: UnionPlan, tag: str, kind: type[Any], inside: tuple[type[Any], ...]) -> dict[str, Any]:
    if kind in inside:
        return {"type": "object"}
    schema = _object_schema(plan.fields_of(kind), (*inside, kind))
    schema["properties"] = {plan.name: {"const": tag}, **schema["properties"]}
    schema["required"] = [*([] if plan.untagged is kind else [plan.name]), *schema["required"]]
    return schema


def _object_schema(fields: Sequence[Field], inside: tuple[type[Any], ...]) -> dict[str, Any]:
    properties = {f.name: _schema_of(f.plan, None, inside) for f in fields}
    required = [f.name for f in fields if not f.may_be_absent]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _schema_of(plan: ValuePlan, value_type: ValueType | None = None, inside: tuple[type[Any], ...] = ()) -> Any:
    if isinstance(plan, Scalar):
        choices = value_type.choices if value_type is not None else plan.choices
        shown = dict(_KINDS.of(plan.kind))
        if not choices or shown.get("type") == "boolean":
            return shown
        of_type = "string" if isinstance(choices[0], str) else "integer" if isinstance(choices[0], int) else ""
        return ({"type": of_type} if of_type else {}) | {"enum": list(choices)}
    if isinstance(plan, ConvertedPlan):
        return _schema_of(plan.inner, None, inside)
    if isinstance(plan, OptionalPlan):
        return {"anyOf": [_schema_of(plan.inner, None, inside), {"type": "null"}]}
    if isinstance(plan, SetPlan):
        return {"type": "array", "items": _schema_of(plan.element), "uniqueItems": True}
    if isinstance(plan, ListPlan):
        return {"type": "array", "items": _schema_of(plan.element, None, inside)}
    if isinstance(plan, MapPlan):
        return {"type": "object", "additionalProperties": _schema_of(plan.element, None, inside)}
    if isinstance(plan, UnionPlan):
        return {"anyOf": [_tagged(plan, tag, kind, inside) for tag, kind in plan.classes.items()]}
    if isinstance(plan, NestedPlan) and plan.kind not in inside:
        return _object_schema(plan.codec.fields, (*inside, plan.kind))
    return _FREE if isinstance(plan, FreePlan) else {"type": "object"}
