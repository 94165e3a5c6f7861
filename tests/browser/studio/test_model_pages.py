"""Model, its classes, SQL, and the pages without a server, in a real browser: by keys, at each width, for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from organisations.model import organisations
from organisations.walkthrough import walkthrough
from singletable import connect
from singletable.exchange import Exports
from singletable.studio.model import model_view, write_site
from tests.browser.studio.opened import SCHEMES, at_each_width, barriers, opened, studio_of

MODULE = "organisations.model"
QUESTION = """-- Members of each organisation
SELECT organisation_id, count(*) AS members FROM organisation_member GROUP BY ALL ORDER BY ALL"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The program on a data file, with an export."""
    folder = tmp_path_factory.mktemp("studio")
    target = f"local:{folder}/organisations.db"
    with connect(target) as db:
        db.create_table(organisations)
        for _ in walkthrough(db):
            continue
        Exports(db, organisations).export(folder / "exports")
    with studio_of(MODULE, target, "--from", str(folder / "exports")) as address:
        yield address


PAGES = {
    "model": "/model/organisations",
    "class": "/model/organisations/OrganisationMember",
    "sql": "/sql",
    "answer": f"/sql?sql={quote(QUESTION)}",
    "refused": f"/sql?sql={quote('DELETE FROM job')}",
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_they_are_accessible_and_fit_their_window(browser: Any, address: str, scheme: str) -> None:
    found: list[str] = []
    with opened(browser, address, scheme=scheme) as page:
        for name, path in PAGES.items():
            found += [f"{name}: {each}" for each in at_each_width(page, path, scheme)]
    assert found == []


def test_on_paper_is_the_answer_alone(browser: Any, address: str) -> None:
    with opened(browser, address, scheme="dark") as page:
        page.goto(PAGES["answer"])
        page.emulate_media(media="print", color_scheme="light")
        assert page.locator("table.answer tbody tr").first.is_visible()
        assert page.locator("#sql").is_visible()
        for left_out in ("header.top", "footer.foot", "aside.views", "button"):
            assert not page.locator(left_out).first.is_visible(), left_out


def test_a_class_is_reached_from_the_picture_by_keys(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        page.goto(PAGES["model"])
        box = page.locator("svg.diagram a", has_text="OrganisationMember")
        for _ in range(60):
            page.keyboard.press("Tab")
            if box.evaluate("each => each === document.activeElement"):
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/model/organisations/OrganisationMember")
        assert page.get_by_role("heading", level=1).inner_text() == "OrganisationMember"


def test_a_question_is_asked_by_keys_and_its_address_is_shared(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        page.goto(PAGES["sql"])
        page.get_by_label("One SELECT").focus()
        page.keyboard.insert_text(QUESTION)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/sql?sql=*")
        rows = page.locator("table.answer tbody tr")
        assert rows.first.inner_text().split() == ["harbour", "6"] or rows.count() == 2
        assert page.locator("figure.chart svg title").text_content() == "Members of each organisation"
        asked, shown = page.url, page.locator("table.answer").inner_text()
    with opened(browser, address) as other:
        other.goto(asked)
        assert other.locator("table.answer").inner_text() == shown


def test_pages_without_a_server_open_from_the_disk_without_script(browser: Any, tmp_path: Path) -> None:
    write_site(model_view([organisations], MODULE), tmp_path)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto((tmp_path / "index.html").as_uri())
    page.locator("svg.diagram a", has_text="TrailEntry").click()
    assert page.get_by_role("heading", level=1).inner_text() == "TrailEntry"
    page.get_by_role("link", name="organisations", exact=True).click()
    assert page.locator("svg.diagram a").count() == 8
    context.close()
    assert [url for url in fetched if not url.startswith("file:")] == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pages_without_a_server_are_accessible(browser: Any, tmp_path: Path, scheme: str) -> None:
    write_site(model_view([organisations], MODULE), tmp_path)
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    found: list[str] = []
    for name in ("index", "organisations.OrganisationMember"):
        page.goto((tmp_path / f"{name}.html").as_uri())
        found += [f"{name}: {each}" for each in barriers(page)]
    context.close()
    assert found == []
