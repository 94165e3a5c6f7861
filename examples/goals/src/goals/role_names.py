"""Roles as people type them: one spelling for the command line, the API and the forms."""

from __future__ import annotations

from typing import TypeVar

from goals.errors import Invalid
from goals.model import Role, TeamRole

R = TypeVar("R", Role, TeamRole)

ROLES = tuple(role.word for role in Role)
TEAM_ROLES = tuple(role.word for role in TeamRole)


def role_of(kind: type[R], word: str) -> R:
    """Role.LEAD for "lead". Invalid."""
    for role in kind:
        if role.word == word:
            return role
    raise Invalid(f"{word!r} is not a role: it is one of {', '.join(role.word for role in kind)}", "role")
