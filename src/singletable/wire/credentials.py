"""Credentials, and the sources that they come from.

A source has two methods: `cached` never blocks; `fetch` may read files or use the network, in a thread of its own
beside an event loop. So the hot path costs one look-up, and an event loop is never blocked.

`AwsChain` is botocore's chain: profiles, roles, containers and instance metadata. Its order is kept: a profile that the
environment names comes after a web identity and the environment's keys, while a profile that a program names comes
before them. botocore is optional and slow to import (70 ms), so the first call imports it, never the import of this
module.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from math import inf
from typing import Any, Final, Protocol

from msgspec import Struct

from singletable.errors import NotConfigured, Unavailable
from singletable.flow import ForkSafeLock

_ORIGINS: Final[Mapping[str, str]] = {
    "env": "the environment, AWS_ACCESS_KEY_ID",
    "shared-credentials-file": "the credentials file, {profile}",
    "config-file": "the configuration file, {profile}",
    "assume-role": "a role that {profile} takes",
    "assume-role-with-web-identity": "a role by a web identity, AWS_ROLE_ARN or {profile}",
    "sso": "a session of `aws sso login`, {profile}",
    "login": "a session of `aws login`, {profile}",
    "custom-process": "the credential_process of {profile}",
    "container-role": "the container's role",
    "iam-role": "the instance's role",
}
"""By botocore's names for the parts of its chain."""


class AwsChain:
    """`missing` and `hint` are the error's text where botocore isn't installed."""

    def __init__(self, environ: Mapping[str, str], *, missing: str, hint: str) -> None:
        profile = profile_of(environ)
        self._named = profile or "default"
        # botocore reads the process's own environment, not the given mapping.
        self._profile = None if profile == profile_of(os.environ) else profile
        self._missing = missing
        self._hint = hint
        self._resolved: Any = None

    def keys(self, *, renew: bool = False) -> tuple[str, str, str | None] | None:
        """Access key, secret key and session token; None if the chain finds none. May block for seconds."""
        if renew or self._resolved is None:
            self._resolved = self._ask(lambda session: session.get_credentials())
        if self._resolved is None:
            return None
        frozen = self._ask(lambda _: self._resolved.get_frozen_credentials())
        return frozen.access_key, frozen.secret_key, frozen.token

    @property
    def origin(self) -> str:
        """The part of the chain that had the last keys, in words."""
        found = getattr(self._resolved, "method", "")
        return _ORIGINS.get(found, f"botocore's chain, {found}").format(profile=f"the profile {self._named}")

    def still_work(self) -> bool:
        """Whether the last keys are still valid, by the process's clock. Never blocks."""
        needs_refresh = getattr(self._resolved, "refresh_needed", None)
        return needs_refresh is None or not needs_refresh(refresh_in=0)

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        try:
            session, exceptions = import_module("botocore.session"), import_module("botocore.exceptions")
        except ImportError as missing:
            raise NotConfigured(f"{self._missing}, and botocore is not installed", hint=self._hint) from missing
        try:
            return question(session.Session(profile=self._profile))
        except (exceptions.CredentialRetrievalError, exceptions.HTTPClientError) as fault:
            raise Unavailable(f"The source of the AWS credentials does not answer: {fault}") from fault
        except exceptions.BotoCoreError as fault:
            raise NotConfigured(
                f"The AWS configuration can't be used: {fault}",
                hint="Correct the profile in AWS's configuration file, or name another by AWS_PROFILE",
            ) from fault


def profile_of(environ: Mapping[str, str]) -> str | None:
    """The profile that an environment names, in botocore's order."""
    return environ.get("AWS_DEFAULT_PROFILE") or environ.get("AWS_PROFILE") or None


RENEW_BEFORE_SECONDS = 60.0
"""Credentials are fetched again when they expire sooner than this."""
RETRY_SECONDS = 5.0
"""The pause after a source has failed, while the last credentials are still valid."""

_SET = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_HINT = f"{_SET}, or install singletable[aws] for profiles, roles and containers"
_SIGN_IN = f"{_SET}, or AWS_PROFILE after `aws configure sso`; on AWS, give the function, task or instance a role"


class Credentials(Struct, frozen=True):
    """An access key and its secret. Neither `repr` nor `str` shows the secret."""

    access_key: str
    secret_key: str
    session_token: str | None = None
    expires_at: float | None = None
    """Seconds since 1970; None: they don't expire, or only their source knows when."""

    def __post_init__(self) -> None:
        for name in ("access_key", "secret_key", "session_token"):
            text: str | None = getattr(self, name)
            # They are copied into headers: a newline would end a header.
            if text is not None and not (text.isascii() and text.isprintable() and " " not in text):
                raise NotConfigured(
                    f"The {name} holds a space, a newline or another character that is not allowed", hint=_HINT
                )

    def __repr__(self) -> str:
        return f"Credentials(access_key={self.access_key!r}, secret_key=<hidden>)"


class CredentialSource(Protocol):
    """Where a port gets its credentials. `cached` must return the same object until the credentials change.

    Threads call it concurrently. `FetchedCredentials` makes a source of a function, and calls it once for all threads.
    """

    def cached(self, now: float) -> Credentials | None:
        """Credentials that are valid at `now`; never blocks. None: call `fetch`."""
        ...

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        """Load the credentials and cache them; may block. `renew`: the service called the cached ones expired.

        Raises `NotConfigured` if no credentials are found, `Unavailable` if their source doesn't answer.
        """
        ...


class StaticCredentials:
    """Always the same credentials."""

    origin = "`credentials=` of this program"

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def cached(self, now: float) -> Credentials | None:
        return self._credentials

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        return self._credentials


class CachedCredentials(ABC):
    """Loaded once, and again before they expire. One thread loads them, the others wait.

    While the cached ones are valid no thread waits, and a source that fails is asked again some seconds later.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._cached: Credentials | None = None
        self._since = -inf
        self._until = -inf
        self._failure: Exception | None = None

    def cached(self, now: float) -> Credentials | None:
        # Before `_since` the clock has been set back: the noted times mean nothing.
        return self._cached if self._since <= now < self._until else None

    def fetch(self, now: float, *, renew: bool = False) -> Credentials:
        before, lock = self._cached, self._lock.lock
        if not lock.acquire(blocking=False):
            if before is not None and not renew and self._is_valid(before, now):
                return before
            lock.acquire()
        try:
            cached = self.cached(now)
            if cached is not None and (not renew or cached is not before):
                return cached  # another thread has loaded them
            return self._renewed(now, renew)
        finally:
            lock.release()

    def _renewed(self, now: float, renew: bool) -> Credentials:
        cached = self._cached
        try:
            fetched = self._load(renew)
        except Exception as error:
            if renew or cached is None or not self._is_valid(cached, now):
                raise
            self._failure = error
            self._since, self._until = now, now + RETRY_SECONDS
            return cached
        # The object is replaced only when its contents change: the signer is cached by the object.
        if cached is None or cached != fetched:
            self._cached = cached = fetched
        self._since, self._until = self._used_between(cached, now)
        return cached

    def take_failure(self) -> Exception | None:
        """The error of a renewal that did not matter, once: the cached credentials are valid, and were given."""
        failure, self._failure = self._failure, None
        return failure

    @abstractmethod
    def _load(self, renew: bool) -> Credentials:
        """Ask the source itself; may block. `renew`: the service called the last ones expired."""

    def _is_valid(self, cached: Credentials, now: float) -> bool:
        return cached.expires_at is None or now < cached.expires_at

    def _used_between(self, cached: Credentials, now: float) -> tuple[float, float]:
        """From when until when they are used without loading: until a minute before they expire, or half of the
        time."""
        if cached.expires_at is None:
            return -inf, inf
        left = cached.expires_at - now
        return now, cached.expires_at - min(RENEW_BEFORE_SECONDS, left / 2)


class FetchedCredentials(CachedCredentials):
    """From a function of yours, which may block. It is called again a minute before `expires_at`, or on expiry.

    One thread calls it at a time. Where it raises while the last credentials are valid, these are used, and it is
    called again after some seconds.
    """

    origin = "a function of this program"

    def __init__(self, get: Callable[[], Credentials]) -> None:
        super().__init__()
        self._get = get

    def _load(self, renew: bool) -> Credentials:
        return self._get()


class EnvironmentCredentials(CachedCredentials):
    """AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN of a mapping; read again when they have expired."""

    origin = "the environment, AWS_ACCESS_KEY_ID"

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__()
        self._environ = environ

    def cached(self, now: float) -> Credentials | None:
        """Loads them at the first call, which never blocks: for `fetch` an event loop would begin a thread."""
        return self._cached or self._renewed(now, renew=False)

    def _load(self, renew: bool) -> Credentials:
        access_key = self._environ.get("AWS_ACCESS_KEY_ID")
        secret_key = self._environ.get("AWS_SECRET_ACCESS_KEY")
        if not access_key or not secret_key:
            missing = "AWS_SECRET_ACCESS_KEY" if access_key else "AWS_ACCESS_KEY_ID"
            raise NotConfigured(f"AWS credentials are missing: {missing} is not set", hint=_HINT)
        token = self._environ.get("AWS_SESSION_TOKEN") or self._environ.get("AWS_SECURITY_TOKEN")
        return Credentials(access_key, secret_key, token or None)


class ChainCredentials(CachedCredentials):
    """botocore's chain: profile, web identity, container, instance metadata. Needs `singletable[aws]`.

    botocore itself refreshes them when it is called, so it is called once a minute.
    """

    def __init__(self, chain: AwsChain) -> None:
        super().__init__()
        self._chain = chain

    @property
    def origin(self) -> str:
        """The part of the chain that has them."""
        return self._chain.origin

    def _load(self, renew: bool) -> Credentials:
        keys = self._chain.keys(renew=renew)
        if keys is None:
            raise NotConfigured(
                "AWS credentials are missing: neither the environment nor botocore's chain has any", hint=_SIGN_IN
            )
        return Credentials(*keys)

    def _is_valid(self, cached: Credentials, now: float) -> bool:
        return self._chain.still_work()

    def _used_between(self, cached: Credentials, now: float) -> tuple[float, float]:
        return now, now + RENEW_BEFORE_SECONDS


def credentials_from(environ: Mapping[str, str], *, local: bool = False) -> CredentialSource:
    """The source that the environment names; nothing is read before the first request.

    A local engine accepts any signature: without a key in the environment it gets an invented one.
    """
    if environ.get("AWS_ACCESS_KEY_ID"):
        return EnvironmentCredentials(environ)
    if local:
        return StaticCredentials(Credentials("local", "local"))
    return ChainCredentials(AwsChain(environ, missing="AWS credentials are missing from the environment", hint=_HINT))
