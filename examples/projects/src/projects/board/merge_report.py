"""The report of a merge: what both changed, attribute by attribute, and which side a person chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, cast

import msgspec

from projects.board.schemas import ConflictOut

Side = Literal["ours", "theirs"]
Choices = Mapping[tuple[str, str], Side]
CHOICE = "choose:"
"""Begins the name of a field whose value is a side; then come the collection, a slash and the id."""
LONGEST = 300


@dataclass(frozen=True)
class Row:
    """One attribute in the three versions, as text."""

    attribute: str
    base: str
    ours: str
    theirs: str


@dataclass(frozen=True)
class Entry:
    """One conflict."""

    field: str
    title: str
    rows: Sequence[Row]
    """Those attributes that differ."""


def report_of(conflicts: Sequence[ConflictOut]) -> list[Entry]:
    return [Entry(f"{CHOICE}{each.collection}/{each.id}", _title(each), _rows(each)) for each in conflicts]


def seen_in(conflicts: Sequence[ConflictOut]) -> dict[str, str]:
    """What each choice is between, as a short text: other contents have another one."""
    return {
        f"{CHOICE}{each.collection}/{each.id}": sha256(
            msgspec.json.encode([each.base, each.ours, each.theirs], order="deterministic")
        ).hexdigest()[:32]
        for each in conflicts
    }


def choices_in(fields: Sequence[tuple[str, str]]) -> Choices:
    """The sides that a form chose, by collection and id. Another value is not a choice."""
    found: dict[tuple[str, str], Side] = {}
    for name, value in fields:
        side = side_of(value)
        if name.startswith(CHOICE) and side is not None:
            collection, _, id = name.removeprefix(CHOICE).partition("/")
            found[collection, id] = side
    return found


def side_of(value: str) -> Side | None:
    """The side that a field chose; None for any other value."""
    return "ours" if value == "ours" else "theirs" if value == "theirs" else None


def _title(conflict: ConflictOut) -> str:
    if not conflict.collection:
        return f"The board’s {conflict.id}"
    kind = conflict.collection.removesuffix("s").capitalize()
    words = [_text_of(side) for side in (conflict.ours, conflict.theirs, conflict.base)]
    text = next((each for each in words if each), "")
    return f"{kind} “{_short(text, 60)}”" if text else f"{kind} {_short(conflict.id, 60)}"


def _rows(conflict: ConflictOut) -> list[Row]:
    sides = (conflict.base, conflict.ours, conflict.theirs)
    if any(side is not None and not isinstance(side, dict) for side in sides):
        return [Row("", *map(_shown, sides))]
    maps = [cast("dict[str, Any]", side or {}) for side in sides]
    names = sorted({name for each in maps for name in each})
    rows = [Row(name, *(_attribute(each, name) for each in maps)) for name in names]
    gone = ["" if side is not None else "deleted" for side in sides]
    whole = [Row("", *gone)] if any(gone) else []
    return [*whole, *(row for row in rows if not row.base == row.ours == row.theirs)]


def _attribute(item: Mapping[str, Any], name: str) -> str:
    return _shown(item[name]) if name in item else ""


def _shown(value: Any) -> str:
    if value is None:
        return "deleted"
    return _short(value if isinstance(value, str) else msgspec.json.encode(value).decode(), LONGEST)


def _text_of(item: Any) -> str:
    if isinstance(item, str):
        return item.strip()
    text = cast("dict[str, Any]", item).get("text") if isinstance(item, dict) else None
    return text.strip() if isinstance(text, str) else ""


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
