"""Addresses and logins: one person whatever the case, one key whatever the spelling."""

from __future__ import annotations

import unicodedata

from organisations.errors import Invalid

MAX_LENGTH = 254
"""Of an e-mail address (RFC 5321)."""


def address(text: str) -> str:
    """The key of an address: in lower case. Invalid for what could pass for another.

    Only text in Unicode's normal form C is taken, before and after: the Kelvin sign must not become the letter k.
    """
    for form in (text, text.lower()):
        if not form or len(form) > MAX_LENGTH or not form.isprintable() or " " in form:
            raise Invalid(f"an address has 1 to {MAX_LENGTH} printable characters and no spaces")
        if unicodedata.normalize("NFC", form) != form:
            raise Invalid("an address is in Unicode's normal form C")
    return text.lower()


def spelling(text: str) -> str | None:
    """How an address is shown, where that is not its key."""
    return None if text == address(text) else text
