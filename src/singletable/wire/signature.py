"""Signature Version 4 for the JSON protocols of DynamoDB, its streams and SQS: from a body to a request's head.

A signature is four hashes. Between requests of one operation in one second, only the body's digest in the hashed texts
changes. So the hash states of the unchanged beginnings are cached and copied: about 2.5 us a request instead of 50. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from singletable.version import VERSION
from singletable.wire.credentials import Credentials

if TYPE_CHECKING:
    from hashlib import _Hash  # pyright: ignore[reportPrivateUsage]

CONTENT_TYPE = "application/x-amz-json-1.0"
USER_AGENT = f"singletable/{VERSION}"
_HMAC_BLOCK_BYTES = 64
_INNER_PAD = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD = bytes(byte ^ 0x5C for byte in range(256))


class _Prepared(Struct, frozen=True):
    """The parts that all requests of one operation in one second share."""

    second: int
    canonical: _Hash
    """The hash state of the canonical request up to the body's digest."""
    inner: _Hash
    """HMAC's inner hash state of the text to sign, up to the canonical request's digest."""
    outer: _Hash
    head: bytes
    """The head up to the signature."""


class _DayKey(Struct, frozen=True):
    day: str
    inner: _Hash
    outer: _Hash


class Signer:
    """Signs for one set of credentials and one host. Threads may share it.

    `host` is the Host header's text: with the port where that isn't the scheme's own. `place` and `unsigned_lines` are
    for a proxy: the request's target where it is not `/`, and header lines of its own.
    """

    __slots__ = (
        "_day_key",
        "_prepared",
        "_region",
        "_service",
        "_stable_head",
        "_target_prefix",
        "credentials",
        "host",
    )

    def __init__(
        self,
        credentials: Credentials,
        region: str,
        host: str,
        service: str = "dynamodb",
        target_prefix: str = "DynamoDB_20120810",
        *,
        place: str = "/",
        unsigned_lines: str = "",
    ) -> None:
        self.credentials = credentials
        self.host = host
        self._region = region
        self._service = service
        self._target_prefix = target_prefix
        self._day_key: _DayKey | None = None
        self._prepared: dict[str, _Prepared] = {}
        self._stable_head = (
            f"POST {place} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {CONTENT_TYPE}\r\n"
            f"User-Agent: {USER_AGENT}\r\nAccept-Encoding: identity\r\n{unsigned_lines}"
        )
        if credentials.session_token:
            self._stable_head += f"X-Amz-Security-Token: {credentials.session_token}\r\n"

    def head(self, operation: str, body: bytes, now: float) -> bytes:
        """The request line and all headers, with the blank line that ends them; `now` is in seconds since 1970."""
        prepared = self._prepared.get(operation)
        if prepared is None or prepared.second != int(now):
            prepared = self._prepare(operation, int(now))
        canonical = prepared.canonical.copy()
        canonical.update(hashlib.sha256(body).hexdigest().encode())
        inner = prepared.inner.copy()
        inner.update(canonical.hexdigest().encode())
        outer = prepared.outer.copy()
        outer.update(inner.digest())
        return b"%s%s\r\nContent-Length: %d\r\n\r\n" % (prepared.head, outer.hexdigest().encode(), len(body))

    def _prepare(self, operation: str, second: int) -> _Prepared:
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        target = f"{self._target_prefix}.{operation}"
        canonical, signed_names = self._canonical(moment, target)
        scope = f"{moment[:8]}/{self._region}/{self._service}/aws4_request"
        key = self._key_of(moment[:8])
        inner = key.inner.copy()
        inner.update(f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n".encode())
        head = (
            f"{self._stable_head}X-Amz-Date: {moment}\r\nX-Amz-Target: {target}\r\n"
            f"Authorization: AWS4-HMAC-SHA256 Credential={self.credentials.access_key}/{scope}, "
            f"SignedHeaders={signed_names}, Signature="
        )
        prepared = _Prepared(second, hashlib.sha256(canonical.encode()), inner, key.outer, head.encode())
        # The value is replaced as a whole: a thread with the older one signs correctly for its own second.
        self._prepared[operation] = prepared
        return prepared

    def _canonical(self, moment: str, target: str) -> tuple[str, str]:
        """The canonical request up to the body's digest, and the names of the signed headers."""
        headers = {"content-type": CONTENT_TYPE, "host": self.host, "x-amz-date": moment}
        if self.credentials.session_token:
            headers["x-amz-security-token"] = self.credentials.session_token
        headers["x-amz-target"] = target
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        names = ";".join(headers)
        return f"POST\n/\n\n{lines}\n{names}\n", names

    def _key_of(self, day: str) -> _DayKey:
        held = self._day_key
        if held is not None and held.day == day:
            return held
        key = f"AWS4{self.credentials.secret_key}".encode()
        for part in (day, self._region, self._service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        block = key.ljust(_HMAC_BLOCK_BYTES, b"\0")
        held = _DayKey(day, hashlib.sha256(block.translate(_INNER_PAD)), hashlib.sha256(block.translate(_OUTER_PAD)))
        self._day_key = held
        return held
