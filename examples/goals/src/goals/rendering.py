"""Templates, and what protects the pages: everything is escaped, and nothing but our own files is loaded."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse

from examples_shared.templates import templates_in
from goals.model import Goal, Organisation, Team, User
from goals.role_names import TEAM_ROLES

COLOURS = 8

_FOLDERS: dict[type[object], str] = {User: "users", Team: "teams", Organisation: "organisations", Goal: "goals"}


def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(template).render(values), status)


def link_to(node: User | Team | Organisation | Goal, **asked: str | None) -> str:
    """The path of a node's page."""
    return f"/{_FOLDERS[type(node)]}/{quoted(node.id)}{query(**asked)}"


def user_path(id: str) -> str:
    return path("users", id)


def path(first: str, id: str) -> str:
    """A path of two parts: a page's, or where a form goes."""
    return f"/{first}/{quoted(id)}"


def kind_of(node: User | Team | Organisation) -> str:
    """As forms and JSON have it: user."""
    return type(node).__name__.lower()


def quoted(id: str) -> str:
    """An id as a part of a path, its slashes too."""
    return quote(id, safe="")


def query(**asked: str | None) -> str:
    """What follows the path, of the values that are there."""
    said = {name: value for name, value in asked.items() if value is not None}
    return f"?{urlencode(said)}" if said else ""


def initials(name: str) -> str:
    """Two letters for a name: AL for Ada Lovelace, GR for grace."""
    words: Sequence[str] = re.findall(r"[^\W_]+", name)
    if not words:
        return "?"
    letters = words[0][:2] if len(words) == 1 else words[0][0] + words[-1][0]
    return letters.upper()


def colour(id: str) -> int:
    """The same for an id wherever it is shown."""
    return zlib.crc32(id.encode()) % COLOURS


_templates = templates_in(
    Path(__file__).parent / "templates",
    filters={"initials": initials, "colour": colour},
    values={
        "link_to": link_to,
        "query": query,
        "path": path,
        "user_path": user_path,
        "kind_of": kind_of,
        "team_roles": TEAM_ROLES,
    },
)
