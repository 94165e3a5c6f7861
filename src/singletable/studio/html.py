"""Views as HTML: jinja with every value escaped, and its control characters made visible."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, cast

from jinja2 import ChoiceLoader, Environment, FunctionLoader, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from singletable.studio.tables import with_columns
from singletable.studio.text import encoded, finalized


@cache
def environment() -> Environment:
    """The templates of every studio of this process: each is compiled once. A name that a view lacks is an error."""
    templates = Environment(
        loader=ChoiceLoader([PackageLoader("singletable.studio"), FunctionLoader(_template_of_package)]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = cast("Any", templates.filters)
    filters |= {
        "exact": exact,
        "units": units,
        "counted": counted,
        "bytes": byte_count,
        "when": when,
        "compact": compact,
        "json": json_text,
    }
    names: dict[str, Any] = templates.globals
    names["parts"] = templates.get_template("_parts.html").module
    return templates


def _template_of_package(name: str) -> str | None:
    """The text of PACKAGE/FILE, from the templates of another package."""
    package, _, file = name.partition("/")
    place = files(package).joinpath("templates", file) if file else None
    return place.read_text(encoding="utf-8") if place is not None and place.is_file() else None


def exact(value: str) -> Markup:
    """Text that goes back with a form unchanged: escaped, and nothing made visible."""
    return escape(value)


def json_text(value: Any) -> str:
    """A value as one line of JSON."""
    return encoded(value).decode()


def units(value: float) -> str:
    """`0.5`, `12`, `1,024`."""
    return f"{value:,.1f}".removesuffix(".0")


def counted(number: float, word: str, several: str = "") -> str:
    """`1 request`, `2 requests`, `2 entities`."""
    return f"{units(number)} {word if number == 1 else several or word + 's'}"


def compact(value: Any) -> str:
    """A list or a map as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def byte_count(size: int) -> str:
    """`312 B`, `4.1 KB`, `400 KB`."""
    if size < 1024:
        return f"{size} B"
    for unit in ("KB", "MB", "GB"):
        size_in, size = size / 1024, size // 1024
        if size < 1024 or unit == "GB":
            return f"{size_in:,.1f} {unit}".replace(".0 ", " ")
    raise AssertionError


def when(value: Any) -> str:
    """An instant, to the second, in UTC."""
    return f"{value:%Y-%m-%d %H:%M:%S} UTC"


def render(made: Environment, template: str, names: Mapping[str, Any]) -> str:
    return with_columns(made.get_template(template).render(names))
