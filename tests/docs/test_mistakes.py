"""The page of mistakes: what is typed raises what it says, and what is to be typed does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.docs.pages import DOCS, run

PAGE = DOCS / "how-to" / "mistakes.md"
_ROW = re.compile(r"^\| `(.+?)` \| `(\w+): (.+?)` \| `(.+?)` \|$", re.MULTILINE)
ROWS = [[cell.replace("\\|", "|") for cell in row] for row in _ROW.findall(PAGE.read_text())]
DECLARATION = """
notes = Table("notes", indexes=["gsi1"])
class Note(Entity, table=notes, type="note"):
    id: str
    at: datetime
    @notes.key
    @staticmethod
    {}
"""


@pytest.fixture(scope="module")
def page() -> Iterator[ModuleType]:
    module = run(PAGE)
    yield module
    module.db.close()


def execute(code: str, page: ModuleType) -> None:
    names = dict(vars(page))
    exec(DECLARATION.format(code) if code.startswith("def ") else code, names)
    for name, value in names.items():
        if name not in vars(page) and hasattr(value, "close"):
            value.close()


@pytest.mark.parametrize(("typed", "error", "text", "right"), ROWS, ids=[row[0][:50] for row in ROWS])
def test_what_is_typed_raises_what_the_page_says_and_the_fix_does_not(
    typed: str, error: str, text: str, right: str, page: ModuleType
) -> None:
    with pytest.raises(Exception, match=re.escape(text)) as caught:
        execute(typed, page)
    assert type(caught.value).__name__ == error
    assert str(caught.value).startswith(text)
    page.db.put(page.ada)
    execute(right, page)
    page.db.put(page.ada)


def test_each_row_of_the_page_is_tried() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) == len(ROWS) >= 30
