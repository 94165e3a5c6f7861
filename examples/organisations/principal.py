"""Who asks: users by their addresses, in lower case."""

from __future__ import annotations

from typing import ClassVar

from examples.organisations.addresses import address
from examples.shared.principal import SignedTokens


class SessionTokens(SignedTokens):
    purpose: ClassVar[str] = "organisations.session"

    @staticmethod
    def user(said: str) -> str:
        return address(said)
