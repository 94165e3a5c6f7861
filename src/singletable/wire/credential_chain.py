"""botocore's knowledge of profiles, roles, containers and instance metadata, behind one question: who am I?

Its order is kept: a profile that the environment names is not one that a program names. The first leaves a web
identity and keys of the environment before it, the second puts itself before them.

botocore is optional and slow to import (70 ms), so it is loaded by the first question, never by the import of this.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from singletable.errors import NotConfigured, Unavailable


class AwsChain:
    """`missing` and `hint` say what can't be answered, and what to do, where botocore isn't installed."""

    def __init__(self, environ: Mapping[str, str], *, missing: str, hint: str) -> None:
        profile = profile_of(environ)
        # botocore reads the process's environment, whatever mapping was given here.
        self._profile = None if profile == profile_of(os.environ) else profile
        self._missing = missing
        self._hint = hint
        self._resolved: Any = None

    def keys(self, *, renew: bool = False) -> tuple[str, str, str | None] | None:
        """Access key, secret key and session token; None where the chain has none. May block for seconds."""
        if renew or self._resolved is None:
            self._resolved = self._ask(lambda session: session.get_credentials())
        if self._resolved is None:
            return None
        frozen = self._ask(lambda _: self._resolved.get_frozen_credentials())
        return frozen.access_key, frozen.secret_key, frozen.token

    def still_work(self) -> bool:
        """Whether the keys that were given last have not expired, by the process's clock. Never blocks."""
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
            raise Unavailable(f"The place of the AWS credentials does not answer: {fault}") from fault
        except exceptions.BotoCoreError as fault:
            raise NotConfigured(f"The AWS configuration can't be used: {fault}", hint=self._hint) from fault


def profile_of(environ: Mapping[str, str]) -> str | None:
    """The profile that an environment names, in botocore's order."""
    return environ.get("AWS_DEFAULT_PROFILE") or environ.get("AWS_PROFILE") or None
