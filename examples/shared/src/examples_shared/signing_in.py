"""Signing in at a page: the token of a program's header lies in a cookie that no script and no other site can use."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse

from examples_shared.principal import Principal


def bearer(token: str) -> Mapping[str, str]:
    """The headers of a program that sends a token."""
    return {"authorization": f"Bearer {token}"}


def viewer_by(principal: Principal, request: Request, cookie: str) -> str | None:
    """Who is at a page: by the token in a header, or in the cookie. A program's request has no cookie, as other sites
    can make a browser send it."""
    if "authorization" in request.headers or cookie not in request.cookies:
        return principal(request.headers)
    return principal(bearer(request.cookies[cookie]))


def keep_signed_in(cookie: str, token: str, *, is_secure: bool, max_age_seconds: int | None = None) -> RedirectResponse:
    """To the first page, with the token in the cookie."""
    answer = RedirectResponse("/", 303)
    answer.set_cookie(cookie, token, max_age=max_age_seconds, httponly=True, samesite="strict", secure=is_secure)
    return answer
