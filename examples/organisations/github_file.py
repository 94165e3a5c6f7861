"""GitHub organisation files: from YAML text to an organisation as this application knows it. No database here.

    name: Kubernetes
    admins: [ada]                 # group owner
    members: [grace]              # group member
    teams:
      storage:                    # group storage: its own members and maintainers
        maintainers: [ada]
        repos: {csi: write}       # service csi, its group write: the same people
        teams: {...}              # a team inside is a group of its own

A login is one person whatever its case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import yaml

from examples.organisations.addresses import address
from examples.organisations.errors import Invalid
from examples.organisations.groups import MEMBER, OWNER, Group

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 50
MAX_TEAMS = 100_000
_NOTHING = ("", "~", "null")


@dataclass(frozen=True)
class OrganisationFile:
    """What a file says. People are keyed by login in lower case."""

    organisation_id: str
    name: str
    spellings: Mapping[str, str]
    """Person to their login as it is shown."""
    groups: Mapping[Group, frozenset[str]]
    """Group to people; a group without people does not exist."""
    services: frozenset[str]

    @property
    def group_count(self) -> int:
        """The organisation's own groups, without those of its services."""
        return sum(group.service_id is None for group in self.groups)

    def groups_by_person(self) -> dict[str, set[str]]:
        """Everybody, with the texts of the groups they are in."""
        found = {person: set[str]() for person in self.spellings}
        for group, people in self.groups.items():
            for person in people:
                found[person].add(group.text)
        return found


def read(text: str, organisation_id: str) -> OrganisationFile:
    """The organisation of a file. Invalid where it is none, or where a team takes a name of ours."""
    if len(text.encode()) > MAX_BYTES:
        raise Invalid(f"an organisation file has at most {MAX_BYTES} bytes")
    try:
        content: Any = yaml.load(text, _TextLoader)  # noqa: S506 a safe loader, of text alone
    except (yaml.YAMLError, RecursionError) as error:
        raise Invalid(f"not an organisation file: {error}") from error
    organisation = _mapping(content, "the file")
    if not organisation.keys() & {"admins", "members", "teams"}:
        raise Invalid("not an organisation file: it has neither admins nor members nor teams")
    found = _Found()
    found.put(Group(OWNER), _logins(organisation, "admins"))
    found.put(Group(MEMBER), _logins(organisation, "members"))
    for count, (team_name, team) in enumerate(_teams(organisation)):
        if count == MAX_TEAMS:  # a few aliases inside each other make any number
            raise Invalid(f"more than {MAX_TEAMS} teams")
        found.put_team(team_name, team)
    people = {group: frozenset(members) for group, members in found.groups.items() if members}
    name = _text(organisation.get("name")) or organisation_id
    return OrganisationFile(organisation_id, name, found.spellings, people, frozenset(found.services))


class _TextLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the C one where there is one
    """Every scalar stays the text it is: the logins 08, no and 1e5 are no numbers and no booleans."""

    yaml_implicit_resolvers: Mapping[str, Any] = {}


@dataclass
class _Found:
    """What was found so far."""

    spellings: dict[str, str] = field(default_factory=dict[str, str])
    groups: dict[Group, set[str]] = field(default_factory=dict[Group, "set[str]"])
    services: set[str] = field(default_factory=set[str])

    def put(self, group: Group, logins: list[str]) -> None:
        """Admins and members come first, so theirs is the spelling that stays."""
        people = self.groups.setdefault(group, set())
        for login in logins:
            person = address(login)
            self.spellings.setdefault(person, login)
            people.add(person)

    def put_team(self, name: str, team: Mapping[str, Any]) -> None:
        if name in (OWNER, MEMBER):
            raise Invalid(f"a team is called {name!r}, which is the group of the file's admins or members")
        logins = [*_logins(team, "members"), *_logins(team, "maintainers")]
        self.put(Group(name), logins)
        for repository, permission in _mapping(team.get("repos"), f"repos of team {name!r}").items():
            self.services.add(repository)
            self.put(Group(_text(permission), repository), logins)


def _teams(parent: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every team at every depth, a parent before its children."""
    if depth > MAX_DEPTH:
        raise Invalid(f"teams lie in each other more than {MAX_DEPTH} deep")
    for name, value in _mapping(parent.get("teams"), "teams").items():
        team = _mapping(value, f"team {name!r}")
        yield name, team
        yield from _teams(team, depth + 1)


def _logins(owner: Mapping[str, Any], name: str) -> list[str]:
    values: Any = owner.get(name, [])
    if values in _NOTHING:
        return []
    if not isinstance(values, list):
        raise Invalid(f"{name} is a list of logins")
    return [_login(value) for value in cast("list[object]", values)]


def _login(value: object) -> str:
    if not isinstance(value, str):
        raise Invalid("a login is text")
    return value


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if value is None or value in _NOTHING:
        return {}
    if not isinstance(value, dict):
        raise Invalid(f"{what} is not a mapping")
    return {_text(name): inner for name, inner in cast("dict[object, Any]", value).items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid("a name is text")
    return value
