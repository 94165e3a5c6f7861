"""The ids that SQS takes: up to 128 ASCII letters, digits and punctuation. Any text becomes one, no two the same."""

from __future__ import annotations

import re
from hashlib import sha256

_LEGAL = re.compile(r"[!-~]{1,128}")
_HASHED = "sha256:"


def legal_id(text: str) -> str:
    """The text itself where it is legal; else its hash, marked as one."""
    if _LEGAL.fullmatch(text) and not text.startswith(_HASHED):
        return text
    return _HASHED + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
