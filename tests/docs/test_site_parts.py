"""What the site is made of: what a page of the reference gets, which links are told as broken."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from singletable.version import VERSION
from tests.support.no_engine import no_engine
from tools.site.__main__ import packed
from tools.site.agents import opening_of
from tools.site.built import defects
from tools.site.pages import place_of, sources
from tools.site.public import API, ROOT
from tools.site.reference import expanded, package_of

__all__ = ["no_engine"]


def test_a_heading_is_followed_by_what_the_source_says() -> None:
    page = expanded(API / "singletable.md")
    assert "from singletable import connect_async" in page
    assert "Database.delete_table(table: Table) -> bool" in page
    assert "Costs as `iter`." in page
    assert "[how-to/migrate](../../how-to/migrate.md) has what holds meanwhile" in page
    assert "docs/how-to" not in page
    assert "[`Index`](singletable.md#index)" in page


def test_a_heading_of_no_public_name_is_refused() -> None:
    with pytest.raises(LookupError, match="'Databse'"):
        package_of(API / "singletable.md", "Databse")


@pytest.mark.parametrize(
    ("html", "what"),
    [
        ('<script src="https://cdn.example.org/a.js"></script>', "from another host"),
        ('<img src="missing.png">', "fetches missing.png, which is not there"),
        ('<a href="missing.html">a</a>', "links to missing.html, which is not there"),
        ('<a href="#missing">a</a>', "whose anchor is not there"),
    ],
)
def test_a_defect_of_a_page_is_told(tmp_path: Path, html: str, what: str) -> None:
    (tmp_path / "index.html").write_text(html)
    (found,) = defects(tmp_path)
    assert what in found


def test_a_sound_page_has_no_defect(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<h1 id="a">A</h1><a href="#a">a</a><a href="https://example.org">b</a>')
    assert defects(tmp_path) == []


def test_files_that_pages_link_to_are_part_of_it() -> None:
    made = sources()
    recipe = made[place_of(ROOT / "examples/recipes/unique_email.py")]
    assert isinstance(recipe, str)
    assert recipe.startswith("# Unique email\n")
    assert made[place_of(ROOT / "LICENSE")] == (ROOT / "LICENSE").read_bytes()


def test_a_bar_in_the_code_of_a_table_is_shown_as_one() -> None:
    page = str(sources()[Path("how-to/types.md")])
    assert "| <code>X &#124; None</code> | as `X` |" in page
    assert "\\|" not in "".join(line for line in page.splitlines() if line.startswith("|"))


def test_an_archive_of_the_site_has_its_version_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    (tmp_path / "site" / "how-to").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("first")
    (tmp_path / "site" / "how-to" / "types.html").write_text("types")
    first = packed(tmp_path / "site", tmp_path)
    content = first.read_bytes()
    os.utime(tmp_path / "site" / "index.html", (0, 0))
    assert packed(tmp_path / "site", tmp_path).read_bytes() == content
    assert first.name == f"singletable-site-{VERSION}.zip"
    with zipfile.ZipFile(first) as archive:
        root = f"singletable-site-{VERSION}"
        assert archive.namelist() == [f"{root}/how-to/types.html", f"{root}/index.html"]
        assert archive.read(f"{root}/index.html") == b"first"
        assert {info.external_attr >> 16 for info in archive.infolist()} == {0o644}, "a web server may read it"


def test_an_error_has_a_page_that_links_lead_to() -> None:
    made = sources()
    page = made[Path("reference/errors/conflict.not-unique.md")]
    assert isinstance(page, str)
    assert "Parent: [`Conflict`](conflict.md)" in page
    assert "from singletable import NotUnique" in page
    listing = str(made[Path("reference/errors.md")])
    assert "(errors/conflict.not-unique.md)" in listing
    assert "class Order" in page
    assert "class Order" not in listing
    assert "[`MissingPath`](../reference/errors/conflict.missing-path.md)" in str(made[Path("how-to/attributes.md")])


def test_a_recipe_s_page_says_what_it_prints_and_where_more_stands() -> None:
    page = str(sources()[Path("examples/recipes/unique_email.md")])
    assert "[unique values](../../how-to/unique-expiry-versions.md)" in page
    assert "$ python unique_email.py\nada registers: True\n" in page


def test_a_page_s_first_sentence_is_prose() -> None:
    assert opening_of("# A\n\n```python\nx = 1\n```\n\nFirst [one](a.md): two. Second.") == "First one: two."
