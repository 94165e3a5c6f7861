"""Who asks: a port, with a signed session token for real use and a fixed user for the demo."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from itsdangerous import BadData, URLSafeTimedSerializer

from examples.goals.errors import Invalid

DAY_SECONDS = 24 * 60 * 60
MIN_SECRET_CHARACTERS = 32


class Principal(Protocol):
    """Tells who sends a request, from its headers, whose names are in lower case."""

    def __call__(self, headers: Mapping[str, str]) -> str | None:
        """The id of a user; None for nobody."""
        ...


def principal_of(secrets: Sequence[str], insecure_user: str | None) -> Principal:
    """The fixed user, where one is named; tokens, where there are secrets; else nobody, who may only read."""
    if insecure_user is not None:
        return InsecureUser(insecure_user)
    return SessionTokens(secrets) if secrets else InsecureUser(None)


class SessionTokens:
    """Tokens signed with HMAC-SHA256, good for `max_age_seconds`, sent as `Authorization: Bearer <token>`.

    `secrets` are tried from the last to the first, which is how they are exchanged: the last one signs.
    """

    def __init__(self, secrets: Sequence[str], max_age_seconds: int = DAY_SECONDS) -> None:
        if not secrets or any(len(secret) < MIN_SECRET_CHARACTERS for secret in secrets):
            raise Invalid(f"a secret for session tokens has at least {MIN_SECRET_CHARACTERS} characters")
        self._max_age_seconds = max_age_seconds
        self._serializer = URLSafeTimedSerializer(
            list(secrets), salt="goals.session", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def issue(self, user_id: str) -> str:
        """A token for a user who has shown, elsewhere, who they are."""
        return self._serializer.dumps(user_id)

    def __call__(self, headers: Mapping[str, str]) -> str | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        try:
            said = cast(object, self._serializer.loads(token.strip(), max_age=self._max_age_seconds))
        except BadData:
            return None
        return said if isinstance(said, str) else None


class InsecureUser:
    """Every request is this user's, or nobody's: for the demo, on this machine."""

    def __init__(self, user_id: str | None) -> None:
        self._user_id = user_id

    def __call__(self, headers: Mapping[str, str]) -> str | None:
        return self._user_id
