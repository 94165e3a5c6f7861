"""Signature Version 4 of any request: of S3 and STS as well, which the library itself never asks."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from urllib.parse import quote, unquote

from singletable.wire import Credentials

_SIGNED = ("content-type", "host", "range", "if-match", "if-none-match")


def signed_headers(
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    service: str,
    region: str,
    credentials: Credentials,
    now: float,
) -> dict[str, str]:
    """The headers with a signature; names are lower-case, `host` is among them. `path` is quoted already."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    digest = hashlib.sha256(body).hexdigest()
    made = dict(headers) | {"x-amz-date": moment, "x-amz-content-sha256": digest}
    if credentials.session_token:
        made["x-amz-security-token"] = credentials.session_token
    names = sorted(name for name in made if name in _SIGNED or name.startswith("x-amz-"))
    lines = "".join(f"{name}:{' '.join(made[name].split())}\n" for name in names)
    canonical = "\n".join((method, path, _canonical_query(query), lines, ";".join(names), digest))
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    made["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    return made


def _canonical_query(query: str) -> str:
    pairs = [part.partition("=") for part in query.split("&") if part]
    quoted = sorted((quote(unquote(name), safe=""), quote(unquote(value), safe="")) for name, _, value in pairs)
    return "&".join(f"{name}={value}" for name, value in quoted)
