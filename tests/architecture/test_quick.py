"""`make quick` needs no engine and no network, and its folders hold to that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.distributions import PYTHONPATH

ROOT = Path(__file__).parents[2]
pytest_plugins = ["pytester"]

SUITE = """
import contextlib, socket, subprocess, sys
import pytest
from singletable import connect

def test_here():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass

def test_an_engine():
    with connect("local"):
        pass

def test_an_engine_of_a_child():
    subprocess.run([sys.executable, "-c", "import singletable; singletable.connect('local')"], check=True)

def test_a_program():
    subprocess.Popen(["/usr/bin/dynoxide", "serve"])

def test_elsewhere_and_ignored():
    with contextlib.suppress(Exception), socket.socket() as tried:
        tried.connect(("192.0.2.1", 80))

def test_a_name():
    socket.getaddrinfo("dynamodb.eu-central-1.amazonaws.com", 443)
"""


def test_the_guard_fails_what_needs_an_engine_or_another_machine(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest("from tests.support.no_engine import no_engine\n")
    pytester.makepyfile(SUITE)
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q")
    failed = re.findall(r"^FAILED \S+::(\w+)", ran.stdout.str(), re.MULTILINE)
    errors = re.findall(r"^ERROR \S+::(\w+)", ran.stdout.str(), re.MULTILINE)
    assert sorted({*failed, *errors}) == [
        "test_a_name",
        "test_a_program",
        "test_an_engine",
        "test_an_engine_of_a_child",
        "test_elsewhere_and_ignored",
    ]
    assert "test_elsewhere_and_ignored" in errors, "an error that the code swallows is told at the test's end"


def test_each_place_of_make_quick_has_the_guard() -> None:
    named = re.search(r"^QUICK := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert named
    places = [ROOT / place for place in named[1].split()]
    assert places
    for place in places:
        file = place / "conftest.py" if place.is_dir() else place
        assert "tests.support.no_engine import no_engine" in file.read_text(), file


def test_make_quick_and_make_test_leave_out_the_long_runs() -> None:
    recipes = re.findall(r"^(?:quick|test): .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert len(recipes) == 2
    for recipe in recipes:
        assert '-m "not soak"' in recipe
