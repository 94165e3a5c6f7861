"""Who asks: users by their addresses, in lower case."""

from __future__ import annotations

from typing import ClassVar

from examples_shared.principal import SignedTokens
from organisations.addresses import address


class SessionTokens(SignedTokens):
    purpose: ClassVar[str] = "organisations.session"

    @staticmethod
    def user(said: str) -> str:
        return address(said)
