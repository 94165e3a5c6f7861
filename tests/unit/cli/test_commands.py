"""The list of the program's commands, which imports none of them."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from singletable import connect
from singletable.cli import output
from singletable.cli.app import COMMANDS, app
from singletable.cli.plan import show
from singletable.cli.session import rate_of
from singletable.cli.stats import ASKED_ABOVE, confirm_cost
from singletable.extensions import ExtensionGroup
from singletable.migrations import Estimate, Plan
from singletable.migrations.step_kinds.index_steps import DropIndex
from tests.support.distributions import distribution

_BROKEN = "the entry point audit = 'nowhere:audit' of shop-audit 0.3 (singletable.commands) can't be loaded"


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution with a command whose module is missing."""
    monkeypatch.syspath_prepend(tmp_path)
    distribution(tmp_path, "shop-audit", "0.3", {COMMANDS.name: {"audit": "nowhere:audit"}})
    return tmp_path


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "300"}, terminal_width=300)


def test_the_list_says_what_each_command_says() -> None:
    listed = [line.split(maxsplit=1) for line in ran("--help").output.splitlines()]
    for name, entry in COMMANDS.entries().items():
        assert [name, COMMANDS.load(entry).get_short_help_str(300)] in listed


def test_the_list_imports_no_package_of_a_command() -> None:
    code = (
        "from singletable.cli.app import app; app(['--help'], standalone_mode=False); import sys; print(*sys.modules)"
    )
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "deploy" in listed
    assert not {"singletable_deploy", "singletable_local", "singletable_mcp"} & {*listed.split()}


def test_an_unknown_command_is_refused() -> None:
    assert "No such command 'copies'" in ran("copies").output


@pytest.mark.parametrize("name", ["deploy", "local", "mcp"])
def test_a_command_of_an_extra_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExtensionGroup, "entries", lambda group: {})
    refused = ran(name, "--help")
    assert (refused.exit_code, f"pip install 'singletable[{name}]'" in refused.output) == (2, True)


def test_a_broken_command_is_listed_with_the_reason(broken: Path) -> None:
    listed = ran("--help")
    assert listed.exit_code == 0
    text = " ".join(listed.output.split())
    assert f"audit {_BROKEN}: ModuleNotFoundError: No module named 'nowhere'" in text
    assert "check Find what is wrong in the tables" in text


def test_a_broken_command_fails_alone(broken: Path) -> None:
    assert ran("check", "--help").exit_code == 0
    failed = ran("audit")
    assert (failed.exit_code, failed.output.startswith(f"Error: {_BROKEN}")) == (1, True), failed.output
    assert "[mistake.not-configured]" in failed.output


def test_a_shared_rate_is_a_rate() -> None:
    with pytest.raises(click.UsageError, match="Say --rate or --read-rate too"):
        rate_of({"rate": None, "read_rate": None, "share_rate": "night"})


def test_a_long_value_is_folded_and_not_cut() -> None:
    value, printed = "".join(f"{n:03}" for n in range(40)), io.StringIO()
    Console(width=30, file=printed).print(output.rows(("Key", "Value"), [("k", value)]))
    assert re.sub(r"[^0-9]", "", printed.getvalue()) == value


def test_a_map_by_numbers_has_a_text() -> None:
    assert output.json_text({2: "b", 1: "a"}) == '{"2":"b","1":"a"}'


def test_an_expensive_scan_elsewhere_is_asked_for() -> None:
    """Of `plan`, `stats`, `sql` and `adopt`. A test has no terminal: it has to say --yes."""
    options: dict[str, Any] = {"environ": {}, "region": "x"}
    with connect("http://127.0.0.1:8000", **options) as here, connect("http://10.1.2.3:8000", **options) as elsewhere:
        confirm_cost(here, ASKED_ABOVE + 1, yes=False)
        confirm_cost(elsewhere, ASKED_ABOVE, yes=False)
        confirm_cost(elsewhere, ASKED_ABOVE + 1, yes=True)
        with pytest.raises(click.UsageError, match=r"about 10,001 read units at http://10\.1\.2\.3:8000.* --yes"):
            confirm_cost(elsewhere, ASKED_ABOVE + 1, yes=False)


@pytest.mark.parametrize(("dollars", "told"), [(12.0, "$12"), (0.25, "$0.25"), (1e-9, "$0")])
def test_a_price_ends_in_no_point(dollars: float, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(Plan("shop", (DropIndex("gsi1", "no class declares it", takes=Estimate(dollars=dollars)),)))
    assert f"drop index gsi1: {told}\n" in capsys.readouterr().out
