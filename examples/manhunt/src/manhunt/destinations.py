"""Where a message goes, checked once, when a method is written: what is stored can be sent to."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from manhunt.errors import Invalid
from manhunt.model import Kind

MAX_CHARACTERS = 1000
_ADDRESS = re.compile(r"[^@\s<>,;:\"()\[\]\\]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")


def check_destination(kind: Kind, destination: str) -> None:
    """Invalid, with what it should look like."""
    if not destination.isprintable() or len(destination) > MAX_CHARACTERS:
        raise Invalid(f"a destination is up to {MAX_CHARACTERS} printable characters", "destination")
    if kind is Kind.EMAIL and not _ADDRESS.fullmatch(destination):
        raise Invalid("an e-mail address looks like ada@example.org", "destination")
    if kind in (Kind.SMS, Kind.VOICE) and not _NUMBER.fullmatch(destination):
        raise Invalid("a telephone number looks like +15551234567", "destination")
    if kind is Kind.WEBHOOK:
        check_url(destination, "destination")


def check_url(url: str, field: str = "url") -> None:
    """Invalid unless it leads to a web server, and carries no secret."""
    if not url.isprintable() or len(url) > MAX_CHARACTERS or not _is_plain(url):
        said = "an address on the web looks like https://example.org/page, without a name or password"
        raise Invalid(said, field)


def _is_plain(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_whole and "@" not in parts.netloc and not parts.fragment and url.isascii() and " " not in url
