"""The demo shows the applications at work, and prints the commands that open what it kept."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from examples.projects.tests.board.serving import until
from examples_shared.testing.commandline import environ
from examples_shared.testing.serving import free_port, is_open

SHOWN = {
    "organisations": "Harbour",
    "goals": "Harbour",
    "projects": "lighthouse-2",
    "manhunt": "The lamp is out",
}
"""What the page of each application shows of the data that its tour made."""


@pytest.mark.parametrize("opening", [["manhunt"], pytest.param(list(SHOWN), marks=pytest.mark.soak)])
def test_the_demo_shows_three_calls_of_each_application(tmp_path: Path, opening: list[str]) -> None:
    """And prints lines that open what it kept."""
    kept = tmp_path / "kept here"
    command = [sys.executable, "-m", "examples_demo", "--keep", str(kept)]
    ran = subprocess.run(command, env=environ(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    shown, _, opened = ran.stdout.partition("To look at each in a browser:")
    for application in ("organisations", "goals", "projects", "manhunt"):
        assert f"\n{application}: " in shown
        assert f"python -m {application} " in opened
        assert f"singletable studio {application}.model --db 'local:{kept}/{application}.db'" in opened
        assert (kept / f"{application}.db").stat().st_size > 0
    assert "12 calls, " in shown
    lines = [line.strip() for line in opened.splitlines() if line.startswith("  ")]
    assert len(lines) == 8
    chosen = [words for words in map(shlex.split, lines) if words[2].split(".")[0] in opening]
    assert len(chosen) == 2 * len(opening)
    for words in chosen:
        check_opens(tmp_path / "log", words)


def check_opens(log: Path, line: list[str]) -> None:
    """A printed line, as a person runs it, on a port that is free: what it opens shows what the tour made."""
    port, is_studio = free_port(), line[0] == "singletable"
    program = str(Path(sys.executable).with_name("singletable")) if is_studio else sys.executable
    with log.open("wb") as out:
        process = subprocess.Popen([program, *line[1:], "--port", str(port)], env=environ(), stdout=out, stderr=out)
    try:
        until(lambda: process.poll() is not None or (is_open(f"http://127.0.0.1:{port}") and bool(log.stat().st_size)))
        application = line[2].split(".")[0]
        place = "/incidents" if application == "manhunt" else "/"
        url = log.read_text().split()[0] if is_studio else f"http://127.0.0.1:{port}{place}"
        with httpx.Client(follow_redirects=True) as client:
            page = client.get(url)
        assert page.status_code == 200, log.read_text()
        assert (application if is_studio else SHOWN[application]) in page.text, (line, page.text)
    finally:
        process.terminate()
        process.wait(30)
