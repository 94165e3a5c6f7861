"""A pattern as a form, made from its signature; and the arguments that an address of the form gives.

`?name=A&name.how=between&name.to=B&limit=25`. A value that is personal is sealed in the address: `sealed.email`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidCursor, InvalidRequest, InvalidValue
from singletable.foundation import Slot, personal_names
from singletable.pattern_calls import RANGES, Pattern, argument_of
from singletable.studio.visit import Visit
from singletable.values import PerKind

_HOW, _TO, _SEALED = ".how", ".to", "sealed."
_EXACTLY, _BETWEEN = "exactly", "between"
_FORMS = PerKind(
    text="text",
    flag="text",
    integer="number",
    decimal="decimal",
    float="decimal",
    bytes="text",
    instant="instant",
    day="date",
    uuid="uuid",
    formatted="text",
    reference="key",
)


class Choice(Struct, frozen=True):
    value: str
    text: str


class FormField(Struct, frozen=True):
    """One parameter of a pattern in its form."""

    name: str
    type: str
    form: str
    """The kind of its field: `text`, `number`, `decimal`, `instant`, `date`, `uuid`, `choice`, `key`."""
    wanted: str
    """An example of a value."""
    required: bool
    hows: tuple[Choice, ...]
    """The ranges that it takes in addition to one value; may be empty."""
    choices: tuple[Choice, ...] = ()
    how: str = _EXACTLY
    value: str = ""
    to: str = ""
    sealed: str = ""
    """The value as the address has it, where it is personal and covered."""
    problem: str = ""


class Arguments(Struct, frozen=True):
    """The arguments of a pattern in an address."""

    fields: tuple[FormField, ...]
    values: dict[str, Any]
    """The pattern's arguments, by parameter."""
    texts: dict[str, tuple[str, tuple[str, ...]]]
    """The range and its texts, by parameter."""
    is_complete: bool
    """Nothing that is required is missing, and nothing is wrong."""


def arguments_of(visit: Visit, pattern: Pattern) -> Arguments:
    """The form of a pattern, filled in with what the address has, and what that means."""
    personal = personal_names(pattern.captured.model.kind)
    fields: list[FormField] = []
    values: dict[str, Any] = {}
    texts: dict[str, tuple[str, tuple[str, ...]]] = {}
    asked = any(visit.query.get(name) or visit.query.get(_SEALED + name) for name in pattern.slots)
    for name, slot in pattern.slots.items():
        field = field_of(pattern, name, slot)
        field = _with(field, type=visit.told(field.type), wanted=visit.told(field.wanted))
        how, given = _given(visit, pattern, name)
        is_personal = name in personal
        if given:
            try:
                values[name] = argument_of(slot, how, given)
                texts[name] = (how, given)
            except InvalidValue as error:
                field = _with(field, problem=f"{error.what}.")
        elif field.required and asked:
            field = _with(field, problem="It is needed.")
        if given and is_personal and visit.covered:
            field = _with(field, how=how, sealed=_sealed(visit, pattern, name, how, given))
        elif given:
            field = _with(field, how=how, value=given[0], to=given[1] if len(given) > 1 else "")
        fields.append(field)
    complete = not any(field.problem for field in fields) and all(name in values for name in pattern.required)
    return Arguments(tuple(fields), values, texts, complete and (asked or "run" in visit.query))


def address_query(visit: Visit, pattern: Pattern, form: Mapping[str, str]) -> dict[str, str]:
    """The query of the address that a form which was sent stands for: personal values are sealed."""
    personal = personal_names(pattern.captured.model.kind)
    known = {"limit", "order", "consistent", "run"}
    query = {name: value for name, value in form.items() if name in known}
    for name in pattern.slots:
        how, value, to = form.get(name + _HOW, _EXACTLY), form.get(name, ""), form.get(name + _TO, "")
        if not value:
            query[_SEALED + name] = form.get(_SEALED + name, "")
        elif name in personal:
            given = (value, to) if how == _BETWEEN else (value,)
            query[_SEALED + name] = _sealed(visit, pattern, name, how, given)
        else:
            query |= {
                name: value,
                name + _HOW: "" if how == _EXACTLY else how,
                name + _TO: to if how == _BETWEEN else "",
            }
    return query


def is_personal(pattern: Pattern) -> bool:
    """Whether a pattern takes a personal value."""
    return bool(personal_names(pattern.captured.model.kind).intersection(pattern.slots))


def _given(visit: Visit, pattern: Pattern, name: str) -> tuple[str, tuple[str, ...]]:
    """The range and its texts; no texts if the address has none."""
    if (sealed := visit.query.get(_SEALED + name)) and not visit.query.get(name):
        return _opened(visit, pattern, name, sealed)
    how = visit.query.get(name + _HOW) or _EXACTLY
    if how not in (*RANGES, _BETWEEN, _EXACTLY):
        raise InvalidRequest(f"{name}{_HOW}= is {_EXACTLY}, {_BETWEEN}, {', '.join(RANGES)}")
    value = visit.query.get(name, "")
    if not value:
        return how, ()
    return how, (value, visit.query.get(name + _TO, "")) if how == _BETWEEN else (value,)


def field_of(pattern: Pattern, name: str, slot: Slot) -> FormField:
    ranges = pattern.ranges(name)
    hows = tuple(Choice(how, how.replace("-", " ")) for how in (_EXACTLY, *ranges)) if ranges else ()
    required = name in pattern.required
    value_type = slot.value_type
    if value_type.choices:
        choices = tuple(Choice(text, text) for text in value_type.choices)
        return FormField(name, slot.type.__name__, "choice", "", required, hows, choices)
    return FormField(name, slot.type.__name__, _FORMS.of(value_type.kind), value_type.hint, required, hows)


def _with(field: FormField, **changed: str) -> FormField:
    """The field with what was given for it."""
    return replace(field, **changed)


def _sealed(visit: Visit, pattern: Pattern, name: str, how: str, given: tuple[str, ...]) -> str:
    texts = {str(number): {"S": text} for number, text in enumerate((how, *given))}
    return visit.links.seal.seal(texts, _binding(pattern, name), visit.site.now())


def _opened(visit: Visit, pattern: Pattern, name: str, sealed: str) -> tuple[str, tuple[str, ...]]:
    try:
        texts = visit.links.seal.open(sealed, _binding(pattern, name), visit.site.now())
    except InvalidCursor:
        raise InvalidRequest(
            f"the value of {name} in this address has expired, or was sealed by another studio",
            hint="Fill in the form again.",
        ) from None
    how, *given = (texts[str(number)]["S"] for number in range(len(texts)))
    return how, tuple(given)


def _binding(pattern: Pattern, name: str) -> tuple[str, ...]:
    return ("studio", pattern.shown, name)
