"""Who asks: the users of goals, by their session tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from examples_shared.principal import InsecureUser, Principal, SignedTokens


class SessionTokens(SignedTokens):
    purpose: ClassVar[str] = "goals.session"


def principal_of(secrets: Sequence[str], insecure_user: str | None) -> Principal:
    """The fixed user, where one is named; tokens, where there are secrets; else nobody, who may only read."""
    if insecure_user is not None:
        return InsecureUser(insecure_user)
    return SessionTokens(secrets) if secrets else InsecureUser(None)
