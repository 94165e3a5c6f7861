"""Changes of a node's own attributes that lose nobody's: what two people changed differently is refused with both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from goals.errors import Changed, Difference, Invalid, Missing
from goals.model import id_of
from singletable import Condition, ConditionFailed, Database, KeyOf, NotFound, attr
from singletable.errors import TransactionConflict
from singletable.graph import Node

N = TypeVar("N", bound=Node)

TRIES = 50
"""Of a write that others overtake: each time one of those who write at once is done."""


def change_node(db: Database, key: KeyOf[N], changes: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> N:
    """Set attributes of a node; its edge set stays as it is. 1 request, 2 more where the base is outdated.

    `base` holds the attributes as the caller read them: what equals them is not a change, and what somebody else has
    changed since is not overwritten: Changed, with both values. Attributes that only one of the two changed come
    together. Without a base the last one wins. Missing.
    """
    kind: Any = key.kinds[0]
    base = dict(base or {})
    wanted = differing(changes, base)
    if not changes:
        raise Invalid("say what is to change")
    for _ in range(TRIES):
        if not wanted:
            return _there(db, key)
        try:
            sets = [attr(getattr(kind, name)).set(value) for name, value in wanted.items()]
            return db.update(key, *sets, where=_held(kind, base, wanted))
        except NotFound as error:
            raise Missing(kind.__name__.lower(), id_of(key)) from error
        except ConditionFailed:
            stored = _there(db, key)
            check_differences(key, stored, wanted, base)
            base = {name: getattr(stored, name) for name in base}
            wanted = differing(wanted, base)
    raise TransactionConflict("the node was changed by others again and again", key=key, hint="Try again later.")


def differing(changes: Mapping[str, Any], base: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is changed: what the caller read and left is none."""
    base = base or {}
    return {name: value for name, value in changes.items() if name not in base or base[name] != value}


def _held(kind: Any, base: Mapping[str, Any], wanted: Iterable[str]) -> Condition | None:
    """What is to be changed is as the caller read it."""
    held: Condition | None = None
    for name in wanted:
        if name in base:
            same = attr(getattr(kind, name)) == base[name]
            held = same if held is None else held & same
    return held


def check_differences(key: KeyOf[Any], stored: Node, wanted: Mapping[str, Any], base: Mapping[str, Any]) -> None:
    """Changed where a stored attribute is neither what the caller read nor what the caller wants."""
    differing = {
        name: Difference(base[name], getattr(stored, name), value)
        for name, value in wanted.items()
        if name in base and getattr(stored, name) not in (base[name], value)
    }
    if differing:
        raise Changed(f"{key.kinds[0].__name__.lower()} {id_of(key)!r}", differing)


def _there(db: Database, key: KeyOf[N]) -> N:
    found = db.get(key.consistent())
    if found is None:
        raise Missing(key.kinds[0].__name__.lower(), id_of(key))
    return found
