"""Forms of server-rendered pages: their fields, headers that protect them, and the refusal of other sites' forms."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, HTTPException, Request

MAX_FORM_BYTES = 64 * 1024

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of pages without scripts: nothing but the application's own files is loaded."""


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, the last of each name."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise HTTPException(413, "the form is too large")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _from_our_pages(request: Request) -> None:
    """Refuse what a page of another site makes a browser send."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign or site not in ("same-origin", "none"):
        raise HTTPException(403, "this form belongs to another site")


Form = Annotated[dict[str, str], Depends(_form)]
OUR_PAGES = Depends(_from_our_pages)
