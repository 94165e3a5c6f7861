"""Texts of CSV that a spreadsheet takes for formulas: written with an apostrophe before them, and read without it.

A text that begins so with apostrophes already gets one more: so each text comes back as it was.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow.compute as pc

_BEGINNING: Final = "'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""The last four are the wide forms of the first four, which some spreadsheets take for them."""
_IS_ESCAPED: Final = re.compile(f"'{_BEGINNING}").match


def escape_formulas(texts: Any) -> Any:
    """An array of texts, with the apostrophes."""
    return pc.replace_substring_regex(texts, f"^({_BEGINNING})", r"'\1")


def without_escape(text: str | None) -> str | None:
    """A text of a file that was written so, as it was."""
    return text[1:] if text and _IS_ESCAPED(text) else text
