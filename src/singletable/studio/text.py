"""Text that others wrote, made safe to look at: what would hide, turn or steer text is shown as what it is."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from markupsafe import Markup

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f\U0010fffe\U0010ffff\ud800-\udfff]"
)
_encoder = msgspec.json.Encoder(decimal_format="number")
_PICTURES = 0x2400
"""The first of Unicode's pictures of the control characters."""


def visible(text: str) -> str:
    """The text with control characters as pictures (`␛`) and what turns or hides text by its number (`⟨U+202E⟩`)."""
    return _OBEYED.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(_PICTURES + code) if code < 0x20 else "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def finalized(value: Any) -> Any:
    """The form of every value that a template shows: text is made visible, and escaped after that."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def escaped(json: str) -> str:
    """JSON with the same characters as `\\uXXXX`: within its texts, where alone they can be."""
    return _OBEYED.sub(_as_escape, json)


def python_escaped(code: str) -> str:
    """Python code with the same characters as escapes: within its texts, where alone they can be."""
    return _OBEYED.sub(lambda found: "\n" if found[0] == "\n" else f"\\U{ord(found[0]):08x}", code)


def _as_escape(found: re.Match[str]) -> str:
    halves = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{halves[at] << 8 | halves[at + 1]:04x}" for at in range(0, len(halves), 2))


def encoded(view: Any) -> bytes:
    """A view as JSON."""
    return escaped(_encoder.encode(view).decode()).encode()
