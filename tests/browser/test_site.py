"""The documentation as it is built: `make docs`, opened from the disk."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from singletable.version import VERSION
from tests.browser.studio.opened import barriers
from tools.site.__main__ import build, navigation

# Building it takes as long as a hundred other tests.
pytestmark = pytest.mark.soak

PAGES = (
    "index",
    "tutorial/first-table",
    "tutorial/twelve-names",
    "how-to/declare-keys",
    "how-to/types",
    "how-to/migrate",
    "how-to/what-you-see",
    "how-to/coming-from",
    "reference/errors/conflict.not-unique",
    "reference/api/graph",
)
SEARCHES = Path(__file__).with_name("searches.toml")
OF_THE_DISK = ("file:", "data:", "blob:")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once; a link that leads nowhere, a request to another host or a warning would be among the defects."""
    folder = tmp_path_factory.mktemp("site")
    assert build(folder / "site", folder / "work") == []
    return folder / "site"


def test_each_word_that_people_search_for_leads_to_its_page(site: Path) -> None:
    searches = tomllib.loads(SEARCHES.read_text())
    expected = {word: f"{page}.html" for page, words in searches.items() for word in words}
    command = ["node", str(SEARCHES.with_name("search_site.js")), str(site), *expected]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    first = dict(zip(expected, map(json.loads, ran.stdout.splitlines()), strict=True))
    assert len(expected) >= 60
    assert {word: page for word, page in first.items() if page != expected[word]} == {}


def test_the_menu_has_a_link_of_its_own_to_each_page(site: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    links = page.locator(".md-nav--primary li:not(.md-nav__item--nested) > a.md-nav__link[href*=html]")
    led_to = {url.partition("#")[0] for url in links.evaluate_all("all => all.map(each => each.href)")}
    page.close()
    pages = {(site / place).with_suffix(".html").as_uri() for part in navigation().values() for place in part}
    assert pages - led_to == set()


def test_its_pages_for_programs_lead_to_every_page_and_name(site: Path) -> None:
    index, whole = (site / "llms.txt").read_text(), (site / "agents.txt").read_text()
    assert "(how-to/declare-keys.md)" in index
    assert (site / "how-to" / "declare-keys.md").read_text().startswith("# Single-table design")
    assert [name for name in re.findall(r"\]\(([^)]+)\)", whole) if not (site / name).is_file()] == []
    assert "(reference/api/index.md)" in whole
    assert "Database.get_many(" in (site / "reference" / "api" / "singletable.md").read_text()


@pytest.mark.parametrize(("scheme", "rules"), [("light", []), ("dark", ["color-contrast"])])
def test_it_is_accessible(site: Path, browser: Any, scheme: str, rules: list[str]) -> None:
    page = browser.new_context(color_scheme=scheme).new_page()
    found: list[str] = []
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        found += [f"{name}: {each}" for each in barriers(page, *rules)]
    page.context.close()
    assert found == []


def test_on_a_phone_no_table_is_scrolled_and_each_cell_says_its_column(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    too_wide = "cells => cells.filter(each => each.getBoundingClientRect().right > innerWidth).length"
    for name in (*PAGES, "benchmarks/results/peers"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.locator("td").evaluate_all(too_wide) == 0, name
    says = "each => getComputedStyle(each, '::before').content"
    assert "measured" in page.locator("tbody tr").first.locator("td").nth(2).evaluate(says)
    page.close()


def test_on_a_phone_a_drawing_has_the_size_of_its_texts(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((site / "index.html").as_uri())
    drawings = page.locator("article img[src$='.svg']")
    widths = drawings.evaluate_all("all => all.map(each => each.getBoundingClientRect().width)")
    assert len(widths) == 2
    assert min(widths) >= 700
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert barriers(page) == []
    page.close()


def test_nothing_of_the_first_pages_is_cut_and_no_code_is_broken_in_a_word(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    cut = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"
    broken = "all => all.filter(each => each.getClientRects().length > 1).map(each => each.textContent)"
    for name in ("index", "tutorial/first-table", "reference/errors"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.locator("pre code").evaluate_all(cut) == []
        codes = page.locator("td code").evaluate_all(broken)
        assert [code for code in codes if " " not in code] == []
    assert f"singletable {VERSION}" in page.locator("footer").inner_text().splitlines()
    page.goto((site / "how-to/types.html").as_uri())
    assert "X | None" in page.locator("td code").all_inner_texts()
    page.close()


def test_its_search_works_from_the_disk_and_nothing_is_fetched(site: Path, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    fetched: list[str] = []

    def note(request: Any) -> None:
        fetched.append(str(request.url))

    page.on("request", note)
    page.goto((site / "index.html").as_uri())
    page.get_by_role("button", name="Search").first.click()
    page.get_by_role("combobox").fill("InvalidCursor")
    page.get_by_role("option", name="InvalidCursor").first.click()
    page.wait_for_url("**/reference/**")
    context.close()
    assert fetched
    assert [url for url in fetched if not url.startswith(OF_THE_DISK)] == []
