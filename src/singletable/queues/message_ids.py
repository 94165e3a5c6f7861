"""The ids that SQS accepts: up to 128 ASCII letters, digits and punctuation. Different texts get different ids."""

from __future__ import annotations

import re
from hashlib import sha256

_LEGAL = re.compile(r"[!-~]{1,128}")
_HASHED = "sha256:"


def legal_id(text: str) -> str:
    """The text itself if it is legal; otherwise its hash, marked as one."""
    if _LEGAL.fullmatch(text) and not text.startswith(_HASHED):
        return text
    return _HASHED + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
