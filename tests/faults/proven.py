"""docs/reference/proven.md, from the catalogue of faults: `python -m tests.faults.proven` writes it anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.faults.catalogue import SECTIONS, Entry

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "proven.md"
_HEAD = """\
# What is proven

What can go wrong, what is promised then, and the tests that make it go wrong. `python -m tests.faults.proven` writes
this page from `tests/faults/catalogue`. A test fails where an entry names a test that does not exist, or names none and
gives no reason.

The faults happen on a real engine: a proxy or a transport loses, delays, repeats and refuses requests; processes are
killed; clocks are set; indexes lag. Threats are what somebody does on purpose.
"""


def page() -> str:
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for section in sorted(SECTIONS, key=lambda each: each.letter):
        yield f"## {section.title}\n"
        for entry in section.entries:
            yield "\n".join(_entry(entry)) + "\n"


def _entry(entry: Entry) -> Iterator[str]:
    yield f"**{entry.id}** {_plain(entry.fault)}\n"
    yield " ".join(_plain(text) for text in ("Promise:", entry.promise, entry.reason) if text)
    if entry.tests:
        yield ""
    for path, names in groupby(entry.tests, key=lambda each: each.partition("::")[0]):
        said = ", ".join(f"`{name.partition('::')[2]}`" for name in names)
        yield f"* [{path}](../../{file_of(path)}): {said}"


def file_of(path: str) -> str:
    """A test file of the catalogue, from the root: it lies in `tests`, or with an application."""
    return path if path.startswith("examples/") else f"tests/{path}"


def _plain(text: str) -> str:
    return re.sub(r"(?<!\w)([_*])", r"\\\1", text)


if __name__ == "__main__":
    PAGE.write_text(page())
