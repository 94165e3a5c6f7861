"""Forms of server-rendered pages: their fields, and the headers that protect them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, HTTPException, Request

from examples_shared.guard import MOST_BODY_BYTES

MAX_FIELDS = 3000
WAS = "was_"
"""Before a field's name: the text that the page showed in it. `as_read` says what for."""


def page_headers(scripts: bool = False) -> Mapping[str, str]:
    """The headers of every page: nothing but the application's own files is loaded and, with scripts, run."""
    run = "script-src 'self'; connect-src 'self'; " if scripts else ""
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; {run}style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


class Fields(dict[str, str]):
    """The fields of a form as they were sent, the last of each name; `pairs` has all of them."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def text(self, name: str) -> str:
        """Without white space around it, its lines ended as Python ends them; empty where there is no such field."""
        return self.get(name, "").replace("\r\n", "\n").strip()

    def given(self, name: str) -> str | None:
        """As `text`; None where there is no such field."""
        return self.text(name) if name in self else None

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def typed(self, name: str) -> str:
        """All values of a field, one a line."""
        return "\n".join(self.all(name)).replace("\r\n", "\n").strip()

    def was(self, name: str) -> str:
        """What the page showed in a field."""
        return self.text(WAS + name)

    def changed(self, *names: str) -> bool:
        """Whether one of the fields holds something else than the page showed in it."""
        return any(self.typed(name) != self.was(name) for name in names)


async def _form(request: Request) -> Fields:
    """The fields, which stay in the request's state."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise HTTPException(413, "the form is too large")
    if body.count(b"&") >= MAX_FIELDS:
        raise HTTPException(413, "the form has too many fields")
    fields = Fields(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    request.state.form = fields
    return fields


Form = Annotated[Fields, Depends(_form)]
