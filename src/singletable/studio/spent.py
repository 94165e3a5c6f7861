"""The cost of a form, kept for the page that follows it: in a signed cookie, for that page and that user alone."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from singletable.studio.gates import TokenSigner, cookies_of
from singletable.studio.view import PageCost

_NAME = "singletable_spent"
_SECONDS = 60


def keep_spent(response: Response, signer: TokenSigner, user: str, address: str, cost: PageCost) -> None:
    """Give the cost of a form to the page that its answer leads to; nothing where nothing was sent."""
    if not cost.requests:
        return
    text = urlsafe_b64encode(msgspec.json.encode(cost)).decode().rstrip("=")
    signed = signer.text("spent", user, _page(address), text)
    response.set_cookie(_NAME, f"{text}.{signed}", _SECONDS, path="/", httponly=True, samesite="strict")


def spent_before(request: Request, signer: TokenSigner, user: str) -> PageCost | None:
    """The cost of the form that led to this page; None for a page that no form led to."""
    text, _, signed = cookies_of(request.headers).get(_NAME, "").partition(".")
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if not text or not signer.is_text(signed, "spent", user, _page(here), text):
        return None
    return msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=PageCost)


def forget_spent(response: Response) -> None:
    """It is shown once."""
    response.delete_cookie(_NAME, path="/", httponly=True, samesite="strict")


def _page(address: str) -> str:
    return address.partition("#")[0]
