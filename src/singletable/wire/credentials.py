"""Who signs: credentials as a value, and the places they come from.

A source splits what is at hand (`held`, never blocks) from what must be fetched (`fetch`, may read files or ask the
network), so that the hot path pays a look and an event loop is never held up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Protocol

from msgspec import Struct

from singletable.errors import NotConfigured
from singletable.flow.ready import Guard
from singletable.wire.credential_chain import AwsChain

RENEW_BEFORE_SECONDS = 60.0
"""Credentials are fetched anew when less than this is left of them."""
ASK_AGAIN_SECONDS = 5.0
"""After a place of credentials didn't answer, while the last ones still work."""

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


class CredentialSource(Protocol):
    """Where a port gets its credentials. `held` must give the same object until they change.

    Several threads may ask at once; `FetchedCredentials` makes a source of a function, and calls it once for all.
    """

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


class HeldCredentials:
    """What was fetched, until it should be fetched again. Threads share it: one of them fetches, the others wait.

    While what is held still works nobody waits, and a place that doesn't answer is asked again a little later.
    """

    def __init__(self) -> None:
        self._guard = Guard()
        self._held: Credentials | None = None
        self._since = -inf
        self._until = -inf

    def held(self, now: float) -> Credentials | None:
        # A clock that was set back says nothing of what was noted by it.
        return self._held if self._since <= now < self._until else None

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        before, lock = self._held, self._guard.lock
        if not lock.acquire(blocking=False):
            if before is not None and not renew and self._still_work(before, now):
                return before
            lock.acquire()
        try:
            found = self.held(now)
            if found is not None and (not renew or found is not before):
                return found  # another thread was quicker
            return self._renewed(now, renew)
        finally:
            lock.release()

    def _renewed(self, now: float, renew: bool) -> Credentials:
        held = self._held
        try:
            fetched = self._ask(renew)
        except Exception as error:
            if renew or held is None or not self._still_work(held, now):
                raise
            _note_failure(error)
            self._since, self._until = now, now + ASK_AGAIN_SECONDS
            return held
        # The object changes only with its contents: a signer is kept for as long as its credentials.
        if held is None or held != fetched:
            self._held = held = fetched
        self._since, self._until = self._times_of(held, now)
        return held

    def _ask(self, renew: bool) -> Credentials:
        raise NotImplementedError

    def _still_work(self, held: Credentials, now: float) -> bool:
        return held.expires_at is None or now < held.expires_at

    def _times_of(self, held: Credentials, now: float) -> tuple[float, float]:
        """From when until when they are used without asking: a minute less than they last, or half of what is left."""
        if held.expires_at is None:
            return -inf, inf
        left = held.expires_at - now
        return now, held.expires_at - min(RENEW_BEFORE_SECONDS, left / 2)


class FetchedCredentials(HeldCredentials):
    """Of a function of yours, which may block: called again a minute before `expires_at`, or when they have expired.

    One thread calls it at a time. When it raises while the last ones still work, these are used on, and it is called
    again after some seconds.
    """

    def __init__(self, get: Callable[[], Credentials]) -> None:
        super().__init__()
        self._get = get

    def _ask(self, renew: bool) -> Credentials:
        return self._get()


class EnvironmentCredentials(HeldCredentials):
    """AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN of a mapping; read again when they have expired."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__()
        self._environ = environ

    def _ask(self, renew: bool) -> Credentials:
        access_key = self._environ.get("AWS_ACCESS_KEY_ID")
        secret_key = self._environ.get("AWS_SECRET_ACCESS_KEY")
        if not access_key or not secret_key:
            missing = "AWS_SECRET_ACCESS_KEY" if access_key else "AWS_ACCESS_KEY_ID"
            raise NotConfigured(f"There are no credentials: {missing} is not set", hint=_HINT)
        token = self._environ.get("AWS_SESSION_TOKEN") or self._environ.get("AWS_SECURITY_TOKEN")
        return Credentials(access_key, secret_key, token or None)


class ChainCredentials(HeldCredentials):
    """botocore's chain: profile, web identity, container, instance metadata. Needs `singletable[aws]`.

    botocore refreshes them itself when it is asked, so it is asked once a minute.
    """

    def __init__(self, chain: AwsChain) -> None:
        super().__init__()
        self._chain = chain

    def _ask(self, renew: bool) -> Credentials:
        keys = self._chain.keys(renew=renew)
        if keys is None:
            raise NotConfigured("There are no credentials: neither in the environment nor in AWS's chain", hint=_HINT)
        return Credentials(*keys)

    def _still_work(self, held: Credentials, now: float) -> bool:
        return self._chain.still_work()

    def _times_of(self, held: Credentials, now: float) -> tuple[float, float]:
        return now, now + RENEW_BEFORE_SECONDS


def _note_failure(error: Exception) -> None:
    from logging import getLogger  # noqa: PLC0415 it brings much that a program which never comes here needs not

    # Its class alone: the text is another's, and may hold what it was asked with.
    getLogger("singletable.wire").warning(
        "the credentials could not be renewed (%s); those at hand still work, and are used on", type(error).__name__
    )


def credentials_from(environ: Mapping[str, str], *, local: bool = False) -> CredentialSource:
    """The source that the environment calls for; nothing is read before the first request.

    A local engine accepts any signature, so without a key in the environment it gets a made-up one.
    """
    if environ.get("AWS_ACCESS_KEY_ID"):
        return EnvironmentCredentials(environ)
    if local:
        return StaticCredentials(Credentials("local", "local"))
    return ChainCredentials(AwsChain(environ, missing="There are no credentials in the environment", hint=_HINT))
