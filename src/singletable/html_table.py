"""Tables for notebooks: what `_repr_html_` returns. Values of items are untrusted, so every text is escaped.

A table has at most 50 rows and 20 columns, and a cell 200 characters: a notebook keeps what it shows in its file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Final

MOST_ROWS: Final = 50
MOST_COLUMNS: Final = 20
MOST_CHARACTERS: Final = 200
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""Characters that HTML can't hold, or that turn the direction of the text around them."""


def html_table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> str:
    """A table with a caption; without `columns`, the first cell of each row is its head. Notes count omitted rows."""
    head = "".join(f'<th scope="col">{_cell(name)}</th>' for name in columns[:MOST_COLUMNS])
    body = "".join(f"<tr>{_cells(row, first_is_head=not columns)}</tr>" for row in rows[:MOST_ROWS])
    notes = [note] if note else []
    if len(rows) > MOST_ROWS:
        notes.append(f"{len(rows) - MOST_ROWS} more rows")
    if len(columns) > MOST_COLUMNS:
        notes.append(f"{len(columns) - MOST_COLUMNS} more columns")
    above = f"<thead><tr>{head}</tr></thead>" if columns else ""
    below = f"<p>{escape('; '.join(notes))}</p>" if notes else ""
    return f"<table><caption>{_cell(caption)}</caption>{above}<tbody>{body}</tbody></table>{below}"


def _cells(row: Sequence[object], *, first_is_head: bool) -> str:
    cells = [f"<td>{_cell(value)}</td>" for value in row[:MOST_COLUMNS]]
    if first_is_head:
        cells[0] = f'<th scope="row">{_cell(row[0])}</th>'
    return "".join(cells)


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}…"
    return f"<bdi>{escape(_CONTROLS.sub(_REPLACEMENT, text))}</bdi>"
