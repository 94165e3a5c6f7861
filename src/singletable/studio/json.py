"""Views as JSON, with what would steer a terminal or turn text written as `\\uXXXX`."""

from __future__ import annotations

from typing import Any

import msgspec

from singletable.studio.text import escaped

_encoder = msgspec.json.Encoder(decimal_format="number")


def encoded(view: Any) -> bytes:
    """A view as JSON."""
    return escaped(_encoder.encode(view).decode()).encode()
