"""make audit: red for a known vulnerability, and for a tool that fails; never for want of a service to ask.

The tools are the real ones; the services are on loopback, or are not there.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from requirements import audit
from requirements.audit import Ran, Verdict, accepted, ask_npm, ask_pip, judge_npm, judge_pip, tell
from tests.requirements.services import NPM_ENTRY, OSV_ENTRY, advisories

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-tools" / "bin" / "python"
PINNED = "six==1.17.0 --hash=sha256:" + "0" * 64 + "\nmsgspec==0.22.0 --hash=sha256:" + "0" * 64 + "\n"
LOCK = {
    "name": "a",
    "lockfileVersion": 3,
    "requires": True,
    "packages": {
        "": {"name": "a", "dependencies": {"left": "1.0.0"}},
        "node_modules/left": {"version": "1.0.0", "integrity": "sha512-" + "A" * 86 + "=="},
    },
}
NONE: frozenset[str] = frozenset()


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "pins.txt"
    path.write_text(PINNED)
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "package.json").write_text(json.dumps({"name": "a", "dependencies": {"left": "1.0.0"}}))
    (tmp_path / "package-lock.json").write_text(json.dumps(LOCK))
    return tmp_path


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


class Tools:
    """Runs a tool for real, in a folder, with the environment that is given."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder, self.environ, self.commands = folder, environ, list[Sequence[str]]()

    def __call__(self, command: Sequence[str]) -> Ran:
        self.commands.append(command)
        program = str(TOOLS) if command[0] == sys.executable else command[0]
        environ = {**os.environ, **self.environ}
        done = subprocess.run(
            [program, *command[1:]], capture_output=True, text=True, cwd=self.folder, env=environ, timeout=90
        )
        return Ran(done.returncode, done.stdout, done.stderr)


def pip(listed: Path, url: str, **environ: str) -> tuple[Verdict, Tools]:
    """What pip-audit says, with the first service out of reach and the second at an address."""
    if not TOOLS.exists():
        pytest.fail("the tools are not installed: make setup")
    tools = Tools(listed.parent, HTTPS_PROXY=closed_port(), NO_PROXY="127.0.0.1", **environ)
    return ask_pip(listed, tools, ["--osv-url", f"{url}/osv", "--cache-dir", str(listed.parent / "cache")]), tools


def npm(package: Path, url: str) -> Verdict:
    return ask_npm(Tools(package), ["--registry", url])


# --- Python -----------------------------------------------------------------------------------------------------------
def test_a_known_vulnerability_of_a_python_package_is_red(listed: Path) -> None:
    with advisories(six=OSV_ENTRY) as service:
        verdict, _ = pip(listed, service.url)
    lines, code = tell("pins.txt", verdict, NONE)
    assert code == 1
    assert lines == ["pins.txt: VULNERABLE: six 1.17.0 CVE-2000-0001 GHSA-0000-made-upon (fixed in 99.0)"]
    lines, code = tell("pins.txt", verdict, accepted("# ours\nCVE-2000-0001  it is not called here\n"))
    assert code == 0
    assert lines[0].startswith("pins.txt: accepted: six")


def test_none_known_is_green_and_says_how_many_were_asked(listed: Path) -> None:
    with advisories() as service:
        verdict, tools = pip(listed, service.url)
        assert len(service.asked) == 2
    assert tell("pins.txt", verdict, NONE) == (
        ["pins.txt: 2 packages, no known vulnerability that is not accepted"],
        0,
    )
    assert [command[command.index("--vulnerability-service") + 1] for command in tools.commands] == ["pypi", "osv"]


def test_no_network_is_reported_and_no_failure(listed: Path) -> None:
    verdict, _ = pip(listed, closed_port())
    lines, code = tell("pins.txt", verdict, NONE)
    assert code == 0
    assert lines[0].startswith("pins.txt: NOT ASKED")


@pytest.mark.parametrize("status", [pytest.param(404, marks=pytest.mark.soak), 503])
def test_a_service_that_refuses_is_not_asked(listed: Path, status: int) -> None:
    with advisories(status) as service:
        verdict, _ = pip(listed, service.url)
    assert verdict.not_asked
    assert tell("pins.txt", verdict, NONE)[1] == 0


def test_a_list_that_the_tool_does_not_take_is_red(listed: Path) -> None:
    listed.write_text("six==1.17.0\n")
    with advisories() as service:
        verdict, _ = pip(listed, service.url)
    assert verdict.broken
    assert tell("pins.txt", verdict, NONE)[1] == 2


def test_a_service_that_knows_no_package_at_all_was_not_asked() -> None:
    """As a mirror answers that has packages and no advisories: pip-audit ends with 0 then."""
    skipped = [{"name": n, "skip_reason": "Dependency not found on PyPI and could not be audited"} for n in "ab"]
    verdict = judge_pip(Ran(0, json.dumps({"dependencies": skipped, "fixes": []})))
    assert verdict.not_asked == "the service knows none of 2 packages"
    one = [*skipped[:1], {"name": "c", "version": "1", "vulns": []}]
    verdict = judge_pip(Ran(0, json.dumps({"dependencies": one, "fixes": []})))
    assert (verdict.asked, verdict.unknown, verdict.not_asked) == (1, ("a",), "")


# --- npm --------------------------------------------------------------------------------------------------------------
def test_a_known_vulnerability_of_an_npm_package_is_red(package: Path) -> None:
    with advisories(left=NPM_ENTRY) as service:
        verdict = npm(package, service.url)
    lines, code = tell("package-lock.json", verdict, NONE)
    assert code == 1
    assert lines == ["package-lock.json: VULNERABLE: left <99.0.0 GHSA-0000-made-upon (a made up one)"]


def test_none_known_of_npm_is_green(package: Path) -> None:
    with advisories() as service:
        verdict = npm(package, service.url)
    assert (verdict.asked, verdict.found, verdict.not_asked, verdict.broken) == (1, (), "", "")


@pytest.mark.parametrize("status", [404, 405, 503])
def test_a_registry_without_advisories_is_not_asked(package: Path, status: int) -> None:
    with advisories(status) as service:
        verdict = npm(package, service.url)
    assert verdict.not_asked
    assert tell("package-lock.json", verdict, NONE)[1] == 0


def test_npm_without_a_network_is_no_failure(package: Path) -> None:
    verdict = npm(package, closed_port())
    assert verdict.not_asked
    assert tell("package-lock.json", verdict, NONE)[1] == 0


def test_npm_without_its_lock_is_red(package: Path) -> None:
    (package / "package-lock.json").unlink()
    with advisories() as service:
        verdict = npm(package, service.url)
    assert verdict.broken
    assert tell("package-lock.json", verdict, NONE)[1] == 2


def test_what_is_no_answer_is_red() -> None:
    assert judge_npm(Ran(127, "", "npm: command not found")).broken == "npm: command not found"
    assert judge_pip(Ran(1, "", "No module named pip_audit")).broken == "No module named pip_audit"


# --- together ---------------------------------------------------------------------------------------------------------
def test_one_that_is_red_is_red_whatever_the_others_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And each list that there is is asked for."""
    asked: list[str] = []

    def pip_says(path: Path, run: Any) -> Verdict:
        asked.append(path.name)
        if path.name == "emulators.txt":
            return Verdict(3, found=(audit.Vulnerability("six 1", ("X-1",)),))
        return Verdict(not_asked="no network")

    monkeypatch.setattr(audit, "ask_pip", pip_says)
    monkeypatch.setattr(audit, "ask_npm", lambda run, more: Verdict(8))
    assert audit.main() == 1
    assert sorted(asked) == sorted(
        path.name for path in (ROOT / "requirements").glob("*.txt") if "==" in path.read_text()
    )
    told = capsys.readouterr().out
    assert told.count("NOT ASKED") == len(asked) - 1
    assert "requirements/emulators.txt: VULNERABLE: six 1 X-1" in told
    locks = {f"{path.relative_to(ROOT)}: 8 packages" for path in ROOT.glob("tests/**/package-lock.json")}
    assert all(each in told for each in (*locks, "\npackage-lock.json: 8 packages"))
    assert locks
