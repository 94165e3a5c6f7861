"""What runs in processes of its own, to be killed."""

from __future__ import annotations

from singletable.exchange import Exports, export
from tests.exchange.models import shop
from tests.support.children import mortal

PAGE, SECTION = 16, 120


def small_sections() -> None:
    """Pages and sections of few items, so that a small table has many."""
    export.PAGE_ITEMS, export.SECTION_ITEMS = PAGE, SECTION


def write(target: str, to: str, format: str) -> None:
    """An export, which dies at one of its requests."""
    small_sections()
    with mortal(target, shop) as db:
        Exports(db, shop).export(to, format=format, keys=True, segments=2)  # type: ignore[arg-type]
