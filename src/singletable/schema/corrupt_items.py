"""Errors of items that their class can't read, which name the item. `model` is the class's `Model`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from singletable.errors import Corrupt, DeclarationError, SingletableError
from singletable.operations import Item


@contextmanager
def naming(model: Any, item: Item) -> Generator[None, None, None]:
    """Name the item that can't be read inside the block: the error is Corrupt, with table, key and attribute. An error
    of the class's own code is its cause."""
    try:
        yield
    except DeclarationError:
        raise
    except Exception as error:
        found = named(model, item, error if isinstance(error, Corrupt) else _own_error(model, error))
        raise found from found.__cause__


def named(model: Any, item: Item, error: Corrupt) -> Corrupt:
    """The error, with the item that it is about."""
    if error.key is None:
        error.table, error.key = model.table.name, model.key_in(item)
    return error


def _own_error(model: Any, error: Exception) -> Corrupt:
    """A read's error for one that a class's own code raised: `__post_init__`, or an upcaster."""
    where: dict[str, Any] = {"attribute": error.attribute} if isinstance(error, SingletableError) else {}
    why = error.what if isinstance(error, SingletableError) else f"its own code raised {type(error).__name__}"
    found = Corrupt(
        f"an item of {model.kind.__name__} can't be read: {why}", hint="Correct the item, or the class.", **where
    )
    found.__cause__ = error
    return found
