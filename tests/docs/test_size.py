"""How much there is to read: words of pages that are written by hand, pages of *Start*, names on the first page."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.pages import DOCS, ROOT
from tools.site.__main__ import navigation

MOST_WORDS = 50_000
"""Of prose and tables; programs are run, not read. The bar is 55,000."""
MOST_PAGES_OF_START = 13
MOST_NAMES = 12
GENERATED = {
    "how-to/what-you-see.md": "python -m tests.situations.page",
    "explanation/at-scale.md": "python -m benchmarks.pages --write",
    "reference/cli.md": "python -m tests.docs.cli_reference",
    "reference/log-records.md": "python -m tests.docs.log_records",
    "reference/proven.md": "python -m tests.faults.proven",
    "reference/stored-items.md": "python -m tests.docs.stored_items",
    "reference/engines.md": "python -m tests.engines.page",
}
"""The pages that a command writes, or the greater part of them."""
LISTS = ("reference/api", "reference/errors.md", "reference/findings.md")
"""An entry for each name of the code: a test of each asks that none is missing."""
_PROGRAM = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_IMPORTED = re.compile(r"^from singletable import (.+)$", re.MULTILINE)


def by_hand() -> list[Path]:
    left_out = tuple(DOCS / name for name in (*GENERATED, *LISTS))
    return [page for page in sorted(DOCS.rglob("*.md")) if not any(page.is_relative_to(name) for name in left_out)]


def test_there_is_not_more_to_read_than_before() -> None:
    words = {page: len(_PROGRAM.sub("", page.read_text()).split()) for page in by_hand()}
    assert len(words) > 50
    assert sum(words.values()) <= MOST_WORDS, "say it once, and leave out what an error or --help says"


def test_each_generated_page_names_its_command() -> None:
    for name, command in GENERATED.items():
        module = command.split()[2]
        assert (ROOT / f"{module.replace('.', '/')}.py").exists()
        assert module in (DOCS / name).read_text() or "benchmarks" in command, name


def test_a_newcomer_meets_few_pages_and_names() -> None:
    assert len(navigation()["Start"]) <= MOST_PAGES_OF_START
    names = {name.strip() for line in _IMPORTED.findall((ROOT / "README.md").read_text()) for name in line.split(",")}
    assert 0 < len(names) <= MOST_NAMES
