"""A figure of the newer version of the program, with an attribute that it can't do without."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    x: int
    text: str
    colour: str


def drawn(x: int, text: str) -> Figure:
    return Figure(x, text, "blue")
