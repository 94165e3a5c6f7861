"""Cursors: the position where a page ended, as a text that a client can neither read nor change.

A cursor is encrypted and authenticated (AES-256-GCM) and bound to its table, index, pattern, partition, direction
and, if given, principal. It is not bound to limit, filter, projection or the bounds of the range,
so that a page of `before(now())` can be followed by another: the position is checked against the bounds of each call.

    version (1 byte) | key id (4) | nonce (12) | encrypted [expires at, position's partition and sort texts...]
"""

from __future__ import annotations

import hashlib
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

import msgspec

from singletable.errors import InvalidCursor, NotConfigured
from singletable.operations import Key

_VERSION = b"\x01"
_KEY_ID_BYTES = 4
_NONCE_BYTES = 12
_LONGEST = 20_000
"""The longest cursor, of an index: four key texts, 6,144 bytes, up to twice as many in JSON, a third more in base64."""
DEFAULT_LIFETIME_SECONDS = 24 * 3600.0

Binding = tuple[str, ...]
"""The texts to which a cursor is bound."""


class CursorSeal:
    """Seals and opens cursors. The first key seals, all of them open, so that keys can be replaced one after another.

    `keys` are secrets of at least 16 characters; from each a key for AES-256 is derived.
    """

    def __init__(self, keys: Sequence[str | bytes], lifetime_seconds: float = DEFAULT_LIFETIME_SECONDS) -> None:
        self._keys = {self._id(key): key for key in (self._derive(k) for k in keys)}
        self.lifetime_seconds = lifetime_seconds

    def __repr__(self) -> str:
        return f"<CursorSeal of {len(self._keys)} keys>"

    def seal(self, position: Key, binding: Binding, now: float) -> str:
        """The cursor of a position. NotConfigured without keys."""
        if not self._keys:
            raise NotConfigured(
                "cursors need a key, and none is configured",
                hint='Give connect("aws", cursor_keys=[...]) a secret, or set SINGLETABLE_CURSOR_KEYS.',
            )
        key_id, key = next(iter(self._keys.items()))
        nonce = os.urandom(_NONCE_BYTES)
        plain = msgspec.json.encode([now + self.lifetime_seconds, position])
        sealed: bytes = _cipher(key).encrypt(nonce, plain, _bound(binding))
        return urlsafe_b64encode(_VERSION + key_id + nonce + sealed).rstrip(b"=").decode()

    def open(self, cursor: str, binding: Binding, now: float) -> Key:
        """The position of a cursor. Raises InvalidCursor if it is changed, foreign or expired, without saying which."""
        position = self._opened(cursor, binding, now)
        if position is None:
            raise InvalidCursor(
                "the cursor is not of this query, or has expired", hint="Start again with the first page."
            )
        return position

    def _opened(self, cursor: str, binding: Binding, now: float) -> Key | None:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 at the first cursor, not at every import

        if len(cursor) > _LONGEST or not cursor.isascii():
            return None
        try:
            raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            if urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor:
                return None
            key = self._keys.get(raw[1 : 1 + _KEY_ID_BYTES])
            if raw[:1] != _VERSION or key is None:
                return None
            nonce, sealed = raw[5 : 5 + _NONCE_BYTES], raw[5 + _NONCE_BYTES :]
            plain: bytes = _cipher(key).decrypt(nonce, sealed, _bound(binding))
        except (ValueError, InvalidTag):
            return None
        expires, position = msgspec.json.decode(plain, type=tuple[float, dict[str, dict[str, str]]])
        return None if now > expires else position

    @staticmethod
    def _derive(key: str | bytes) -> bytes:
        secret = key.encode() if isinstance(key, str) else key
        if len(secret) < 16:
            raise NotConfigured("a cursor key has at least 16 characters", hint="Make one: secrets.token_urlsafe(32).")
        return hashlib.sha256(b"singletable cursor\0" + secret).digest()

    @staticmethod
    def _id(key: bytes) -> bytes:
        return hashlib.sha256(b"id\0" + key).digest()[:_KEY_ID_BYTES]


def _bound(binding: Binding) -> bytes:
    return msgspec.json.encode(binding)


def _cipher(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 as above

    return AESGCM(key)
