"""docs/reference/engines.md, from the lists of differences: `python -m tests.engines.page` writes its second half anew.

What stands before the mark is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.engines.differences import Difference, names, read_differences

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "engines.md"
MARK = "<!-- From here on `python -m tests.engines.page` writes it, from tests/engines/expected. -->\n"


def page() -> str:
    """The page as it is to be."""
    written = PAGE.read_text().partition(MARK)[0]
    return "\n".join([f"{written}{MARK}", *_sections()])


def _sections() -> Iterator[str]:
    for name in names():
        found = read_differences(name)
        yield f"## What the tests find on {name}\n"
        yield f"{found.about}\n"
        for left in found.left_out:
            yield f"Not run there: {', '.join(f'`{layer}`' for layer in left.layers)}. {left.why}\n"
        for difference in found.all:
            yield _entry(difference)


def _entry(difference: Difference) -> str:
    files = sorted({test.partition("::")[0] for test in difference.tests})
    shown = ", ".join(f"[{path.removeprefix('tests/')}](../../{path})" for path in files)
    return f"* {difference.cause} **You see:** {difference.seen} Tests: {shown}.\n"


if __name__ == "__main__":
    PAGE.write_text(page())
