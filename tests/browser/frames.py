"""When a page has been drawn anew, after what was done last."""

from __future__ import annotations

from typing import Any

_DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


def wait_for_frame(page: Any) -> None:
    """What a script does in the next frame, or when it hears of a new width, is done before the second frame."""
    page.evaluate(_DRAWN)
