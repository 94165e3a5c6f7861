"""Templates: everything is escaped, and nothing but our own files is loaded."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse

from examples_shared.forms import page_headers
from examples_shared.templates import templates_in
from organisations.groups import Group, group_at, parse
from organisations.model import GroupMember
from organisations.output import said

HEADERS = page_headers()


def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(template).render({"took": None, **values}), status, HEADERS)


def path_to(organisation_id: str, page: str = "", **asked: str | None) -> str:
    """The path of a page of an organisation."""
    given = {name: value for name, value in asked.items() if value}
    below = f"/{page}" if page else ""
    return f"/o/{quote(organisation_id, safe='')}{below}{'?' + urlencode(given) if given else ''}"


def day(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"


def group_text(text: str) -> str:
    """A stored group in words."""
    return said(parse(text))


def group_of(member: GroupMember) -> Group:
    return group_at(member.scope, member.group)


_templates = templates_in(
    Path(__file__).parent / "templates",
    filters={"day": day, "minute": minute, "said": said, "group_text": group_text, "group_of": group_of},
    values={"path_to": path_to},
)
