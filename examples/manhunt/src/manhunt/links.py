"""Signed links: who holds one may do the one thing it is for, for as long as it is good."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, cast

from itsdangerous import BadData, URLSafeTimedSerializer

from examples_shared.principal import MIN_SECRET_CHARACTERS
from manhunt.errors import BadLink, Invalid
from manhunt.model import Search

WEEK_SECONDS = 7 * 24 * 3600
Purpose = Literal["answer", "call"]


class Links:
    """The addresses that messages carry. Each token is signed with HMAC-SHA256 for one purpose, and checked in constant
    time; the last secret signs, all are good, which is how they are exchanged."""

    def __init__(self, base_url: str, secrets: Sequence[str], max_age_seconds: int = WEEK_SECONDS) -> None:
        if not secrets or any(len(secret) < MIN_SECRET_CHARACTERS for secret in secrets):
            raise Invalid(f"a secret for links has at least {MIN_SECRET_CHARACTERS} characters")
        self.base_url = base_url.rstrip("/")
        self._secrets, self._max_age_seconds = list(secrets), max_age_seconds

    def answer_page(self, search: Search, step: int) -> str:
        return f"{self.base_url}/answer/{self._sign('answer', search.search_id, step)}"

    def answer_api(self, search: Search, step: int) -> str:
        return f"{self.base_url}/api/answers/{self._sign('answer', search.search_id, step)}"

    def call(self, search: Search, step: int) -> str:
        return f"{self.base_url}/telephone/call/{self._sign('call', search.search_id, step)}"

    def _sign(self, purpose: Purpose, search_id: str, step: int) -> str:
        return self._serializer(purpose).dumps([search_id, step])

    def read(self, purpose: Purpose, token: str) -> tuple[str, int]:
        """The search and the step that a token was made for; BadLink."""
        try:
            said = cast(object, self._serializer(purpose).loads(token, max_age=self._max_age_seconds))
        except BadData as error:
            raise BadLink from error
        match said:
            case [str(search_id), int(step)]:
                return search_id, step
            case _:
                raise BadLink

    def _serializer(self, purpose: Purpose) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(
            self._secrets, salt=f"manhunt.{purpose}", signer_kwargs={"digest_method": hashlib.sha256}
        )
