"""Who asks: a port, with a signed session token for real use and a fixed user for the demo."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, cast

from itsdangerous import BadData, URLSafeTimedSerializer

from examples_shared.errors import Invalid

DAY_SECONDS = 24 * 60 * 60
MIN_SECRET_CHARACTERS = 32


class Principal(Protocol):
    """Tells who sends a request, from its headers, whose names are in lower case."""

    def __call__(self, headers: Mapping[str, str]) -> str | None:
        """The id of a user; None for nobody."""
        ...


class SignedTokens:
    """Tokens signed with HMAC-SHA256, good for `max_age_seconds`, sent as `Authorization: Bearer <token>`.

    `secrets` are tried from the last to the first, which is how they are exchanged: the last one signs. A subclass
    says what its tokens are for: one application's are nothing to another, whatever the secret.
    """

    purpose: ClassVar[str]

    def __init__(self, secrets: Sequence[str], max_age_seconds: int = DAY_SECONDS) -> None:
        if not secrets or any(len(secret) < MIN_SECRET_CHARACTERS for secret in secrets):
            raise Invalid(f"a secret for session tokens has at least {MIN_SECRET_CHARACTERS} characters")
        self._max_age_seconds = max_age_seconds
        self._serializer = URLSafeTimedSerializer(
            list(secrets), salt=self.purpose, signer_kwargs={"digest_method": hashlib.sha256}
        )

    @staticmethod
    def user(said: str) -> str:
        """The user's id in its one form; Invalid for what can't be one."""
        return said

    def issue(self, user: str) -> str:
        """A token for a user who has shown, elsewhere, who they are."""
        return self._serializer.dumps(self.user(user))

    def __call__(self, headers: Mapping[str, str]) -> str | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        try:
            said = cast(object, self._serializer.loads(token.strip(), max_age=self._max_age_seconds))
            return self.user(said) if isinstance(said, str) else None
        except (BadData, Invalid):
            return None


class InsecureUser:
    """Every request is this user's, or nobody's: for the demo, on this machine."""

    def __init__(self, user: str | None) -> None:
        self._user = user

    def __call__(self, headers: Mapping[str, str]) -> str | None:
        return self._user
