"""The account that the environment gives: its credentials and region, as the library finds them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from singletable.wire import Credentials, credentials_from, endpoint_for
from tools.aws.account import Account


def connect_account(endpoint: str, region: str | None, environ: Mapping[str, str]) -> Account:
    """An account, or an emulator of one. Raises NotConfigured without credentials or region; nothing is sent."""
    found = endpoint_for(endpoint or "aws", environ=environ, region=region)
    source = credentials_from(environ, local=found.is_local)

    def credentials() -> Credentials:
        return source.cached(time.time()) or source.fetch(time.time())

    credentials()
    return Account(endpoint.rstrip("/"), found.region, credentials)
