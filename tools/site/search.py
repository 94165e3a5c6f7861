"""The site's search: an index of words before what the generator finds, without the changelog."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, Final

INDEX: Final = Path(__file__).with_name("index.toml")
_LEFT_OUT: Final = ("CHANGELOG.html", "benchmarks/results/")
"""They name everything, and answer nothing."""


def words() -> dict[str, list[str]]:
    """The index: each page with its words."""
    return tomllib.loads(INDEX.read_text())


def write(site: Path) -> list[str]:
    """Put the index into the search of a built site; a line for each page of it that is not there."""
    found = site / "search.json"
    search: dict[str, Any] = json.loads(found.read_text())
    pages = {item["location"]: item for item in search["items"]}
    listed = {page: page.replace(".md", ".html") for page in words()}
    lost = [f"{INDEX.name}: {page} is not in the site" for page, place in listed.items() if place not in pages]
    if lost:
        return lost
    entries = [_entry(pages[listed[page]], word) for page, some in words().items() for word in some]
    search["items"] = [*entries, *(item for item in search["items"] if _is_found(item["location"]))]
    text = json.dumps(search, ensure_ascii=False, separators=(",", ":"))
    found.write_text(text)
    (site / "search.js").write_text(f"var __index = {text}")
    return []


def _entry(page: dict[str, Any], word: str) -> dict[str, Any]:
    """The page under a word. Its path has the word too, as a page's own path has its title: both fields count."""
    return {**page, "title": word, "path": [word, page["title"]]}


def _is_found(location: str) -> bool:
    return not location.startswith(_LEFT_OUT)
