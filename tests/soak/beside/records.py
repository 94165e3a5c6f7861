"""The records that both programs keep on one table: six kinds, drawn, as JSON has them.

A time is a number of milliseconds, an expiry one of seconds, a set a sorted list; what is absent is not there.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

Record = dict[str, Any]
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "customer": ("id",),
    "order": ("customer", "number"),
    "invoice": ("customer", "number"),
    "event": ("customer", "at", "id"),
    "session": ("token",),
    "slot": ("day", "slot"),
}
INDEXED: Final[Mapping[str, str]] = {"customer": "email", "order": "status"}
"""The attribute by which an index finds a kind."""
CUSTOMERS: Final = 30
_STATES = ("open", "paid", "Sent back", "été")
_WORDS = ("red", "Bern", "north-east", "the_quick", "a b", "Élan", "x:y")
_ULID = string.digits + "ABCDEFGHJKMNPQRSTVWXYZ"


def drawn(random: Random, kind: str) -> Record:
    """A record of a kind. Numbers are few, so that many are of one key."""
    record = _MAKERS[kind](random)
    return {name: value for name, value in record.items() if value is not None}


def change(random: Random, kind: str) -> Record:
    """What an update sets: attributes with values, or with None where it removes them."""
    keys = KEYS[kind]
    free = {name: value for name, value in _MAKERS[kind](random).items() if name not in keys}
    return {name: free[name] for name in random.sample(sorted(free), random.randint(1, len(free)))}


def key_of(kind: str, record: Record) -> Record:
    return {name: record[name] for name in KEYS[kind]}


def place_of(kind: str, record: Record) -> tuple[Any, ...]:
    """Where a record is: its kind and the values of its key."""
    return (kind, *(record[name] for name in KEYS[kind]))


def _customer(random: Random) -> str:
    return f"Cust{random.randrange(CUSTOMERS)}"


def _instant(random: Random) -> int:
    return 1_700_000_000_000 + random.randrange(10**9) * 30


def _tags(random: Random) -> list[str] | None:
    return sorted(random.sample(_WORDS, random.randint(0, 3))) or None


def _lines(random: Random) -> list[Record]:
    return [{"sku": random.choice(_WORDS), "quantity": random.randrange(9)} for _ in range(random.randint(0, 3))]


def _ulid(random: Random) -> str:
    return "01" + "".join(random.choices(_ULID, k=24))


_MAKERS: Mapping[str, Callable[[Random], Record]] = {
    "customer": lambda random: {
        "id": _customer(random),
        "name": random.choice(_WORDS),
        "email": f"U{random.randrange(20)}@Example.org",
        "note": random.choice((None, *_WORDS)),
    },
    "order": lambda random: {
        "customer": _customer(random),
        "number": random.randint(1, 40),
        "status": random.choice(_STATES),
        "total": random.randrange(100_000) / 100,
        "placed": _instant(random),
        "tags": _tags(random),
    },
    "invoice": lambda random: {
        "customer": _customer(random),
        "number": random.randint(1, 30),
        "paid": random.random() < 0.5,
        "lines": _lines(random),
    },
    "event": lambda random: {
        "customer": _customer(random),
        "at": _instant(random),
        "id": _ulid(random),
        "meta": random.choice((None, {"by": random.choice(_WORDS), "n": [random.randrange(9), 0.5]})),
    },
    "session": lambda random: {
        "token": f"{random.randrange(400):032x}",
        "user": random.choice(_WORDS),
        "expires": 2_000_000_000 + random.randrange(10**6),
    },
    "slot": lambda random: {
        "day": f"2026-01-{random.randint(1, 28):02}",
        "slot": random.randrange(30),
        "note": random.choice((None, *_WORDS)),
    },
}
