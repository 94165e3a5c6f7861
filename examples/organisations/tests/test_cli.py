"""The command line in processes of its own, over one data file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from examples.organisations.tests.files import FILES, expected, lower
from examples_shared.testing.commandline import CommandLine, Inside
from examples_shared.testing.databases import fresh
from examples_shared.testing.serving import serving
from organisations import organisations

SMALL = "name: Small\nadmins: [Ada]\nmembers: [grace]\nteams: {ci/cd: {members: [GRACE], repos: {api: write}}}\n"
COST = {"requests", "round_trips", "read_units", "write_units"}


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    return CommandLine("organisations", f"local:{tmp_path}/data.db")


@pytest.fixture
def inside(run: CommandLine, tmp_path: Path) -> Iterator[Inside]:
    """The commands in this process, on a small organisation."""
    with run.inside() as inside:
        (tmp_path / "small.yaml").write_text(SMALL)
        inside("import", str(tmp_path / "small.yaml"))
        yield inside


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """The commands in processes of their own, on a small organisation; for tests that change nothing."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "small.yaml").write_text(SMALL)
    run = CommandLine("organisations", f"local:{folder}/data.db")
    run("import", str(folder / "small.yaml"))
    return run


@pytest.fixture(scope="module")
def kept(process: CommandLine) -> Iterator[Inside]:
    """The same, in this process."""
    with process.inside() as inside:
        yield inside


@pytest.mark.parametrize(
    "arguments",
    [["show", "small", "--json"], ["show", "small"], ["may", "small", "ada", "api", "write"], ["user", "nobody"]],
)
def test_a_command_is_the_same_in_a_process_of_its_own(
    process: CommandLine, kept: Inside, arguments: list[str]
) -> None:
    assert process(*arguments, check=False) == kept(*arguments, check=False)


def test_import_show_and_user(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    imported = run("import", str(tmp_path / "small.yaml"))
    assert re.fullmatch(r"imported 2 people, 3 groups, 1 services in \d+\.\d+ s", imported.last_line)
    assert "12/12" in imported.err
    shown = run("show", "small", "--json").json
    assert shown == {
        "groups": {"ci/cd": ["grace"], "member": ["grace"], "owner": ["Ada"]},
        "services": {"api": {"groups": {"write": ["grace"]}}},
        "cost": {"requests": 1, "round_trips": 1, "read_units": 1.0, "write_units": 0.0},
    }
    user = run("user", "GRACE", "--json").json
    assert user == {"organisations": ["small"], "invitations": [], "cost": shown["cost"]}


def test_every_action(inside: Inside) -> None:
    inside("register", "New@example.org", "--first-name", "Neu")
    assert inside("get-user", "new@example.org").json["email"] == "New@example.org"
    org = inside("create", "Acme", "--owner", "new@example.org").last_line
    inside("put-service", org, "radio", "Radio")
    inside("invite", org, "Grace", "--group", "crew", "--service-group", "radio", "pilots")
    inside("invite", org, "ada")
    assert inside("user", "grace", "--json").json["invitations"] == [org]
    assert inside("show", org, "--json").json["groups"] == {"owner": ["New@example.org"]}
    inside("accept", org, "grace")
    inside("decline", org, "ada")
    assert inside("user", "ada", "--json").json["invitations"] == []
    inside("add", org, "grace", "--group", "deck", "--group", "owner")
    inside("remove", org, "grace", "--group", "crew")
    shown = inside("show", org, "--json").json
    assert shown["groups"] == {"deck": ["grace"], "owner": ["New@example.org", "grace"]}
    assert shown["services"] == {"radio": {"groups": {"pilots": ["grace"]}}}
    assert inside("message", org, "--group", "deck").out == "grace\n"
    inside("rename", org, "Newer")
    assert inside("get", org).json["name"] == "Newer"
    inside("delete-service", org, "radio")
    inside("remove-user", org, "new@example.org")
    assert inside("show", org, "--refresh", "--json").json["groups"] == {"deck": ["grace"], "owner": ["grace"]}
    assert inside("user", "new@example.org", "--refresh", "--json").json["organisations"] == []


def test_permissions_are_asked_by_exit_status(kept: Inside) -> None:
    yes = kept("may", "small", "GRACE", "api", "write")
    assert (yes.code, yes.out) == (0, "yes\n")
    no = kept("may", "small", "ada", "api", "write", check=False)
    assert (no.code, no.out) == (1, "no\n")
    said = kept("may", "small", "grace", "api", "--explain", "--json").json
    assert [(g["service"], g["group"], g["given_by"]) for g in said["grants"]] == [("api", "write", None)]
    own = kept("may", "small", "ada", "-", "owner", "--json").json
    assert (own["may"], own["cost"]["requests"], own["cost"]["read_units"]) == (True, 1, 1.0)
    who = kept("who-may", "small", "-", "ci/cd", "--json").json
    assert [one["email"] for one in who["people"]] == ["grace"]
    (reached,) = kept("reach", "grace", "--json").json["organisations"]
    assert reached == {"organisation": "small", "groups": ["ci/cd", "member"], "services": {"api": ["write"]}}


def test_an_organisation_is_left_withdrawn_from_and_deleted(inside: Inside) -> None:
    inside("register", "new@example.org")
    inside("invite", "small", "new@example.org", "--group", "crew")
    assert [one["email"] for one in inside("invitations", "small", "--json").json["invitations"]] == ["new@example.org"]
    assert "mail to new@example.org" in inside("work", "--once").err
    inside("withdraw", "small", "new@example.org")
    inside("leave", "small", "grace")
    inside("work", "--once")
    told = [(one["what"], one["whom"]) for one in inside("trail", "small", "--json").json["entries"]]
    assert ("withdrew the invitation", "new@example.org") in told
    assert ("left", "grace") in told
    job = inside("delete", "small").last_line
    assert inside("get", "small", check=False).code == 1
    inside("work", "--once")
    assert inside("job", job).json["is_done"] is True


def test_a_name_follows_later(inside: Inside) -> None:
    inside("rename", "small", "Later", "--later")
    assert "Later" not in inside("user", "ada").out
    inside("work", "--once")
    assert "Later" in inside("user", "ada").out


def test_tables_for_people(kept: Inside) -> None:
    shown = kept("show", "small")
    assert "ci/cd" in shown.out
    assert "write" in shown.out
    assert "1 requests" in shown.err
    assert "Small" in kept("user", "ada").out


def test_names_do_not_move_the_terminal(inside: Inside) -> None:
    run = inside
    run("register", "ada@example.org")
    org = run("create", "Evil\x1b[2J\x07name", "--owner", "ada@example.org").last_line
    refused = run("add", org, "ada@example.org", "--group", "x\x1b]0;y\x07", check=False)
    assert (refused.code, "control character" in refused.err) == (1, True)
    for command in (["show", org], ["show", org, "--json"], ["user", "ada@example.org"], ["get", org]):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", run(*command).out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "nowhere"], "no organisation 'nowhere'"),
        (["user", "nobody"], "no user 'nobody'"),
        (["accept", "small", "grace"], "a member of organisation 'small' already"),
        (["remove-user", "small", "ada"], "last owner"),
        (["add", "small", "grace"], "at least one group"),
        (["import", "pyproject.toml"], "pyproject.toml:"),
        (["serve", "--host", "0.0.0.0", "--insecure-user", "ada"], "this machine alone"),
        (["serve"], "--secret"),
        (["token", "ada", "--secret", "short"], "32 characters"),
    ],
)
def test_refusals_are_a_line_and_a_status(kept: Inside, arguments: list[str], said: str) -> None:
    ran = kept(*arguments, check=False)
    assert ran.code != 0
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_the_walkthrough_is_shown(run: CommandLine) -> None:
    assert "create an organisation" in run("walkthrough").out


def test_at_an_address_the_table_is_made_when_it_is_asked_for() -> None:
    with fresh() as engine:
        run = CommandLine("organisations", engine.target.endpoint.url)
        assert run("get-user", "ada", check=False).code == 1
        assert engine.describe_table(organisations) is None
        assert "table organisations is ready" in run("init").out
        run("register", "ada")
        assert run("get-user", "ada").json["email"] == "ada"


def test_the_api_is_served(inside: Inside, tmp_path: Path) -> None:
    secret = "a secret of the tests, long enough to sign"
    headers = {"Authorization": f"Bearer {inside('token', 'grace', '--secret', secret).last_line}"}
    with serving("organisations", inside.target, tmp_path / "log", "serve", "--secret", secret) as served:
        url = f"{served}/organisations/small"
        assert httpx.get(f"{url}/details", headers=headers).json()["groups"]["owner"] == ["Ada"]
        assert httpx.get(url).status_code == 401


@pytest.mark.parametrize("path", FILES or [None], ids=lambda p: p.stem if p else "none")
def test_real_files(tmp_path: Path, path: Path | None) -> None:
    if path is None:
        pytest.skip("the folder of real organisation files is not here")
    with CommandLine("organisations", f"local:{tmp_path}/data.db").inside() as run:
        import_and_look(run, path)


def import_and_look(run: Inside, path: Path) -> None:
    want = expected(path)
    last = run("import", str(path)).last_line
    said = re.fullmatch(r"imported (\d+) people, (\d+) groups, (\d+) services in (\d+\.\d+) s", last)
    assert said is not None
    assert tuple(map(int, said.groups()[:3])) == (len(want.people), len(want.groups), len(want.services))
    assert float(said[4]) < 60
    shown = run("show", path.stem, "--json").json
    assert lower(shown["groups"]) == want.groups
    assert {id: lower(service["groups"]) for id, service in shown["services"].items()} == want.services
    assert shown["cost"].keys() == COST
    assert shown["cost"]["requests"] == 1
    everybody = [shown["groups"], *(service["groups"] for service in shown["services"].values())]
    assert all(people == sorted(people) for groups in everybody for people in groups.values())
    somebody = min(want.people).upper()
    assert run("user", somebody, "--json").json["organisations"] == [path.stem]


def test_who_gave_a_group_has_one_name_everywhere(inside: Inside) -> None:
    """The operator gave it, by an import or on the command line: the report says what `may --explain` and pages say."""
    inside("put-service", "small", "web", "Web")
    inside("add", "small", "grace", "--service-group", "web", "read")
    rows = inside("report", "service_access", "--json").json
    assert {(row["service"], row["group"]): row["given_by"] for row in rows} == {
        ("api", "write"): "the operator",
        ("Web", "read"): "the operator",
    }
    for service in ("api", "web"):
        assert "the operator" in inside("may", "small", "grace", service, "--explain").out
