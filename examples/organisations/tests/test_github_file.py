from __future__ import annotations

import pytest

from organisations.errors import Invalid
from organisations.github_file import MAX_DEPTH, OrganisationFile, read
from organisations.groups import Group


def read_owned(text: str) -> OrganisationFile:
    """A file that says its owner, and this."""
    return read(f"admins: [root]\n{text}", "x")


def people(file: OrganisationFile, name: str, service_id: str | None = None) -> set[str]:
    return set(file.groups.get(Group(name, service_id), ()))


def test_admins_members_and_teams() -> None:
    file = read(
        "name: Acme\nadmins: [ada]\nmembers: [bob]\nteams: {crew: {members: [bob], maintainers: [ada]}}", "acme"
    )
    assert (file.organisation_id, file.name) == ("acme", "Acme")
    assert people(file, "owner") == {"ada"}
    assert people(file, "member") == {"bob"}
    assert people(file, "crew") == {"ada", "bob"}
    assert file.group_count == 3


def test_teams_inside_teams_are_groups_of_their_own_people() -> None:
    file = read_owned("teams: {a: {members: [x], teams: {b: {members: [y], teams: {c: {maintainers: [z]}}}}}}")
    assert [people(file, name) for name in "abc"] == [{"x"}, {"y"}, {"z"}]
    assert file.name == "x"


def test_repositories_are_services_with_a_group_a_permission() -> None:
    file = read_owned(
        "teams: {a: {members: [x], repos: {api: write, web: read}}, b: {maintainers: [y], repos: {api: write}}, "
        "c: {repos: {empty: admin}}}"
    )
    assert file.services == {"api", "web", "empty"}
    assert people(file, "write", "api") == {"x", "y"}
    assert people(file, "read", "web") == {"x"}
    assert Group("admin", "empty") not in file.groups
    assert Group("c") not in file.groups
    assert file.group_count == 3


def test_a_login_is_one_person_whatever_its_case() -> None:
    file = read("admins: [ada]\nmembers: [GraceH]\nteams: {a: {members: [ADA, graceh, Zoe]}, b: {members: [zoe]}}", "x")
    assert dict(file.spellings) == {"ada": "ada", "graceh": "GraceH", "zoe": "Zoe"}
    assert people(file, "a") == {"ada", "graceh", "zoe"}


def test_the_spelling_is_that_of_members_wherever_they_stand_in_the_file() -> None:
    file = read_owned("teams: {a: {members: [ADA]}}\nmembers: [Ada]")
    assert dict(file.spellings) == {"root": "root", "ada": "Ada"}


@pytest.mark.parametrize("login", ["08volt", "0123", "1e5", "no", "on", "null", "1_000", "2026-01-01", "12:30", "~x"])
def test_a_login_that_looks_like_something_else_is_a_login(login: str) -> None:
    assert dict(read_owned(f"members: [{login}]").spellings) == {"root": "root", login: login}


@pytest.mark.parametrize("name", ["ci/cd", "a b", "ünïcode", "100%", "organisationGroup/x", "%2F", "\u00e9"])
def test_a_team_may_have_an_odd_name(name: str) -> None:
    assert people(read_owned(f"teams: {{'{name}': {{members: [x]}}}}"), name) == {"x"}


@pytest.mark.parametrize("nothing", ["", "~", "null", "[]", "{}"])
def test_parts_may_be_empty(nothing: str) -> None:
    lists = nothing if nothing != "{}" else "[]"
    maps = nothing if nothing != "[]" else "{}"
    file = read(f"admins: [ada]\nmembers: {lists}\nteams: {{a: {{members: {lists}, repos: {maps}}}, b: {maps}}}", "x")
    assert list(file.groups) == [Group("owner")]


@pytest.mark.parametrize("name", ["owner", "member"])
def test_a_team_does_not_make_owners(name: str) -> None:
    with pytest.raises(Invalid, match=f"called '{name}'"):
        read(f"admins: [ada]\nteams: {{{name}: {{members: [eve]}}}}", "x")
    assert people(read_owned(f"teams: {{{name}s: {{members: [x]}}}}"), f"{name}s") == {"x"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just text",
        "- a\n- list",
        "name: Acme",
        "admins: ada",
        "admins: {ada: x}",
        "admins: [[ada]]",
        "admins: ['a b']",
        "teams: [a]",
        "teams: {a: [x]}",
        "teams: {a: {repos: [api]}}",
        "teams: {a: {repos: {api: [write]}}}",
        "teams: {a: {repos: {api: ''}}}",
        "teams: {'': {members: [x]}}",
        "admins: [ada",
        "admins: !!python/object/apply:os.getcwd []",
        "a: &a {teams: *a}\nteams: {x: *a}",
        "admins: [" + "x" * 300 + "]",
    ],
)
def test_what_is_no_organisation_file_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read(text, "x")


def test_endless_teams_are_refused() -> None:
    with pytest.raises(Invalid, match="contain itself"):
        read("teams: &t {a: {teams: *t}}", "x")
    deep = "".join(f"{' ' * 2 * n}teams:\n{' ' * (2 * n + 1)}t{n}:\n" for n in range(MAX_DEPTH + 2))
    with pytest.raises(Invalid, match="deep"):
        read_owned(deep)


def test_teams_multiplied_by_aliases_are_refused() -> None:
    layers = "\n".join(f"l{n}: &l{n} {{teams: {{a: *l{n - 1}, b: *l{n - 1}}}}}" for n in range(1, 40))
    with pytest.raises(Invalid, match=r"x\.yaml:\d+: aliases stand for more than"):
        read(f"l0: &l0 {{members: [x]}}\n{layers}\nteams: {{top: *l39}}", "x")


def test_a_list_multiplied_by_aliases_is_refused_at_once() -> None:
    members = ",".join(f"u{n}" for n in range(20_000))
    text = f"admins: [a]\nmembers: &m [{members}]\nteams:\n" + "".join(f"  t{n}: {{members: *m}}\n" for n in range(400))
    with pytest.raises(Invalid, match=r"x\.yaml:8: aliases stand for more than"):
        read(text, "x")


def test_people_multiplied_by_repositories_are_refused() -> None:
    members, repositories = ",".join(f"u{n}" for n in range(5000)), ",".join(f"r{n}: read" for n in range(5000))
    with pytest.raises(Invalid, match="more than 1000000 people in groups"):
        read_owned(f"teams: {{t: {{members: [{members}], repos: {{{repositories}}}}}}}")


def test_an_alias_is_what_it_names() -> None:
    file = read("admins: &a [ada, Grace]\nmembers: *a\nteams: {t: &t {members: *a}, u: *t}", "x")
    assert [people(file, name) for name in ("owner", "member", "t", "u")] == [{"ada", "grace"}] * 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("admins: [ada]\nmembers: []\nadmins: [eve]", "x.yaml:3: the key 'admins' stands twice; first in line 1"),
        ("admins: [ada]\nteams:\n  t: {}\n  t: {}", "x.yaml:4: the key 't' stands twice; first in line 3"),
        ("admins: [a]\nteams: {t: {repos: {r: read,\n r: admin}}}", "x.yaml:3: the key 'r' stands twice"),
        ("a: &a {admins: [ada]}\n<<: *a\nteams: {}", "x.yaml:2: mappings are not merged here"),
        ("members: [ada]\nteams: {}", "x.yaml:1: no admins: an organisation has an owner"),
        ("members: [ada]\nadmins: []", "x.yaml:2: no admins"),
        (
            "admins: [ada]\nteams:\n  crew:\n    members:\n    - grace\n    - 'a b'",
            "x.yaml:6: login 'a b' of team 'crew'",
        ),
        ("admins: [ada]\nmembers: [[x]]", "x.yaml:2: a login of members is not a text"),
        ("admins: [ada]\nteams: {t: {members: x}}", "x.yaml:2: members of team 't' is a list of logins"),
        ("admins: [ada]\nteams: {t: {repos: {'e\u0301': read}}}", "x.yaml:2: repository 'e\u0301' of team 't'"),
        ("admins: [ada]\nteams: {t: {repos: {r: }}}", "x.yaml:2: the permission of repository 'r' of team 't'"),
    ],
)
def test_a_complaint_names_line_team_and_login(text: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text, "x")
    assert str(refused.value).startswith(said)
