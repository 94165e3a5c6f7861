"""A model whose every text tries to be more than text."""

from __future__ import annotations

from enum import Enum
from typing import Any

from singletable import ANY, Entity, Key, Table, field

NASTY = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>]]>--><!-- \u202e\u0007\x1b[31m `x` ${y} {{ z }}"
hostile = Table("hostile", indexes={"by_it": ("a<b>", 'c"d')})


class Colour(Enum):
    RED = NASTY


class Thing(Entity, table=hostile, type="<thing>"):
    id: str
    colour: Colour = Colour.RED
    text: str = field(default=NASTY, name="te'xt\"<b>")
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


Thing.__doc__ = NASTY
Odd = type(Entity)(
    "Od<d>/../x",
    (Entity,),
    {
        "__annotations__": {"id": str},
        "__module__": __name__,
        "__doc__": NASTY,
        "by_id": hostile.key(staticmethod(lambda id: (f"odd#{id}", "odd"))),
    },
    table=hostile,
    type=NASTY,
)
