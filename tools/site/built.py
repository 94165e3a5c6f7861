"""What is asked of the pages as they were built: each link leads to a page and an anchor that are there, nothing is
fetched from elsewhere, each page has a title of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


class _Page(HTMLParser):
    """The links of a page, what it fetches, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in _FETCHED and _FETCHED[tag] in given and given.get("rel") != "canonical":
            self.fetched.append(given[_FETCHED[tag]])


@cache
def _read(file: Path) -> _Page:
    page = _Page()
    page.feed(file.read_text())
    return page


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def defects(site: Path) -> list[str]:
    """What is wrong, a line each."""
    return [f"{page.relative_to(site)}: {what}" for page in pages(site) for what in _defects(page)]


def _defects(file: Path) -> Iterator[str]:
    page = _read(file)
    for address in page.fetched:
        if urlsplit(address).netloc:
            yield f"fetches {address} from another host"
        elif not _target(file, address).exists():
            yield f"fetches {address}, which is not there"
    for link in dict.fromkeys(page.links):
        if urlsplit(link).scheme or urlsplit(link).netloc:
            continue
        target, mark = _target(file, link), unquote(urlsplit(link).fragment)
        if not target.is_file():
            yield f"links to {link}, which is not there"
        elif mark and target.suffix == ".html" and mark not in _read(target).anchors:
            yield f"links to {link}, whose anchor is not there"


def _target(file: Path, address: str) -> Path:
    path = unquote(urlsplit(address).path)
    return _page_at(file.parent, path) if path else file


@cache
def _page_at(folder: Path, path: str) -> Path:
    """Each page has the links of the navigation: they are looked up once a folder."""
    target = Path(os.path.normpath(folder / path))
    return target / "index.html" if target.is_dir() else target
