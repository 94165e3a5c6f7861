"""Forms of server-rendered pages: their fields, headers that protect them, and the refusal of other sites' forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, HTTPException, Request

MAX_FORM_BYTES = 64 * 1024
MAX_FIELDS = 1000
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


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


async def _form(request: Request) -> Fields:
    """The fields, which stay in the request's state."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise HTTPException(413, "the form is too large")
    if body.count(b"&") >= MAX_FIELDS:
        raise HTTPException(413, "the form has too many fields")
    fields = Fields(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    request.state.form = fields
    return fields


def is_of_another_site(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of another origin asks for a change. Programs send neither header."""
    if method in _SAFE:
        return False
    origin = headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != headers.get("host")
    return foreign or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def _from_our_pages(request: Request) -> None:
    """Refuse what a page of another site makes a browser send."""
    if is_of_another_site(request.method, request.headers):
        raise HTTPException(403, "this form belongs to another site")


Form = Annotated[Fields, Depends(_form)]
OUR_PAGES = Depends(_from_our_pages)
