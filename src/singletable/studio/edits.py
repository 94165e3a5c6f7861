"""Editing an item as a form: a value as the text of a field, the text as a value again, and what differs."""

from __future__ import annotations

import hmac
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest, InvalidValue
from singletable.expressions import Update, attr, stored_or_absent
from singletable.foundation import Model, personal_names
from singletable.operations import Item
from singletable.shown_values import as_shown
from singletable.values import (
    Field,
    PerKind,
    ValuePlan,
    as_read_of,
    json_of,
    only_declared,
    value_of_json,
    value_type_of,
)

_FORMS = PerKind(
    text="text",
    flag="choice",
    integer="line",
    decimal="line",
    float="line",
    bytes="json",
    instant="line",
    day="line",
    uuid="line",
    formatted="line",
    reference="fixed",
)
"""How a value is edited: several lines, one line, one of a few choices, or JSON."""
_encoder = msgspec.json.Encoder(order="deterministic", decimal_format="number")
_decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
_MODULE = re.compile(r"\b(?:\w+\.)+(?=\w)")
_UNTYPABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""The characters that a browser's text field does not return unchanged."""
WHY_COVERED = "it is personal, and covered"
WHY_UNDECLARED = "it holds names that this program doesn't know, and would lose"
VALUE, NONE = "value.", "none."
"""Before an attribute's name: its field in the form, and the box that says None. So no attribute is taken for a part of
the key, or for another field of the form."""


class EditField(Struct, frozen=True):
    """One attribute in the form."""

    name: str
    type: str
    form: str
    """`text`, `line`, `choice`, `json`; `fixed` where it can't be changed here."""
    text: str
    wanted: str = ""
    optional: bool = False
    is_none: bool = False
    choices: tuple[str, ...] = ()
    why_fixed: str = ""
    problem: str = ""


class AttributeDifference(Struct, frozen=True):
    """An attribute before and after."""

    name: str
    before: Any
    after: Any


class EditConflict(Struct, frozen=True):
    """An attribute of an item that somebody else changed meanwhile."""

    name: str
    seen: Any
    """The value that the form was made of."""
    now: Any
    yours: Any
    is_theirs: bool
    """Whether it was changed by the other."""
    is_yours: bool


def digest_of(item: Item, secret: str) -> str:
    """The state of an item, as a short text: another item has another one. Without the secret nobody can try values for
    its covered attributes."""
    return hmac.digest(secret.encode(), msgspec.json.encode(item, order="deterministic"), "sha256").hex()


def seen_text(names: Iterable[str], values: Iterable[Any]) -> str:
    """The values that a form was made of, as a text that is sent with it."""
    return _encoder.encode(dict(zip(names, values, strict=True))).decode()


def seen_values(text: str) -> dict[str, Any]:
    """Read the values that `seen_text` wrote. Raises InvalidRequest for anything else."""
    try:
        return _decoder.decode(text)
    except msgspec.MsgspecError:
        raise InvalidRequest("the form's copy of what was seen can't be read", hint="Open the form again.") from None


def wanted(
    model: Model[Any],
    entity: Any,
    form: Mapping[str, str],
    now: Mapping[str, Any],
    seen: Mapping[str, Any],
    *,
    covered: bool,
) -> list[Any]:
    """The values of each attribute by a sent form: the seen value, if the form can't change it; the raw text, if it
    can't be read."""
    values, fields = changed(model, entity, form, covered=covered)
    texts = {field.name: field.text for field in fields if field.problem}
    shown = {name: as_shown(model, name, value) for name, value in values.items()}
    sent = {name: now[name] for name in now if VALUE + name in form} | texts | shown
    return [sent.get(name, seen.get(name, now[name])) for name in now]


def conflicts(
    names: Sequence[str], seen: Mapping[str, Any] | None, now: Sequence[Any], yours: Sequence[Any]
) -> list[EditConflict]:
    """The seen value, if it is known, the present one and the wanted one, side by side."""
    return [
        EditConflict(name, was, there, own, not _is_same(was, there), not _is_same(was, own))
        for name, there, own in zip(names, now, yours, strict=True)
        for was in [there if seen is None else seen.get(name)]
    ]


def _is_same(one: Any, other: Any) -> bool:
    return _encoder.encode(one) == _encoder.encode(other)


def fields_of(model: Model[Any], entity: Any, *, covered: bool) -> Iterator[EditField]:
    """The form of an entity. Keys, counts and what is covered can't be changed in it."""
    personal, whole, as_read = personal_names(model.kind), model.item(entity), as_read_of(entity)
    with only_declared():
        shown = model.item(entity)
    for field in model.fields:
        if not field.is_written or field.name not in vars_of(model):
            continue
        name, declared = field.name, model.types.get(field.name)
        why = _why_fixed(model, name, declared, is_covered=covered and name in personal)
        written, _ = as_read.get(field.stored, (whole.get(field.stored), None))
        if not _is_same(written, shown.get(field.stored)):
            why = WHY_UNDECLARED
        if why:
            yield EditField(name, shown_type(declared), "fixed", "", why_fixed=why)
            continue
        yield _field(field, declared, getattr(entity, name))


def changed(
    model: Model[Any], entity: Any, form: Mapping[str, str], *, covered: bool
) -> tuple[dict[str, Any], list[EditField]]:
    """The attributes that a form which was sent changes, and its fields, with what is wrong in them.

    A field whose text is as it was shown is not changed, so that nothing is lost that a text field does not keep.
    """
    values: dict[str, Any] = {}
    fields: list[EditField] = []
    plans = {field.name: field.plan for field in model.fields}
    for field in fields_of(model, entity, covered=covered):
        sent = form.get(VALUE + field.name)
        is_as_shown = sent is not None and _lines(sent) == _lines(field.text)
        is_none = field.optional and form.get(NONE + field.name) == "1" and (is_as_shown or not sent)
        if field.form == "fixed" or sent is None or (is_as_shown and is_none == field.is_none):
            fields.append(field)
            continue
        text = sent.replace("\r\n", "\n")
        field = msgspec.structs.replace(field, text=text, is_none=is_none)
        try:
            value = None if is_none else parsed(model.types[field.name], plans[field.name], field, text)
        except InvalidValue as error:
            field = msgspec.structs.replace(field, problem=f"{error.what}.")
        else:
            if not _is_stored_alike(plans[field.name], value, getattr(entity, field.name)):
                values[field.name] = value
        fields.append(field)
    return values, fields


def updates_of(model: Model[Any], values: Mapping[str, Any]) -> list[Update]:
    """The changes as the library writes them."""
    return [
        attr(getattr(model.kind, name)).remove() if value is None else attr(getattr(model.kind, name)).set(value)
        for name, value in values.items()
    ]


def vars_of(model: Model[Any]) -> Mapping[str, Any]:
    """The attributes that a class declares."""
    found: Mapping[str, Any] = model.kind.__dataclass_fields__
    return found


def shown_type(declared: Any) -> str:
    """A type as the declaration has it."""
    if declared is None:
        return ""
    is_plain = isinstance(declared, type) and not get_args(declared)
    return declared.__name__ if is_plain else _MODULE.sub("", str(declared))


def _why_fixed(model: Model[Any], name: str, declared: Any, *, is_covered: bool) -> str:
    if name in model.identity:
        return "it is part of the key"
    if model.roles.get(name) == "version":
        return "it counts the writes"
    if is_covered:
        return WHY_COVERED
    if declared is None:
        return "its type is not known here"
    return ""


def _is_stored_alike(plan: ValuePlan, one: Any, other: Any) -> bool:
    """Whether an attribute has the same stored form: 1 and True are equal, and are not."""
    return stored_or_absent(plan, one) == stored_or_absent(plan, other)


def _field(stored: Field, declared: Any, value: Any) -> EditField:
    inner, optional = _inner(declared)
    is_none = optional and value is None  # of `Any`, None is a value like any: null
    field = EditField(stored.name, shown_type(declared), "json", "", optional=optional, is_none=is_none)
    value_type = value_type_of(inner)
    form = "json" if value_type is None else "choice" if value_type.choices else _FORMS.of(value_type.kind)
    if value_type is not None and form != "json" and not (form == "text" and _UNTYPABLE.search(value or "")):
        text = "" if value is None else value_type.shown(value)
        return msgspec.structs.replace(
            field, form=form, text=text, choices=value_type.choices, wanted=value_type.wanted if form == "line" else ""
        )
    if form == "fixed":
        return msgspec.structs.replace(field, form=form, why_fixed="it has no form as JSON")
    wanted = "text as JSON, as it has control characters" if inner is str else "JSON"
    text = "" if is_none else json_of(stored.plan, stored_or_absent(stored.plan, value))
    return msgspec.structs.replace(field, text=text, wanted=wanted)


def parsed(declared: Any, plan: ValuePlan, field: EditField, text: str) -> Any:
    """A field's text as a value of its declared type. InvalidValue says what is wanted, and holds no value."""
    inner, _ = _inner(declared)
    if field.form == "text":
        return text
    if not text.strip():
        raise InvalidValue(f"it is {field.wanted or 'one of the choices'}" + (", or none" if field.optional else ""))
    if field.form == "choice" and text not in field.choices:
        raise InvalidValue(f"it is one of {', '.join(field.choices)}")
    if field.form != "json" and (value_type := value_type_of(inner)) is not None:
        return value_type.typed(text.strip())
    try:
        return value_of_json(plan, text)
    except InvalidValue as error:
        raise InvalidValue(f"it is {field.wanted}: {error}") from None


def _inner(declared: Any) -> tuple[Any, bool]:
    """A type without `| None`, and whether it had it."""
    if get_origin(declared) in (Union, types.UnionType):
        left = [each for each in get_args(declared) if each is not type(None)]
        if len(left) < len(get_args(declared)):
            return (left[0] if len(left) == 1 else Union[tuple(left)]), True  # noqa: UP007 made of values
    return declared, False


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
