"""The program as a whole: version, targets, modules, errors, and what is missing."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from singletable import __version__
from tests.e2e.cli.conftest import ROOT, Folder
from tests.e2e.projects_board.serving import until
from tests.support.serving import free_port, is_open


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


def test_the_demo_outside_a_checkout_says_how_to_run_it(folder: Folder) -> None:
    ran = folder.run_installed("demo")
    assert ran.code == 1
    assert "Run `make demo` in a checkout" in ran.err


SHOWN = {
    "organisations": "Harbour",
    "goals": "Harbour",
    "projects": "lighthouse-2",
    "manhunt": "The lamp is out",
}
"""What the page of each application shows of the data that its tour made."""


@pytest.mark.parametrize("opening", [["manhunt"], pytest.param(list(SHOWN), marks=pytest.mark.soak)])
def test_the_demo_shows_three_calls_of_each_application(folder: Folder, opening: list[str]) -> None:
    """And prints lines that open what it kept."""
    kept = folder.path / "kept here"
    ran = replace(folder, path=ROOT).run_installed("demo", "--keep", str(kept))
    assert ran.code == 0, ran.err
    shown, _, opened = ran.out.partition("To look at each in a browser:")
    for application in ("organisations", "goals", "projects", "manhunt"):
        assert f"\n{application}: " in shown
        assert f"python -m examples.{application} " in opened
        assert f"singletable studio examples.{application}.model --db 'local:{kept}/{application}.db'" in opened
        assert (kept / f"{application}.db").stat().st_size > 0
    assert "12 calls, " in shown
    lines = [line.strip() for line in opened.splitlines() if line.startswith("  ")]
    assert len(lines) == 8
    chosen = [words for words in map(shlex.split, lines) if words[2].split(".")[1] in opening]
    assert len(chosen) == 2 * len(opening)
    for words in chosen:
        check_opens(folder, words)


def check_opens(folder: Folder, line: list[str]) -> None:
    """A printed line, as a person runs it, on a port that is free: what it opens shows what the tour made."""
    port, log, is_studio = free_port(), folder.path / "log", line[0] == "singletable"
    program = str(Path(sys.executable).with_name("singletable")) if is_studio else sys.executable
    with log.open("wb") as out:
        process = subprocess.Popen([program, *line[1:], "--port", str(port)], cwd=ROOT, stdout=out, stderr=out)
    try:
        until(lambda: process.poll() is not None or (is_open(f"http://127.0.0.1:{port}") and bool(log.stat().st_size)))
        application = line[2].split(".")[1]
        place = "/incidents" if application == "manhunt" else "/"
        url = log.read_text().split()[0] if is_studio else f"http://127.0.0.1:{port}{place}"
        with httpx.Client(follow_redirects=True) as client:
            page = client.get(url)
        assert page.status_code == 200, log.read_text()
        assert (application if is_studio else SHOWN[application]) in page.text, (line, page.text)
    finally:
        process.terminate()
        process.wait(30)
