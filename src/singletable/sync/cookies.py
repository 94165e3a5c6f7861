"""Cookies: which version of which history a client has, as its next pull says it.

    {"order": 9, "version": 9, "id": "mR3...", "group": "g1", "view": "guest"}

`id` is that of the version, which its commit made. Where the table has another version of this number, or none, the
client has followed another history: the table was restored, or is a copy. A cookie of an older server is a number, or
has no `id`: then the number alone is compared.

Replicache compares `order` alone. It ignores an answer whose order, or last mutation id of a client, is lower than what
it has, and both are lower after a restore. So a group that has followed another history is told that it is unknown. Its
browser begins a new group, with the old one's view and cookie, but without its last mutation ids: that group is sent
everything, in an order above the one that it has.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from singletable.documents import Version

_MOST = 2**53 - 1
"""The highest order: the whole numbers of JavaScript end there."""


class Cookie(msgspec.Struct, frozen=True, omit_defaults=True):
    """A version of a document, in a view, that a client has."""

    order: int
    version: int
    id: str | None = None
    """The version's id; empty for a version of an older program, None where an older server made the cookie."""
    group: str | None = None
    """The client group that it was made for; None where an older server made it."""
    view: str = ""
    """The name of the view; empty for the whole document."""

    @property
    def lead(self) -> int:
        """The difference of `order` and `version`: above 0 once the client has followed another history."""
        return self.order - self.version

    def names(self, version: Version) -> bool:
        """Whether this is the version that the client has."""
        return self.version == version.number and self.id in (None, version.id or "")


def read_cookie(value: Any) -> Cookie | None:
    """The cookie of a pull; None for one that no server of this library has made."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {"order": value}
    try:
        cookie = msgspec.convert({"version": fields.get("order"), **fields}, Cookie)
    except msgspec.ValidationError:
        return None
    return cookie if 0 <= cookie.version <= cookie.order <= _MOST else None
