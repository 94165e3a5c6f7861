"""Who signs: credentials as a value, and the places they come from.

A source splits what is at hand (`held`, never blocks) from what must be fetched (`fetch`, may read files or ask the
network), so that the hot path pays a look and an event loop is never held up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from singletable.errors import NotConfigured
from singletable.wire.chain import AwsChain

RENEW_BEFORE_SECONDS = 60.0
"""Credentials are fetched anew when less than this is left of them."""

_HINT = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or install singletable[aws] for profiles, roles and containers"
)


class Credentials(Struct, frozen=True):
    """An access key with its secret. Neither its repr nor its str shows a secret."""

    access_key: str
    secret_key: str
    session_token: str | None = None
    expires_at: float | None = None
    """Seconds since 1970; None: they don't expire, or their source knows when."""

    def __post_init__(self) -> None:
        for name in ("access_key", "secret_key", "session_token"):
            text: str | None = getattr(self, name)
            # They go into headers as they are: a newline from a file would end one.
            if text is not None and not (text.isascii() and text.isprintable() and " " not in text):
                raise NotConfigured(f"The {name} holds a space, a newline or another character it can't", hint=_HINT)

    def __repr__(self) -> str:
        return f"Credentials(access_key={self.access_key!r}, secret_key=<hidden>)"

    def serves(self, now: float) -> bool:
        """They can sign for a while yet."""
        return self.expires_at is None or now < self.expires_at - RENEW_BEFORE_SECONDS


class CredentialSource(Protocol):
    """Where a port gets its credentials. `held` must give the same object until they change."""

    def held(self, now: float) -> Credentials | None:
        """What is at hand and still serves at `now`; never blocks. None: `fetch` them."""
        ...

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        """Gets and holds them; may block. `renew`: the service called the held ones expired.

        Raises `NotConfigured` when there are none, `Unavailable` when their place doesn't answer.
        """
        ...


class StaticCredentials:
    """Always the same ones."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def held(self, now: float) -> Credentials | None:
        return self._credentials

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        return self._credentials


class FetchedCredentials:
    """Of a function of yours, which may block: called again a minute before `expires_at`, or when they have expired."""

    def __init__(self, get: Callable[[], Credentials]) -> None:
        self._get = get
        self._held: Credentials | None = None

    def held(self, now: float) -> Credentials | None:
        held = self._held
        return held if held is not None and held.serves(now) else None

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        self._held = fetched = self._get()
        return fetched


class EnvironmentCredentials:
    """AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN of a mapping; read again when they have expired."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._held: Credentials | None = None

    def held(self, now: float) -> Credentials | None:
        return self._held

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        access_key = self._environ.get("AWS_ACCESS_KEY_ID")
        secret_key = self._environ.get("AWS_SECRET_ACCESS_KEY")
        if not access_key or not secret_key:
            missing = "AWS_SECRET_ACCESS_KEY" if access_key else "AWS_ACCESS_KEY_ID"
            raise NotConfigured(f"There are no credentials: {missing} is not set", hint=_HINT)
        self._held = Credentials(access_key, secret_key, self._environ.get("AWS_SESSION_TOKEN") or None)
        return self._held


class ChainCredentials:
    """botocore's chain: profile, web identity, container, instance metadata. Needs `singletable[aws]`.

    botocore refreshes them itself when it is asked, so it is asked once a minute.
    """

    def __init__(self, chain: AwsChain) -> None:
        self._chain = chain
        self._held: Credentials | None = None
        self._ask_again_at = 0.0

    def held(self, now: float) -> Credentials | None:
        return self._held if now < self._ask_again_at else None

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        keys = self._chain.keys(renew=renew)
        if keys is None:
            raise NotConfigured("There are no credentials: neither in the environment nor in AWS's chain", hint=_HINT)
        fetched = Credentials(*keys)
        # The object changes only with its contents: a signer is kept for as long as its credentials.
        held = self._held
        if held is None or held != fetched:
            self._held = held = fetched
        self._ask_again_at = now + RENEW_BEFORE_SECONDS
        return held


def credentials_from(environ: Mapping[str, str], *, local: bool = False) -> CredentialSource:
    """The source that the environment calls for; nothing is read before the first request.

    A local engine accepts any signature, so without a key in the environment it gets a made-up one.
    """
    if environ.get("AWS_ACCESS_KEY_ID"):
        return EnvironmentCredentials(environ)
    if local:
        return StaticCredentials(Credentials("local", "local"))
    return ChainCredentials(AwsChain(environ, missing="There are no credentials in the environment", hint=_HINT))
