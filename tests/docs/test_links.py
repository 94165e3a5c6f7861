"""What the documentation links to is there, and every page is linked to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import CONTRIBUTING, PAGES, ROOT, links_of, named
from tests.support.no_engine import no_engine
from tools.site.__main__ import navigation
from tools.site.pages import place_of

__all__ = ["no_engine"]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_its_links_lead_somewhere(page: Path) -> None:
    missing = [str(target) for target in links_of(page) if not target.exists()]
    assert not missing


def test_the_readme_or_an_index_leads_to_each() -> None:
    led_to = {target for page in PAGES for target in links_of(page) if target != page}
    assert {page for page in PAGES if page.parent != ROOT} - led_to == set()


def test_the_site_s_navigation_lists_it() -> None:
    listed = {page for part in navigation().values() for page in part}
    pages = {place_of(page) for page in PAGES}
    assert pages - listed == set(), "put it into nav of tools/site/zensical.toml"


def test_the_files_that_contributing_names_are_there() -> None:
    named_files = re.findall(r"`((?:src|tests|docs|tools|examples)/[\w/.-]+)`", CONTRIBUTING.read_text())
    assert len(named_files) > 30
    assert [name for name in named_files if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("VALUE_TYPES", "src/singletable/values/value_types.py"),
        ("VALUES", "tests/property/keys.py"),
        ("_AWAITED", "tests/support/shells.py"),
        ("Router", "src/singletable/streams/router.py"),
    ],
)
def test_what_contributing_names_is_where_it_says(name: str, file: str) -> None:
    page = CONTRIBUTING.read_text()
    assert f"`{name}`" in page
    assert f"`{file}`" in page
    assert re.search(rf"^(class )?{name}\b", (ROOT / file).read_text(), re.MULTILINE)


def test_each_promise_is_decided_where_it_says() -> None:
    """The table of promises names what decides in a module."""
    deciders = re.findall(r"\| `(\w+)` in `(src/[\w/.]+)` \|", CONTRIBUTING.read_text())
    assert len(deciders) >= 10
    for name, file in deciders:
        assert re.search(rf"^((async )?def |class )?{name}\b", (ROOT / file).read_text(), re.MULTILINE), name
