"""The model as pages without a server: whole, valid, linked among each other, and never out of date."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest

from goals.model import records
from manhunt.model import manhunt
from organisations.model import organisations
from projects.model import projects
from singletable import Entity, Key, Table
from singletable.errors import InvalidRequest
from singletable.studio.model import model_view, write_site
from tests.studio.hostile_model import NASTY, hostile

ROOT = Path(__file__).parents[2]
VALIDATOR = ROOT / "node_modules" / ".bin" / "html-validate"
TABLES = (records, manhunt, organisations, projects, hostile)


class Reader(HTMLParser):
    """The links, ids, loaded files and text of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.ids |= {given["id"] or ""} if "id" in given else set()
        assert not any(name.startswith("on") or name == "style" for name in given)
        if tag == "a":
            self.links.append(given.get("href") or "")
        else:
            self.loads += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_site(model_view(TABLES, "all of them"), folder)
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Reader]:
    return {page.name: Reader(page) for page in site.glob("*.html")}


def test_they_are_valid(site: Path) -> None:
    if not VALIDATOR.exists():
        pytest.skip("html-validate is not installed: npm ci")
    command = [str(VALIDATOR), "--config", str(ROOT / ".htmlvalidate.json"), *map(str, sorted(site.glob("*.html")))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_they_need_no_script_and_nothing_from_elsewhere(pages: dict[str, Reader]) -> None:
    for page in pages.values():
        assert "script" not in page.tags
        assert set(page.loads) <= {"studio.css", "model.css"}


def test_the_styles_load_nothing(site: Path) -> None:
    for style in site.glob("*.css"):
        assert not re.search(r"url\(|@import", style.read_text())


def test_every_link_leads_to_a_page_and_a_place_on_it(site: Path, pages: dict[str, Reader]) -> None:
    for name, page in pages.items():
        for link in page.links:
            file, _, place = link.partition("#")
            target = unquote(file) or name
            assert (site / target).is_file(), link
            if place:
                assert unquote(place) in pages[target].ids, link


def test_every_page_is_reached_from_the_first(pages: dict[str, Reader]) -> None:
    reached, waiting = {"index.html"}, ["index.html"]
    while waiting:
        found = {unquote(link.partition("#")[0]) for link in pages[waiting.pop()].links} & pages.keys()
        waiting += sorted(found - reached)
        reached |= found
    assert reached == pages.keys()


def test_every_class_attribute_and_pattern_stands_on_its_page(pages: dict[str, Reader]) -> None:
    for table in model_view(TABLES[:-1]).tables:
        for each in table.classes:
            text = pages[f"{each.page}.html"].text
            for attribute in each.attributes:
                assert attribute.name in text
                assert attribute.stored in text
            for pattern in each.patterns:
                assert pattern.pattern.name in text
                assert pattern.pattern.partition in text


def test_hostile_text_is_text(pages: dict[str, Reader]) -> None:
    page = pages["hostile.Thing.html"]
    assert {"img", "i", "b"} & page.tags <= {"b"}
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in page.text
    assert "⟨U+202E⟩" in page.text
    assert "\x1b" not in page.text
    assert NASTY not in page.text


def test_the_same_declaration_gives_the_same_bytes(site: Path, tmp_path: Path) -> None:
    model = model_view(TABLES, "all of them")
    assert write_site(model, tmp_path / "new" / "folder").changed == len(list(site.iterdir()))
    for file in site.iterdir():
        assert (tmp_path / "new" / "folder" / file.name).read_bytes() == file.read_bytes()
    again = write_site(model, tmp_path / "new" / "folder")
    assert (again.changed, again.removed) == (0, 0)


def test_the_json_is_the_same_model(site: Path) -> None:
    told = msgspec.json.decode((site / "model.json").read_bytes())
    assert told["title"] == "all of them"
    assert [table["name"] for table in told["tables"]] == [table.name for table in TABLES]
    assert told["tables"][2]["classes"][0]["attributes"][0]["stored"] == "email"


def test_a_page_of_a_class_that_is_gone_goes_and_other_files_stay(tmp_path: Path) -> None:
    def declared(*names: str) -> Table:
        table = Table("changing")
        for name in names:

            class Made(Entity, table=table, type=name):
                id: str

                @table.key
                @staticmethod
                def by_id(id: str) -> Key:
                    return f"{id}", "made"

            Made.__qualname__ = name
        return table

    first = Table("changing")
    write_site(model_view([declared("Old")]), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    done = write_site(model_view([first]), tmp_path)
    assert done.removed == 1
    assert not (tmp_path / "changing.Old.html").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(InvalidRequest, match=r"no model\.json"):
        write_site(model_view([projects]), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["index.html"]
    (tmp_path / "model.json").write_text('{"tables": [{"classes": [{"page": "../../outside"}]}]}')
    outside = tmp_path.parent / "outside.html"
    outside.write_text("mine")
    write_site(model_view([projects]), tmp_path)
    assert outside.read_text() == "mine"
