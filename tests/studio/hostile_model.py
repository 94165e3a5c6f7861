"""A model whose every text tries to be more than text."""

from __future__ import annotations

from enum import Enum
from typing import Any

from singletable import ANY, Entity, Key, Table, field

NASTY = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>]]>--><!-- \u202e\u0007\x1b[31m `x` ${y} {{ z }}"
hostile = Table("hostile", indexes={"by_it": ("a<b>", "c'd")})


class Colour(Enum):
    RED = NASTY


class Thing(Entity, table=hostile, type="<thing>"):
    id: str
    colour: Colour = Colour.RED
    text: str = field(default=NASTY, name="te'xt<b>")
    other: dict[str, Any] = field(default_factory=dict[str, Any])

    @hostile.key
    @staticmethod
    def by_id(id: str) -> Key:
        """<b>One</b> thing."""
        return f"<i>{id}", "</table>"

    @hostile.index("by_it")
    @staticmethod
    def by_text(text: str = ANY) -> Key:
        return "all</td>", f"{text}"


class Odd(Entity, table=hostile, type=NASTY):
    id: str

    @hostile.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"odd#{id}", "odd"


Thing.__doc__ = Odd.__doc__ = NASTY
Odd.__qualname__ = "Od<d>/../x"
