"""Random keys in every form, and values for them: short texts of few characters, which meet soon."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from singletable.errors import DeclarationError, InvalidValue
from singletable.schema.capture import capture_sort
from singletable.schema.key_text import Template
from singletable.values.key_forms.ids import IdText
from tests.property.keys import Role

LITERALS = ("", "", "-", "_", "__", "::", "#", "#x_", "x", "0", "#item#", "-1-", "/")
SEPARATORS = ("#", "#", "-", "/", "::", "__", "|")
FORMS: dict[type[Any], tuple[str, ...]] = {
    str: ("", "raw", "raw", "lower", "upper", "folded", "folded", "ulid", "ksuid", "rest"),
    int: ("", "raw", "raw", "02", "012"),
    datetime: ("", "s", "ms", "%Y", "%Y-%m-%d", "%Y%m%dT%H", "%Y-%m-%d %H:%M:%S.%f"),
    date: ("", "%Y-%m", "%Y%m%d"),
    Decimal: ("",),
    Role: ("",),
}
CHARACTERS = "!_-:#/|x0aA%é"
DAYS = (date(2024, 2, 29), date(2024, 3, 1), date(2025, 2, 28), date(999, 12, 31))
TIMES = tuple(
    datetime.fromisoformat(f"{text}Z")
    for text in (
        "2024-02-29T23:59:59",
        "2024-02-29T23:00:00",
        "2024-03-01T00:00:00",
        "2001-09-09T01:46:40",
        "2286-11-20T00:00:00",
    )
)
FRACTIONS = (timedelta(0), timedelta(milliseconds=1), timedelta(microseconds=1))


def template_of(text: str, types: dict[str, Any], separator: str) -> Template:
    """What a key function with this f-string gives; DeclarationError."""
    function = eval(f"lambda {', '.join(types)}: f{text!r}")
    return capture_sort(function, types, separator, "X.by")


def random_template(random: Random) -> Template | None:
    """A key of one to three values; None for one that no key function may say."""
    text, types = random.choice(LITERALS), {}
    for number in range(random.randint(1, 3)):
        kind = random.choice((str, str, str, int, int, datetime, date, Decimal, Role))
        form = random.choice(FORMS[kind])
        types[f"v{number}"] = kind
        text += f"{{v{number}:{form}}}" + random.choice(LITERALS)
        if form == "rest":  # which ends its key
            text = text[: text.rindex("}") + 1]
            break
    try:
        return template_of(text, types, random.choice(SEPARATORS))
    except DeclarationError:
        return None


def random_value(random: Random, template: Template, name: str) -> Any:
    """A value that the template takes in its place."""
    slot = next(slot for _, slot in template.segments if slot and slot.name == name)
    write = template.writer_of(slot)
    while True:
        value = _value(random, slot.key_type)
        try:
            write(value)
        except InvalidValue:
            continue
        return value


def _value(random: Random, key_type: Any) -> Any:
    if key_type.type is str:
        if isinstance(key_type, IdText):
            return "0" * (25 if key_type.name == "ulid" else 26) + random.choice("01AZ")
        return "".join(random.choices(CHARACTERS, k=random.randint(0, 3)))
    if key_type.type is Role:
        return random.choice([*Role])
    if key_type.type is Decimal:
        return Decimal(random.choice(("0", "0.5", "0.55", "-1", "-1.5", "10")))
    if key_type.type is int:
        return random.choice((0, 1, 9, 10, 11, 100, -1, -10))
    return random.choice(DAYS) if key_type.type is date else random.choice(TIMES) + random.choice(FRACTIONS)
