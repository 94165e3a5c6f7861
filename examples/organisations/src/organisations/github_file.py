"""GitHub organisation files: from YAML text to an organisation as this application knows it. No database here.

    name: Kubernetes
    admins: [ada]                 # group owner
    members: [grace]              # group member
    teams:
      storage:                    # group storage: its own members and maintainers
        maintainers: [ada]
        repos: {csi: write}       # service csi, its group write: the same people
        teams: {...}              # a team inside is a group of its own

A login is one person whatever its case. Whatever is refused is named with its file and line, its team and its login.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from examples_shared.errors import Invalid
from examples_shared.textfile import Place, check_identifier, check_name, check_text, shown
from examples_shared.unknown import Unknown
from organisations.addresses import address
from organisations.groups import ADMIN, MEMBER, OWNER, Group
from organisations.model import GroupMember
from organisations.yaml_nodes import Node, Scalar, Sequence, Table, parse
from singletable import InvalidValue

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 50
MAX_TEAMS = 100_000
PERMISSIONS = ("none", "read", "triage", "write", "maintain", "admin")
"""GitHub's, of a team on a repository."""
MAX_MEMBERSHIPS = 1_000_000
"""Of people in groups: those of a team's members in a group of each of its repositories, too."""
MAX_GROUP_BYTES = 350_000
"""Of the texts of one person's groups, and of all owners: one record holds them, and has 400 KB."""


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


def read(text: str, organisation_id: str, source: str | None = None) -> OrganisationFile:
    """The organisation of a file that holds one. Invalid, as `read_all`."""
    (only, *others) = read_all(text, organisation_id, source)
    if others:
        raise Invalid(f"{source or organisation_id}: the file holds {1 + len(others)} organisations")
    return only


def read_all(
    text: str, organisation_id: str, source: str | None = None, unknown: Unknown | None = None
) -> list[OrganisationFile]:
    """The organisations of a file, which complaints call `source`: those below `orgs`, or the one that the file is.

    Invalid where it is none, where it has no owner, where a team takes a name of ours, or where a permission is none of
    GitHub's and `unknown` refuses it.
    """
    source = source or f"{organisation_id}.yaml"
    content = parse(text, source)
    unknown = unknown or Unknown()
    if not isinstance(content, Table) or "orgs" not in content.entries:
        return [_read_one(content, organisation_id, source, unknown)]
    _, orgs = content.entries["orgs"]
    if not isinstance(orgs, Table) or not orgs.entries:
        raise Place(source, orgs.line).refuses("orgs is not a mapping of organisations")
    return [_read_one(node, key.text, source, unknown) for key, node in orgs.entries.values()]


def _read_one(content: Node, organisation_id: str, source: str, unknown: Unknown) -> OrganisationFile:
    try:
        check_identifier(organisation_id)
    except ValueError as error:
        raise Invalid(f"{source}: an organisation's id is its file's name, and {error}") from error
    if not isinstance(content, Table) or not content.entries.keys() & {"admins", "members", "teams"}:
        raise Place(source, content.line).refuses(
            "not an organisation file: it has neither admins nor members nor teams"
        )
    found = _Found(source, unknown)
    name = found.name_of_organisation(content) or organisation_id
    found.put_all(content)
    people = {group: frozenset(members) for group, members in found.groups.items() if members}
    made = OrganisationFile(organisation_id, name, found.spellings, people, frozenset(found.services))
    _check_owners(made, content, source)
    _check_sizes(made, source)
    return made


def _check_owners(file: OrganisationFile, content: Table, source: str) -> None:
    if Group(OWNER) not in file.groups:
        raise Place(source, content.line_of("admins")).refuses("no admins: an organisation has an owner")
    if sum(len(owner.encode()) for owner in file.groups[Group(OWNER)]) > MAX_GROUP_BYTES:
        raise Place(source, content.line_of("admins")).refuses(
            f"the logins of its admins have more than {MAX_GROUP_BYTES} bytes together"
        )


def _check_sizes(file: OrganisationFile, source: str) -> None:
    for person, texts in file.groups_by_person().items():
        if sum(len(text.encode()) for text in texts) > MAX_GROUP_BYTES:
            login = shown(file.spellings[person])
            raise Invalid(
                f"{source}: login {login} is in {len(texts)} groups, whose names have more than {MAX_GROUP_BYTES} bytes"
            )


@dataclass
class _Found:
    """What was found so far."""

    source: str
    unknown: Unknown
    spellings: dict[str, str] = field(default_factory=dict[str, str])
    groups: dict[Group, set[str]] = field(default_factory=dict[Group, "set[str]"])
    services: set[str] = field(default_factory=set[str])
    memberships: int = 0

    def name_of_organisation(self, content: Table) -> str:
        _, node = content.entries.get("name", (None, None))
        if node is None or (isinstance(node, Scalar) and node.is_nothing):
            return ""
        text = self._text(node, "the organisation's name")
        self._check(node.line, "the organisation's name", check_name, text)
        return text

    def put_all(self, content: Table) -> None:
        """Admins and members come first, so theirs is the spelling that stays."""
        for name, group in (("admins", Group(OWNER)), ("members", Group(MEMBER))):
            self.put([group], self._logins(content, name, name), content.line_of(name))
        for count, (key, team) in enumerate(self._teams(content)):
            if count == MAX_TEAMS:
                raise self._at(key.line, f"more than {MAX_TEAMS} teams")
            self._put_team(key, team)

    def put(self, groups: list[Group], logins: Mapping[str, str], line: int) -> None:
        """People, by their logins as they are spelled, are in each of some groups."""
        self.memberships += len(groups) * len(logins)
        if self.memberships > MAX_MEMBERSHIPS:
            raise self._at(line, f"more than {MAX_MEMBERSHIPS} people in groups, each counted in each of theirs")
        longest = max(logins, key=lambda person: len(person.encode()) + 2 * person.count("%"), default="")
        if not all(_has_key(group, longest) for group in groups):
            raise self._at(line, f"a group's name and login {shown(longest)} are too long for one key together")
        for person, login in logins.items():
            self.spellings.setdefault(person, login)
        for group in groups:
            self.groups.setdefault(group, set()).update(logins)

    def _put_team(self, key: Scalar, team: Table | None) -> None:
        what = f"team {shown(key.text)}"
        self._check(key.line, what, check_identifier, key.text)
        if key.text in (OWNER, ADMIN, MEMBER):
            raise self._at(
                key.line, f"a team is called {key.text!r}, which is the group of the file's admins or members"
            )
        if team is None:
            return self.put([Group(key.text)], {}, key.line)
        logins = self._logins(team, "members", what) | self._logins(team, "maintainers", what)
        groups = [Group(key.text)]
        repositories = self._mapping(team, "repos", what)
        for repository, node in repositories.entries.values() if repositories else ():
            group = self._permission(repository, node, what)
            groups += [] if group is None else [group]
        return self.put(groups, logins, key.line)

    def _permission(self, repository: Scalar, node: Node, what: str) -> Group | None:
        place = f"repository {shown(repository.text)} of {what}"
        self._check(repository.line, place, check_identifier, repository.text)
        said = f"the permission of {place}"
        permission = self._text(node, said)
        self._check(node.line, said, check_identifier, permission)
        if permission not in PERMISSIONS:
            known = ", ".join(PERMISSIONS)
            if not self.unknown.keeps(Place(self.source, node.line), f"{said} is {shown(permission)}, none of {known}"):
                return None
        self.services.add(repository.text)
        return Group(permission, repository.text)

    def _teams(self, parent: Table, what: str = "", depth: int = 0) -> Iterator[tuple[Scalar, Table | None]]:
        """Every team at every depth, a parent before its children."""
        teams = self._mapping(parent, "teams", what)
        if teams is None:
            return
        if depth > MAX_DEPTH:
            raise self._at(teams.line, f"teams lie in each other more than {MAX_DEPTH} deep")
        for key, node in teams.entries.values():
            inner = f"team {shown(key.text)}"
            team = None if _is_nothing(node) else self._as_mapping(node, inner)
            yield key, team
            if team is not None:
                yield from self._teams(team, inner, depth + 1)

    def _logins(self, owner: Table, name: str, what: str) -> dict[str, str]:
        """By person."""
        _, node = owner.entries.get(name, (None, None))
        if node is None or _is_nothing(node):
            return {}
        if not isinstance(node, Sequence):
            raise self._at(node.line, f"{_of(name, what)} is a list of logins")
        found: dict[str, str] = {}
        for item in node.items:
            if not isinstance(item, Scalar) or item.text in ("", "~"):
                raise self._at(item.line, f"a login of {_of(name, what)} is not a text")
            self._check(item.line, f"login {shown(item.text)} of {what}", address, item.text)
            found.setdefault(address(item.text), item.text)
        return found

    def _mapping(self, owner: Table, name: str, what: str) -> Table | None:
        _, node = owner.entries.get(name, (None, None))
        return None if node is None or _is_nothing(node) else self._as_mapping(node, _of(name, what))

    def _as_mapping(self, node: Node, what: str) -> Table:
        if not isinstance(node, Table):
            raise self._at(node.line, f"{what} is not a mapping")
        return node

    def _text(self, node: Node, what: str) -> str:
        if not isinstance(node, Scalar):
            raise self._at(node.line, f"{what} is not a text")
        return node.text

    def _check(self, line: int, what: str, check: Callable[[str], object], text: str) -> None:
        """Invalid, with the place, where a check of a text raises."""
        try:
            check_text(text)
            check(text)
        except ValueError as error:
            raise self._at(line, f"{what}: {error}") from error

    def _at(self, line: int, said: str) -> Invalid:
        return Place(self.source, line).refuses(said)


def _has_key(group: Group, person: str) -> bool:
    """Whether a person's membership of a group can be stored: an escape has up to five bytes for one of a name."""
    try:
        GroupMember.of_scope("", group.scope, group.key, person)
    except InvalidValue:
        return False
    return True


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_nothing


def _of(name: str, what: str) -> str:
    """`members of team 'crew'`; `members` of the organisation itself."""
    return f"{name} of {what}" if what not in ("", name) else name
