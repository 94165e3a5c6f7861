"""The pages of the site: which files of the repository they are, and where each of them goes."""

from __future__ import annotations

import ast
import html
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tools.site.error_pages import entries, listing, page_of_error
from tools.site.public import ERRORS, ROOT
from tools.site.reference import expanded, is_reference

DOCS = ROOT / "docs"
RECIPES = ROOT / "examples" / "recipes"
PRINTED = ROOT / "tests" / "e2e" / "recipes" / "expected"
"""What each recipe prints, as the tests hold it."""
_ROOTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
_FOLDERS = ("docs", "examples", "benchmarks")
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
_CODE_WITH_BAR = re.compile(r"`([^`]*\\\|[^`]*)`")
_ITEM = re.compile(r"(?:[*-]|\d+\.) ")
_PICTURES = (".svg", ".png", ".jpg")


def markdown() -> Iterator[Path]:
    """Every page that is written in Markdown."""
    yield from (ROOT / name for name in _ROOTS if (ROOT / name).exists())
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.md")):
            if not {"node_modules", "data"} & set(path.parts):
                yield path


def place_of(file: Path) -> Path:
    """Where in the site's source a file goes: the README is the first page, `docs` the root."""
    within = file.relative_to(DOCS) if file.is_relative_to(DOCS) else file.relative_to(ROOT)
    if within.name == "README.md":
        return within.with_name("index.md")
    if within.suffix in (".md", *_PICTURES):
        return within
    return within.with_suffix(".md") if is_recipe(file) else Path("source", f"{within.as_posix()}.txt")


def is_recipe(file: Path) -> bool:
    """A program to copy, which has a page; other files that pages link to stay plain text."""
    return file.parent == RECIPES and file.suffix == ".py"


def sources() -> dict[Path, str | bytes]:
    """The site's source: each place with its content. It has the files too that a page links to."""
    made: dict[Path, str | bytes] = {}
    others: set[Path] = set()
    for page in markdown():
        made[place_of(page)] = _placed(page, _text(page), others)
    for entry in entries().values():
        made[entry.place] = _placed(ERRORS, page_of_error(entry), others, entry.place)
    for file in sorted(others):
        made[place_of(file)] = _placed(file, _shown(file), set()) if is_recipe(file) else file.read_bytes()
    return made


def _text(page: Path) -> str:
    if page == ERRORS:
        return listing()
    return expanded(page) if is_reference(page) else page.read_text()


def _placed(page: Path, text: str, others: set[Path], at: Path | None = None) -> str:
    """A page's text with its links as the site has them, in the Markdown that its generator reads. The text may stand
    `at` another place than the page's own."""
    folder = (at or place_of(page)).parent

    def moved(match: re.Match[str]) -> str:
        target = match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        file = (page.parent / target).resolve()
        if file.is_dir():
            file = file / "README.md"
        if not file.exists():
            raise SystemExit(f"{page.relative_to(ROOT)} links to {target}, which is not there")
        if file.suffix != ".md":
            others.add(file)
        entry = entries().get(match[3].strip("#)")) if file == ERRORS else None
        if entry is not None:
            return f"{match[1]}{os.path.relpath(entry.place, folder)})"
        return f"{match[1]}{os.path.relpath(place_of(file), folder)}{match[3]}"

    return _spaced(_LINK.sub(moved, text))


def _shown(file: Path) -> str:
    """A program as a page: what it says of itself, where more stands, its text, how it is run and what it prints."""
    text = file.read_text()
    told, title = ast.get_docstring(ast.parse(text)) or "", file.stem.replace("_", " ").capitalize()
    row = re.search(rf"^\| \[{file.stem}\].*\| (.+) \|$", (RECIPES / "README.md").read_text(), re.MULTILINE)
    more = f"More: {row[1]}. [All recipes](README.md).\n\n" if row else ""
    printed = (PRINTED / f"{file.stem}.txt").read_text().rstrip()
    run = f"Saved as `{file.name}`:\n\n```text\n$ python {file.name}\n{printed}\n```\n"
    return f"# {title}\n\n{told}\n\n{more}```python\n{text.rstrip()}\n```\n\n{run}"


def _with_bars(code: re.Match[str]) -> str:
    text = html.escape(code[1].replace("\\|", "|"), quote=False)
    return f"<code>{text.replace('|', '&#124;')}</code>"


def _spaced(text: str) -> str:
    """An empty line before each list, and no escaped bar in a table's code: this generator's Markdown takes neither."""
    made: list[str] = []
    in_code = False
    for line in text.splitlines():
        if line.startswith("```"):
            in_code = not in_code
        before = made[-1] if made else ""
        starts = _ITEM.match(line) is not None and bool(before.strip())
        if starts and not in_code and not _ITEM.match(before) and not before.startswith(" "):
            made.append("")
        made.append(line if in_code or not line.startswith("|") else _CODE_WITH_BAR.sub(_with_bars, line))
    return "\n".join(made) + "\n"
