"""A distribution beside the library: its command, its check and its item are there as long as it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.e2e.cli.conftest import ROOT, Folder
from tests.support.distributions import distribution, unbuilt

PLUGIN = ROOT / "tests" / "plugin"
LINE = "audit Mark the tables as audited."
_RUN = "import site, sys; site.addsitedir(sys.argv.pop(1)); from singletable.cli import main; main()"
_BUILD = "import hatchling.build as b, sys; getattr(b, sys.argv[1])(sys.argv[2])"


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which the distribution is on the path."""
    place = tmp_path_factory.mktemp("installed")
    unbuilt(place, PLUGIN)
    return {"PYTHONPATH": os.pathsep.join((str(PLUGIN), str(place)))}


@pytest.mark.parametrize("form", ["build_wheel", "build_editable"])
def test_a_built_distribution_adds_its_command(folder: Folder, tmp_path: Path, form: str) -> None:
    source, built, site = tmp_path / "source", tmp_path / "built", tmp_path / "site"
    shutil.copytree(PLUGIN, source, ignore=shutil.ignore_patterns("__pycache__"))
    built.mkdir()
    subprocess.run([sys.executable, "-c", _BUILD, form, str(built)], cwd=source, check=True, capture_output=True)
    ZipFile(next(built.iterdir())).extractall(site)
    ran = folder.python("-c", _RUN, str(site), "--help")
    assert (ran.code, LINE in " ".join(ran.out.split())) == (0, True), ran.err
    ran = folder.python("-c", _RUN, str(site), "audit", "--help")
    assert (ran.code, "The page Audits of the studio" in ran.out) == (0, True), ran.err


def test_its_check_reports_its_findings(folder: Folder, installed: dict[str, str]) -> None:
    module = ("shop.model", "--db", "local:a.db")
    assert folder.run("table", "create", *module).code == 0
    blank = 'from singletable import connect\nfrom shop.model import Customer\nwith connect("local:a.db") as db:\n'
    added = folder.python("-c", f'{blank}    db.create(Customer(email="eve@example.org", name=" "))')
    assert added.code == 0, added.err
    ran = folder.run_installed("audit", *module, "--by", "ada", **installed)
    assert (ran.code, ran.out) == (0, "shop: audited by ada\n"), ran.err
    ran = folder.run_installed("check", *module, **installed)
    assert ran.code == 1, ran.err
    (line,) = ran.out.splitlines()
    assert line.startswith("shop  audit.blank  customer  customer#eve@example.org / customer: its name is blank")
    ran = folder.run("check", *module)
    assert (ran.code, "audit.blank" in ran.out, "type.unknown  _audit" in ran.out) == (1, False, True)


def test_without_it_its_command_is_unknown(folder: Folder) -> None:
    assert LINE not in " ".join(folder.run("--help").out.split())
    ran = folder.run("audit", "shop.model")
    assert (ran.code, "No such command 'audit'" in ran.err) == (2, True)


def test_a_broken_check_is_not_left_out(folder: Folder, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    distribution(broken, "shop-audit", "0.3", {"singletable.layers": {"audit": "shop_audit.check:LAYER"}})
    module = ("shop.model", "--db", "local:a.db")
    assert folder.run("table", "create", *module).code == 0
    ran = folder.run_installed("check", *module, PYTHONPATH=str(broken))
    assert (ran.code, ran.out) == (1, "")
    entry = "the entry point audit = 'shop_audit.check:LAYER' of shop-audit 0.3 (singletable.layers)"
    assert ran.err.startswith(f"Error: {entry} can't be loaded: ModuleNotFoundError")
    assert folder.run_installed("patterns", "shop.model", PYTHONPATH=str(broken)).code == 0
