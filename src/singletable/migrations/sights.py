"""Sights: what each verb of a program meets in an item that a program of the other version wrote.

Each rule of `rules` has a line in `MEETINGS`, with the sights of the old program and of the new one. A sight says the
outcome of each verb, tried on an engine by a test. `two_versions` says when programs meet it, and on which items.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Verb = Literal["get", "query", "query an index", "create", "put", "update", "delete", "unique", "handle"]
"""`unique` is any write of a unique value; `handle` is what a layer does with what it stores."""
Sight = Literal[
    "same", "carried", "default", "lacking", "unreadable", "newer", "older", "otherwise", "elsewhere", "converted",
    "both keys", "unindexed", "no index", "unguarded", "behind", "no role", "waits", "unknown",
]  # fmt: skip

_QUERIES: tuple[Verb, ...] = ("query", "query an index")
_CORRUPT = "Corrupt"
_APPLIED = "Applied: it took effect, and what it returns can't be read"
_UNKNOWN = "unknown: no rule says what it meets"
SIGHTS: Mapping[Sight, Mapping[Verb, str]] = {
    "same": {},
    "carried": {"put": "keeps what it doesn't know, of an object that was read; a new object loses it"},
    "default": dict.fromkeys(("get", *_QUERIES), "the default, where an item lacks the attribute"),
    "lacking": {},
    "unreadable": {
        "get": _CORRUPT,
        "query": f"{_CORRUPT}: the whole page",
        "query an index": f"{_CORRUPT}: the whole page",
        "put": "writes over what it can't read",
        "update": _APPLIED,
        "delete": _APPLIED,
    },
    "newer": {
        "get": "Newer",
        "query": "Newer: the whole page",
        "query an index": "Newer: the whole page",
        "put": "Newer: nothing is written",
        "update": "Newer: nothing is written",
        "delete": "Newer: nothing is written",
    },
    "older": {
        "query": "as ever, upcast; a filter sees what is stored",
        "query an index": "as ever, upcast; a filter sees what is stored",
        "update": "two requests more, once",
    },
    "otherwise": dict.fromkeys(
        ("get", "query", "query an index", "update", "delete"), "another value than was written"
    ),
    "elsewhere": {
        "get": "None",
        "query": "not among the items",
        "query an index": f"{_CORRUPT}: the whole page, as the item has another key",
        "create": "a second item",
        "put": "a second item",
        "update": "NotFound",
        "delete": "None: nothing is deleted",
    },
    "converted": {
        "get": "None",
        "query": "not among the items",
        "query an index": "not among the items",
        "create": "a second item",
        "put": "a second item",
        "update": "NotFound",
        "delete": "None: nothing is deleted",
    },
    "both keys": {
        "get": "as ever; a request more",
        "query": "as ever; two requests a page",
        "create": "as ever; a transaction",
        "put": "moves it",
        "update": "moves it",
        "delete": "as ever; a request more",
    },
    "unindexed": {"query an index": "not among the items, or under its former key"},
    "no index": {"query an index": "NotConfigured: the table lacks the index"},
    "unguarded": {"unique": "not refused: the value has no guard"},
    "behind": dict.fromkeys(("get", *_QUERIES), "what other items hold for it is missing or behind"),
    "no role": dict.fromkeys(("put", "update", "delete"), "as ever; the old version keeps no role: version, expiry"),
    "waits": {"handle": "waits for a program that knows it"},
    "unknown": dict.fromkeys(("get", *_QUERIES, "create", "put", "update", "delete", "handle"), _UNKNOWN),
}
"""The outcome of each verb, before a colon, where it isn't as ever. `lacking` is `default` or `unreadable`, as the
reader declares the attribute."""

OF_VALUES: frozenset[Sight] = frozenset(("carried", "default", "unreadable", "otherwise"))
"""Sights of an attribute's value: the upcasters and downcasters of a class whose version is raised decide instead."""
HARMLESS: frozenset[Sight] = frozenset(("same", "carried", "default", "older", "both keys"))
"""Sights with which a program goes on: nothing is hidden, lost or refused."""


class Meeting(Struct, frozen=True):
    """The sights of two programs under a rule."""

    old: Sight
    """A program of the old version, of what the new one wrote."""
    new: Sight
    """A program of the new version, of what the old one wrote."""
    back: str = ""
    """The part that is lost, or stays, where the old declaration is brought back. Empty for nothing."""


_VALUES = "its values stay unread, and a put of a new object erases them"
_NEW_TYPE = "a value of the new type can't be read"
_GUARDS = "its guards stay: `check --repair` removes those of nobody"
_MOVED = "its items stay under the new key; they move back where the old key has was= with the new one"
_CONVERTED = "its items stay those of the other classes; they come back by a conversion the other way"
MEETINGS: Mapping[str, Meeting] = {
    "unknown": Meeting("unknown", "unknown", "what the new program wrote may be unreadable"),
    "unreadable": Meeting("unknown", "unreadable"),
    "unwritable": Meeting("same", "unindexed"),
    "attribute.added": Meeting("carried", "default", _VALUES),
    "attribute.renamed": Meeting("same", "same"),
    "attribute.removed": Meeting("lacking", "carried", "what the new program wrote lacks its value"),
    "attribute.upcast": Meeting("same", "same"),
    "attribute.required": Meeting("carried", "unreadable", _VALUES),
    "attribute.optional": Meeting("unreadable", "same", "an item that lacks it can't be read"),
    "default.changed": Meeting("otherwise", "otherwise"),
    "type.changed": Meeting("unreadable", "unreadable", _NEW_TYPE),
    "type.wider": Meeting("unreadable", "same", _NEW_TYPE),
    "enum.gained": Meeting("unreadable", "same", "an item with a new member can't be read"),
    "enum.lost": Meeting("same", "unreadable"),
    "enum.changed": Meeting("otherwise", "otherwise", "what the new program wrote reads as another member"),
    "role.changed": Meeting("no role", "no role"),
    "unique.added": Meeting("unguarded", "unguarded", _GUARDS),
    "guard.changed": Meeting("unguarded", "unguarded", _GUARDS),
    "class.added": Meeting("same", "same", "its items stay, and no class reads them"),
    "class.removed": Meeting("same", "same"),
    "class.converted": Meeting("converted", "same", _CONVERTED),
    "class.made": Meeting("same", "converted"),
    "class.kept": Meeting("same", "same"),
    "class.moves": Meeting("elsewhere", "both keys", _MOVED),
    "version.raised": Meeting("newer", "older", "items of the new version refuse the old program"),
    "version.both": Meeting("same", "older"),
    "key.changed": Meeting("elsewhere", "elsewhere", _MOVED),
    "key.moves": Meeting("elsewhere", "both keys", _MOVED),
    "key.declared": Meeting("same", "same"),
    "pattern.changed": Meeting("unindexed", "unindexed"),
    "pattern.removed": Meeting("unindexed", "same"),
    "beside.added": Meeting("same", "behind", "the parts in other items stay"),
    "beside.removed": Meeting("behind", "same"),
    "mirrors.changed": Meeting("behind", "behind"),
    "index.added": Meeting("same", "no index"),
    "index.changed": Meeting("no index", "no index"),
    "index.removed": Meeting("no index", "same"),
    "setting": Meeting("same", "same"),
    "layer.added": Meeting("waits", "same", "what waits for the new program waits until it is back"),
    "layer.left out": Meeting("same", "same"),
    "contents.raised": Meeting("waits", "same", "documents with new contents wait for the new program"),
    "layer.changed": Meeting("unknown", "unknown", "what was stored for the new declaration"),
}
