"""Errors for arguments of a wrong kind. Values are not shown: an error goes to logs."""

from __future__ import annotations

import inspect
from typing import Any

from singletable.errors import InvalidRequest
from singletable.expressions import Update
from singletable.schema.patterns import Captured, Query
from singletable.schema.table import Table

_NAMED = 3
_MAKE = 'Make one: User(email="ada@example.org").'


def check_query(given: object) -> None:
    """Raises InvalidRequest for what no access pattern gave."""
    if not isinstance(given, Query):
        raise InvalidRequest(f"a key or a query is expected, not {_named(given)}", hint=_call(given))


def not_one_item(query: Query[Any], why: str) -> InvalidRequest:
    """The error for a query where one item's key is expected."""
    return InvalidRequest(
        f"{query.captured.shown} does not name one item here: {why}",
        hint=f"Use page(), iter() or all(); or the whole primary key: {query.model.key.call}.",
    )


def check_update(given: object) -> None:
    """Raises InvalidRequest for what is not a change of an attribute."""
    if not isinstance(given, Update):
        raise InvalidRequest(
            f"a change of an attribute is expected, not {_named(given)}",
            operation="update",
            hint="As in db.update(key, attr(User.age).set(3), attr(User.name).remove()).",
        )


def check_joins(given: object) -> None:
    """Raises InvalidRequest for what a transaction can't add."""
    if inspect.isclass(given) or not callable(getattr(given, "writes", None)):
        raise InvalidRequest(
            f"tx.add takes a value with writes, not {_named(given)}",
            operation="transaction",
            hint="As in tx.add(link(edge)), tx.add(tasks.after(delay, call)).",
        )


def check_keys(given: object) -> None:
    """Raises InvalidRequest for one key where several are expected."""
    if isinstance(given, Query):
        raise InvalidRequest(
            "several keys are expected, not one", operation="get_many", hint="Give a list, or use get()."
        )


def check_class(given: object) -> None:
    """Raises InvalidRequest for what is not a class of entities."""
    if not inspect.isclass(given):
        raise InvalidRequest(f"a class of entities is expected, not {_named(given)}", hint="As in db.scan(User).")


def check_table(given: object) -> None:
    """Raises InvalidRequest for what is not a table."""
    if not isinstance(given, Table):
        raise InvalidRequest(
            f"a table is expected, not {_named(given)}", hint='Give the value that Table("...") made, not its name.'
        )


def positional(kind: type[Any], given: int) -> TypeError:
    """The error for an entity that was made of values without names."""
    names = list(inspect.signature(kind).parameters)[:_NAMED]
    example = ", ".join(f"{name}=..." for name in names)
    return TypeError(
        f"{kind.__name__} takes its attributes by name, and was given {given} without: write {kind.__name__}({example})"
    )


def not_an_entity(given: object, *, or_key: bool) -> InvalidRequest:
    """The error for an argument that is neither an entity nor, with `or_key`, a key."""
    expected, hint = ("a key or an entity", _call(given)) if or_key else ("an entity", _MAKE)
    return InvalidRequest(f"{expected} is expected, not {_named(given)}", hint=hint)


def _call(given: object) -> str:
    """The call that makes a key: of the given class, or of the given item's class, if it is known."""
    model: Any = getattr(given if inspect.isclass(given) else type(given), "__model__", None)
    captured: Any = getattr(given, "captured", None) or getattr(model, "key", None)
    return f"Call an access pattern{f': {captured.call}' if isinstance(captured, Captured) else ' of its class'}."


def _named(given: object) -> str:
    """The kind of a wrong argument, as its reader would call it."""
    if given is None:
        return "None"
    if inspect.isclass(given):
        return f"the class {given.__name__}"
    if inspect.iscoroutine(given):
        return f"a call of {given.__name__}() that was not awaited"
    if callable(given):
        return f"a function that was not called, {getattr(given, '__name__', type(given).__name__)}"
    kind = type(given).__name__
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"
