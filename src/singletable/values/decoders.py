"""Making msgspec's decoders, one at a time.

msgspec caches a struct's description on the class, and other threads see it before it is complete: two threads that
make decoders of one new struct concurrently can crash the process (msgspec 0.22). Finished decoders are safe.
"""

from __future__ import annotations

import threading  # noqa: TID251
from typing import Any

import msgspec

_one_at_a_time = threading.Lock()


def json_decoder(kind: Any, *, strict: bool = True) -> msgspec.json.Decoder[Any]:
    """A decoder of JSON texts of a type."""
    with _one_at_a_time:
        return msgspec.json.Decoder(kind, strict=strict)
