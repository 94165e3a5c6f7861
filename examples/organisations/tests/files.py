"""What a GitHub organisation file says, read again from scratch: nothing here is the application's."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "organisations"
FILES = sorted(FOLDER.glob("*.yaml"))

Groups = dict[str, set[str]]


@dataclass
class Expected:
    """Groups and services with their people, every login in lower case."""

    groups: Groups = field(default_factory=lambda: defaultdict(set))
    services: dict[str, Groups] = field(default_factory=dict)

    @property
    def people(self) -> set[str]:
        return set().union(*self.groups.values())


def expected(path: Path) -> Expected:
    content = yaml.safe_load(path.read_text())
    found = Expected()
    for title, group in (("admins", "owner"), ("members", "member")):
        for login in content.get(title) or ():
            found.groups[group].add(login.lower())
    open_teams: list[dict[str, Any]] = [content.get("teams") or {}]
    while open_teams:
        for name, team in open_teams.pop().items():
            people = {login.lower() for key in ("members", "maintainers") for login in team.get(key) or ()}
            if people:
                found.groups[name] |= people
            for repository, permission in (team.get("repos") or {}).items():
                service = found.services.setdefault(repository, defaultdict(set))
                if people:
                    service[permission] |= people
            open_teams.append(team.get("teams") or {})
    return found


def lower(groups: dict[str, list[str]]) -> Groups:
    """Groups as the application tells them, case-blind; each person once."""
    found = {name: {login.lower() for login in people} for name, people in groups.items()}
    assert all(len(found[name]) == len(people) for name, people in groups.items())
    return found
