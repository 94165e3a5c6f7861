"""Templates, and what protects the pages: everything is escaped, and nothing but our own files is loaded or run."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse

from examples_shared.forms import page_headers
from examples_shared.templates import templates_in
from manhunt.input_formats import length
from manhunt.messages import text_of
from manhunt.model import Search
from manhunt.times import clock, day, duration, iso

HEADERS = page_headers(scripts=True)


def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(template).render(values), status)


def path_to(folder: str, id: str, **asked: str | None) -> str:
    """The path of a page; an id's slashes are escaped."""
    return f"/{folder}/{quote(id, safe='')}{query(**asked)}"


def query(**asked: str | None) -> str:
    """What follows a path, of the values that are there."""
    said = {name: value for name, value in asked.items() if value}
    return f"?{urlencode(said)}" if said else ""


def text(search: Search) -> str:
    """What a search says to the people it looks for."""
    return text_of(search.message, search.metadata)


_templates = templates_in(
    Path(__file__).parent / "templates",
    filters={"duration": duration, "clock": clock, "day": day, "iso": iso, "length_of": length, "text": text},
    values={"path_to": path_to, "query": query},
)
