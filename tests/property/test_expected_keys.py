"""Keys of drawn declarations are the texts that they were before key forms came, when `expected_keys.jsonl` was made.

A line is the f-string, the types of its values, the separator, whether the key is a primary one, the values, the text
or the name of the error, the template as it is shown, and its form in a table's record.
"""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

from singletable.errors import SingletableError
from singletable.schema.capture import capture


class Role(Enum):
    LEAD = "lead"
    TEAM = "team"


class Rank(Enum):
    LOW = 1
    HIGH = 20


KINDS = (str, int, Decimal, datetime, date, time, timedelta, UUID, Role, Rank)
TYPES: dict[str, Any] = {kind.__name__: kind for kind in KINDS}
LINES = (Path(__file__).parent / "expected_keys.jsonl").read_text().splitlines()


def value_of(kind: str, told: Any) -> Any:
    if issubclass(TYPES[kind], Enum):
        return TYPES[kind][told]
    if kind in ("datetime", "date", "time"):
        return TYPES[kind].fromisoformat(told)
    return timedelta(seconds=told) if kind == "timedelta" else TYPES[kind](told)


def made(declaration: Any, given: dict[str, Any] | None) -> list[Any]:
    """The last parts of a line."""
    text, kinds, separator, primary = declaration
    partition = f"p{separator}{{{next(iter(kinds))}}}"
    function = eval(f"lambda {', '.join(kinds)}: (f{partition!r}, f{text!r})")
    types = {name: TYPES[kind] for name, kind in kinds.items()}
    try:
        _, template = capture(function, types, separator, "X.by", primary=primary)
        written = template.write({name: value_of(kinds[name], told) for name, told in (given or {}).items()})
    except SingletableError as error:
        return [type(error).__name__]
    return [written, template.shown, template.form]


def test_every_key_is_what_it_was() -> None:
    for number, line in enumerate(LINES, 1):
        *declaration, given, text, shown, form = [*json.loads(line), "", ""][:8]
        now = made(declaration, given)
        assert now == ([text, shown, form] if len(now) > 1 else [text]), f"line {number}: {line}"
    assert len(LINES) == 300
