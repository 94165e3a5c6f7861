"""What a command line leaves alone until a command runs: `--help` opens no database and makes no file."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from goals.cli import main as goals
from manhunt.cli import main as manhunt
from organisations.cli import main as organisations
from projects.cli import main as projects

APPLICATIONS = {"goals": goals, "manhunt": manhunt, "organisations": organisations, "projects": projects}


def paths_of(group: click.Group) -> list[tuple[str, ...]]:
    """Every command below a group."""
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        below = paths_of(command) if isinstance(command, click.Group) else []
        found += [(name,), *((name, *path) for path in below)]
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", APPLICATIONS)
def test_help_leaves_nothing_behind(name: str, folder: Path) -> None:
    main = APPLICATIONS[name]
    for path in paths_of(main):
        ran = CliRunner().invoke(main, ["--db", "local:own/here.db", *path, "--help"])
        assert (ran.exit_code, ran.output.startswith("Usage:")) == (0, True), path
    ran = CliRunner().invoke(main, ["--db", "local:own/here.db", "init", "--no-such-option"])
    assert (ran.exit_code, "No such option" in ran.output) == (2, True)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_command_opens_what_is_named(name: str, tmp_path: Path) -> None:
    ran = CliRunner().invoke(APPLICATIONS[name], ["--db", f"local:{tmp_path}/here.db", "init"])
    assert (ran.exit_code, ran.output.endswith(" is ready\n")) == (0, True), ran.output
    assert (tmp_path / "here.db").exists()
