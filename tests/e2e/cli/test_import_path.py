"""A file of the current folder runs where its name says so, and in no other module's place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli.conftest import Folder
from tests.support.sampling import sampled

LATER = ("amazon", "cbor2", "duckdb", "obstore", "pandas", "pyarrow", "rich", "sqlglot", "starlette", "uvicorn", "yaml")
"""Packages that a command imports when it needs them."""
COMMANDS = [
    ["patterns", "shop.model"],
    ["export", "shop.model", "--to", "out"],
    ["export", "shop.model", "--to", "out", "--format", "csv"],
    ["sql", "shop.model", "-c", "select count(*) from customer"],
    ["stats", "shop.model"],
    ["check", "shop.model"],
    ["plan", "shop.model"],
    ["erase", "shop.model", "Customer.by_email", "ada@example.org", "--dry-run"],
    ["deploy", "shop.model", "--format", "cloudformation"],
    ["studio", "shop.model", "--static", "site"],
    ["backup", "copy", "copy.db"],
    ["get", "shop/model.py", "Customer.by_email", "ada@example.org"],
]


@pytest.fixture
def trapped(shop: Folder) -> Folder:
    """A folder with a file of the name of each module of Python, and of packages that are imported late."""
    trap = f"open({str(shop.path / 'ran')!r}, 'a').write(__name__ + chr(10))\n"
    for name in {*sys.stdlib_module_names, *LATER} - {"__main__"}:
        (shop.path / f"{name}.py").write_text(trap)
        (shop.path / "shop" / f"{name}.py").write_text(trap)
    return shop


def ran(folder: Path) -> set[str]:
    return set((folder / "ran").read_text().split()) if (folder / "ran").exists() else set()


@pytest.mark.parametrize("command", sampled(COMMANDS, 3))
def test_no_file_takes_the_place_of_a_module_of_python(trapped: Folder, command: list[str]) -> None:
    """A `zoneinfo.py` in the current folder ran during an export."""
    done = trapped.run_installed(*command)
    assert ran(trapped.path) == set(), done.err
    assert done.code == (2 if command[0] == "plan" else 0), done.err


def test_nor_where_python_puts_the_folder_first(shop: Folder) -> None:
    """`python -m` does; what is imported before the program begins is not its own choice."""
    for name in ("zoneinfo", "sqlite3", "csv", *LATER):
        (shop.path / f"{name}.py").write_text(f"open({str(shop.path / 'ran')!r}, 'a').write({name!r})\n")
    command = [sys.executable, "-m", "singletable.cli", "export", "shop.model", "--to", "out"]
    done = subprocess.run(command, cwd=shop.path, env=shop.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ran(shop.path) == set()
