"""Source: generated text, and the names that it refers to."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType
from typing import Any


class Source:
    """The names that generated text refers to."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._count = 0

    def bind(self, value: Any, hint: str) -> str:
        """A name for a value in the generated module; the same value has the same name."""
        for name, bound in self.names.items():
            if bound is value:
                return name
        name = f"_{hint if hint.isidentifier() and not keyword.iskeyword(hint) else 'value'}{len(self.names)}"
        self.names[name] = value
        return name

    def fresh(self, hint: str) -> str:
        """A local variable's name that no other fragment uses."""
        self._count += 1
        return f"{hint}{self._count}"

    def define(self, lines: Sequence[str], name: str) -> None:
        """Run generated text, which defines functions among the names. `name` is shown by tracebacks and profiles."""
        exec(_compiled("\n".join(lines), f"<{name}>"), self.names)  # noqa: S102 our own text


@lru_cache(maxsize=1024)
def _compiled(text: str, name: str) -> CodeType:
    """Kept, as layers declare classes that are alike for each table."""
    return compile(text, name, "exec")


def quoted(literal: str) -> str:
    """A text as it stands inside the double quotes of a generated f-string."""
    escaped = literal.encode("unicode_escape").decode()
    return escaped.replace('"', '\\"').replace("{", "{{").replace("}", "}}")
