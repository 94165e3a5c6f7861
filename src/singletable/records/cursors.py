"""Cursors: the position where a page ended, as a text that a client can neither read nor change.

A cursor is encrypted and authenticated (XChaCha20-Poly1305) and bound to its table, by the name in the account, its
index, pattern, partition, direction and, if given, principal. It is not bound to limit, filter, projection or the
bounds of the range, so that a page of `before(now())` can be followed by another: the position is checked against the
bounds of each call.

    version (1 byte) | key id (4) | nonce (24) | encrypted [expires at, position's partition and sort texts...]

The nonce is random: 192 bits are enough for any number of cursors of one key.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

import msgspec

from singletable.errors import InvalidCursor, NotConfigured
from singletable.flow import TableNames
from singletable.operations import Key

if TYPE_CHECKING:
    from nacl.secret import Aead

_VERSION = b"\x01"
_KEY_ID_BYTES = 4
_HEAD_BYTES = 1 + _KEY_ID_BYTES
_LONGEST = 20_000
"""The longest cursor, of an index: four key texts, 6,144 bytes, up to double in JSON, a third more in base64."""
DEFAULT_LIFETIME_SECONDS = 24 * 3600.0

Binding = tuple[str, ...]
"""The texts to which a cursor is bound; the first is the table's declared name."""


class CursorSeal:
    """Seals and opens cursors. The first key seals, all of them open, so that keys can be replaced one after another.

    `keys` are secrets of at least 16 characters; from each a key of 256 bits is derived.
    """

    _names: TableNames | None = None

    def __init__(self, keys: Sequence[str | bytes], lifetime_seconds: float = DEFAULT_LIFETIME_SECONDS) -> None:
        self._keys = {self._id(key): key for key in (self._derive(k) for k in keys)}
        self.lifetime_seconds = lifetime_seconds

    def with_names(self, names: TableNames) -> CursorSeal:
        """The same keys, where tables have these names: a cursor is of the data, not of the declaration."""
        seal = copy(self)
        vars(seal)["_names"] = names
        return seal

    @property
    def secret(self) -> bytes:
        """A secret for other uses, of the first key; empty without keys."""
        return next(iter(self._keys.values()), b"")

    def check_cipher(self) -> None:
        """Raise NotConfigured, before the first page, if keys are given but the cipher is not installed."""
        if not self._keys:
            return
        from importlib.util import find_spec  # noqa: PLC0415 a program without keys starts without it

        if find_spec("nacl") is None:
            _cipher(next(iter(self._keys.values())))

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
        plain = msgspec.json.encode([now + self.lifetime_seconds, position])
        sealed = _cipher(key).encrypt(plain, self._bound(binding))
        return urlsafe_b64encode(_VERSION + key_id + sealed).rstrip(b"=").decode()

    def open(self, cursor: str, binding: Binding, now: float) -> Key:
        """The position of a cursor. Raises InvalidCursor if it is changed, foreign or expired, without saying which."""
        position = self._opened(cursor, binding, now)
        if position is None:
            raise InvalidCursor(
                "the cursor is not of this query, or has expired", hint="Start again with the first page."
            )
        return position

    def _opened(self, cursor: str, binding: Binding, now: float) -> Key | None:
        if len(cursor) > _LONGEST or not cursor.isascii():
            return None
        try:
            raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except ValueError:
            return None
        if urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor:
            return None
        key, sealed = self._keys.get(raw[1:_HEAD_BYTES]), raw[_HEAD_BYTES:]
        if raw[:1] != _VERSION or key is None:
            return None
        plain = _unsealed(key, sealed, self._bound(binding))
        if plain is None:
            return None
        expires, position = msgspec.json.decode(plain, type=tuple[float, dict[str, dict[str, str]]])
        return None if now > expires else position

    def _bound(self, binding: Binding) -> bytes:
        if self._names is not None and binding.__class__ is tuple:
            binding = (self._names[binding[0]], *binding[1:])
        return msgspec.json.encode(binding)

    @staticmethod
    def _derive(key: str | bytes) -> bytes:
        secret = key.encode() if isinstance(key, str) else key
        if len(secret) < 16:
            raise NotConfigured("a cursor key has at least 16 characters", hint="Make one: secrets.token_urlsafe(32).")
        return hashlib.sha256(b"singletable cursor\0" + secret).digest()

    @staticmethod
    def _id(key: bytes) -> bytes:
        return hashlib.sha256(b"id\0" + key).digest()[:_KEY_ID_BYTES]


def _unsealed(key: bytes, sealed: bytes, bound: bytes) -> bytes | None:
    """The plain text of a nonce and a sealed text; None if they were not sealed with this key and binding."""
    cipher = _cipher(key)
    from nacl.exceptions import CryptoError  # noqa: PLC0415 as in `_cipher`

    if len(sealed) < cipher.NONCE_SIZE + cipher.MACBYTES:
        return None
    try:
        return cipher.decrypt(sealed, bound)
    except CryptoError:
        return None


def _cipher(key: bytes) -> Aead:
    """XChaCha20-Poly1305, by libsodium. NotConfigured if the extra is not installed."""
    try:
        from nacl.secret import Aead  # noqa: PLC0415 at the first cursor, not at every import
    except ModuleNotFoundError as error:
        raise NotConfigured(
            "cursors are sealed by PyNaCl, which is not installed",
            hint="Install it: python -m pip install 'singletable[cursors]'.",
        ) from error
    return Aead(key)
