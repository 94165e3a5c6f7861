"""The key of masks, as the environment has it."""

from __future__ import annotations

import os

MASK_VARIABLE = "SINGLETABLE_MASK_KEY"


def mask_key() -> bytes | None:
    """The key of the variable; None if it is not set: then a key is made, and forgotten at the end."""
    key = os.environ.get(MASK_VARIABLE)
    return key.encode() if key else None
