"""Templates, and what protects the pages: everything is escaped, and nothing but our own files is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from markupsafe import Markup

from examples_shared.templates import templates_in
from projects.board.npm import IMPORT_MAP, IMPORT_MAP_HASH

FOLDER = Path(__file__).parent

HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'self' '{IMPORT_MAP_HASH}'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types board-worker"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""With trusted types, a script that would make markup of a text fails where it tries to."""


def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(template).render(values), status)


def error_page(status: int, said: str, more: str = "") -> HTMLResponse:
    return render("error.html", status, code=status, said=said, more=more)


_templates = templates_in(
    FOLDER / "templates",
    filters={},
    # Ours, and hashed as it stands: an escaped one is another script, which the policy stops.
    values={"import_map": Markup(IMPORT_MAP)},  # noqa: S704
)
