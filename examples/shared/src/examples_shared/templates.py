"""Jinja's templates of server-rendered pages: everything is escaped, and a name that is not there is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from examples_shared.as_read import as_read


def templates_in(
    folder: Path, *, filters: Mapping[str, Callable[..., Any]], values: Mapping[str, object]
) -> Environment:
    """The templates of a folder, with the filters and the values that all of them may use."""
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Type checkers see in them the types of Jinja's own helpers alone.
    own_filters: Any = made.filters
    own_values: Any = made.globals
    own_filters.update(filters)
    own_values.update(values, as_read=as_read)
    return made
