"""Entities in a notebook: tables, with personal attributes covered."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

from singletable.html_table import html_table
from singletable.schema.personal import COVERED, personal_names


def entity_html(entity: object) -> str:
    """Its attributes, one below the other."""
    return html_table(type(entity).__name__, (), list(_values(entity).items()))


def items_html(items: Sequence[Any], note: str) -> str:
    """Entities as rows: of one class by their attributes; of several, each as its repr."""
    kinds: set[type[object]] = {item.__class__ for item in items}
    if len(kinds) == 1 and dataclasses.is_dataclass(items[0]):
        columns = [each.name for each in dataclasses.fields(items[0])]
        rows = [[_values(item).get(name, "") for name in columns] for item in items]
        return html_table(f"{len(items)} of {type(items[0]).__name__}", columns, rows, note)
    caption = "0 items" if not items else f"{len(items)} of {', '.join(sorted(kind.__name__ for kind in kinds))}"
    return html_table(
        caption, ("", "item") if items else (), [(type(item).__name__, repr(item)) for item in items], note
    )


def _values(entity: object) -> dict[str, Any]:
    """The attributes that were loaded, by name."""
    kind = type(entity)
    personal = personal_names(kind)
    held = vars(entity)
    names = (each.name for each in dataclasses.fields(cast(Any, entity)))
    return {name: COVERED if name in personal else held[name] for name in names if name in held}
