"""botocore's credential chain: profiles, roles, containers and instance metadata.

Its order is kept: a profile that the environment names comes after a web identity and the environment's keys, while a
profile that a program names comes before them.

botocore is optional and slow to import (70 ms), so the first call imports it, never the import of this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from singletable.errors import NotConfigured, Unavailable


class AwsChain:
    """`missing` and `hint` are the error's text where botocore isn't installed."""

    def __init__(self, environ: Mapping[str, str], *, missing: str, hint: str) -> None:
        profile = profile_of(environ)
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
