"""Templates, and what protects the pages: everything is escaped, and nothing but our own files is loaded or run."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from examples.manhunt.input_formats import length
from examples.manhunt.messages import text_of
from examples.manhunt.model import Search
from examples.manhunt.times import clock, day, duration, iso

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(template).render(values), status)


def path_to(folder: str, id: str, **asked: str | None) -> str:
    """The path of a page; an id's slashes are escaped."""
    said = {name: value for name, value in asked.items() if value is not None}
    return f"/{folder}/{quote(id, safe='')}{'?' + urlencode(said) if said else ''}"


def text(search: Search) -> str:
    """What a search says to the people it looks for."""
    return text_of(search.message, search.metadata)


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Type checkers see in them the types of Jinja's own helpers alone.
    helpers: Any = made.globals
    filters: Any = made.filters
    helpers.update(path_to=path_to)
    filters.update(duration=duration, clock=clock, day=day, iso=iso, length_of=length, text=text)
    return made


_templates = _environment()
