"""The text for coding agents: its programs run, it is short, and programs were written from it alone."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

from singletable.cli.app import app
from tests.docs.pages import DOCS, python_of, run
from tools.site.agents import WHOLE
from tools.site.error_pages import entries

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
    advice = text[text.index("* **Errors**") : text.index("* **Costs**")]
    names = set(re.findall(r"`([A-Z]\w+)`", advice)) - {"SingletableError"}
    assert len(names) >= 10
    assert names <= {entry.name for entry in entries().values()}
