"""Who asks: the one user of a demo, or who holds a signed token. Programs send it in a header, the page as a cookie.

A user's organisation is the domain of their name, so people of one domain share their projects; a name without one is
an organisation of its own (`rights.organisation_of`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http.cookies import CookieError, SimpleCookie
from typing import ClassVar

from examples_shared.errors import Invalid
from examples_shared.principal import InsecureUser, Principal, SignedTokens
from projects.rights import organisation_of

COOKIE = "boards_session"
DEMO = "demo"
MOST_USER_CHARACTERS = 200


class ProjectTokens(SignedTokens):
    """Tokens of users."""

    purpose: ClassVar[str] = "projects.session"

    @staticmethod
    def user(said: str) -> str:
        if not said.isprintable() or not organisation_of(said) or len(said) > MOST_USER_CHARACTERS:
            raise Invalid("a user's name is like ada, or ada@example.com")
        return said


class Callers:
    """A principal that takes the page's cookie where there is no header."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal

    @classmethod
    def demo(cls, user: str = DEMO) -> Callers:
        """Everybody is one user."""
        return cls(InsecureUser(ProjectTokens.user(user)))

    @classmethod
    def with_tokens(cls, secrets: Sequence[str]) -> Callers:
        return cls(ProjectTokens(secrets))

    def __call__(self, headers: Mapping[str, str]) -> str | None:
        """The user that a request's headers name. Replicache sends an empty header where a page has nothing for it."""
        if not headers.get("authorization"):
            headers = {"authorization": f"Bearer {_cookie(headers.get('cookie', ''))}"}
        return self._principal(headers)


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""
