"""The text for coding agents: its programs run, it is short, and programs were written from it alone."""

from __future__ import annotations

import re
import runpy
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from singletable import Database
from singletable.cli.app import app
from tests.docs.pages import DOCS, python_of, run
from tools.site.agents import WHOLE
from tools.site.public import GROUND, PACKAGES, names_of

_COMMENT = re.compile(r"  # (.+)$", re.MULTILINE)
WRITTEN_FROM_IT = sorted((Path(__file__).parent / "from_agents").glob("*.py"))


def test_its_programs_run() -> None:
    assert len(python_of(WHOLE)) == 6
    run(WHOLE)


@pytest.mark.parametrize("program", WRITTEN_FROM_IT, ids=lambda program: program.stem)
def test_a_program_that_was_written_from_it_alone_runs(program: Path) -> None:
    runpy.run_path(str(program))["main"]()


def test_the_program_prints_it() -> None:
    assert CliRunner().invoke(app, ["agents"]).output == WHOLE.read_text()


def test_it_is_short_and_programs_come_first() -> None:
    text = WHOLE.read_text()
    assert len(text.split()) < 4000
    assert [int(number) for number in re.findall(r"^## (\d)", text, re.MULTILINE)] == [1, 2, 3, 4, 5, 6]
    assert re.findall(r"^## \D.*$", text, re.MULTILINE) == ["## What must be known", "## More"]


def test_what_it_names_is_there() -> None:
    text = WHOLE.read_text()
    pages = re.findall(r"\]\(([^)]+\.md)\)", text)
    assert [page for page in pages if not (DOCS / page).is_file()] == []
    public = {name for package in PACKAGES for name in names_of(package)} | set(chain(*GROUND.values()))
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE) + " ".join(_COMMENT.findall(text))
    names = set(re.findall(r"\b[A-Z][a-z]+[A-Z]\w+", prose)) - {"DynamoDB", "FastAPI"}
    assert len(names) >= 15
    assert names - public == set()


def test_the_pages_answer_names_verbs_that_a_database_has() -> None:
    verbs = set(re.findall(r"`db\.(\w+)\(", (DOCS / "how-to" / "answers.md").read_text()))
    assert len(verbs) >= 14
    assert {verb for verb in verbs if not hasattr(Database, verb)} == set()
