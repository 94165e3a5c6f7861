"""The program as a whole: version, targets, modules, errors, and what is missing."""

from __future__ import annotations

import pytest

from singletable import __version__
from tests.e2e.cli.conftest import Folder


def test_version(folder: Folder) -> None:
    assert folder.run_installed("--version").out == f"singletable {__version__}\n"


def test_without_the_extra_it_says_what_to_install(folder: Folder) -> None:
    code = "import sys; sys.modules['click'] = None; from singletable.cli import main; main()"
    ran = folder.python("-c", code)
    assert ran.code == 1
    assert ran.err == "The command line needs click. Run: python -m pip install 'singletable[cli]'\n"


def test_the_option_before_the_command_the_option_after_it_and_the_environment(folder: Folder) -> None:
    module = ("table", "create", "shop.model")
    assert folder.run_installed("--db", "local:a.db", *module).out == "shop: created\n"
    assert folder.run_installed(*module, "--db", "local:b.db", SINGLETABLE_DB="local:c.db").out == "shop: created\n"
    assert folder.run_installed(*module, SINGLETABLE_DB="local:d.db").out == "shop: created\n"
    assert sorted(path.name for path in folder.path.glob("*.db")) == ["a.db", "b.db", "d.db"]


def test_an_error_of_the_library_is_one_message(folder: Folder) -> None:
    ran = folder.run_installed("table", "create", "shop.model", "--db", "nonsense")
    assert ran.code == 1
    assert ran.err.startswith("Error: the target is none that is known.")
    assert ran.err.endswith("[mistake.request]\n")
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err


@pytest.mark.parametrize(
    ("module", "said", "code"),
    [
        ("nowhere", "No module nowhere is found", 2),
        ("nowhere.py", "The file nowhere.py is missing", 2),
        ("json", "json has no table", 2),
        ("shop.model:other", "has no table 'other'. It has: app.", 2),
        ("broken", "broken can't be imported: ZeroDivisionError", 1),
        ("undeclared", "[mistake.declaration]", 1),
    ],
)
def test_a_module_that_can_not_be_used(folder: Folder, module: str, said: str, code: int) -> None:
    (folder.path / "broken.py").write_text("1 / 0\n")
    (folder.path / "undeclared.py").write_text("from singletable import Table\napp = Table('x')\n")
    ran = folder.run_installed("patterns", module)
    assert (ran.code, said in ran.err) == (code, True), ran.err
