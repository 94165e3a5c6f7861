"""Who asks: the domains of manhunt, by their API tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from examples_shared.principal import InsecureUser, Principal, SignedTokens

YEAR_SECONDS = 365 * 24 * 3600


class DomainTokens(SignedTokens):
    """A token names a domain. It is for programs, and good for a year."""

    purpose: ClassVar[str] = "manhunt.domain"


def principal_of(secrets: Sequence[str], insecure_domain: str | None) -> Principal:
    """The fixed domain, where one is named; else tokens."""
    if insecure_domain is not None:
        return InsecureUser(insecure_domain)
    return DomainTokens(secrets, YEAR_SECONDS)
