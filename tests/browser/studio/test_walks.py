"""A walk through each application's own data: from home by a pattern to an item and its partition, and every page of
the navigation. For everybody, with nothing on the console and nothing that the policy refuses. The contrast of colours,
most of what axe looks for, is tested with each kind of page: in test_records, test_model_pages and test_layer_pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from manhunt.model import ContactMethod
from singletable.exchange import Exports
from tests.browser.studio.opened import Page, barriers, opened, studio_of
from tests.studio.applications import TABLES, Application, filled
from tests.support.sampling import sampled

LAYERS = {
    "goals": "/graph/records",
    "projects": "/documents/projects",
    "manhunt": "/work/manhunt",
    "organisations": "/work/organisations",
}


@pytest.fixture(scope="module", params=sampled(TABLES, 4))
def application(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    yield from filled(request.param, tmp_path_factory.mktemp("walk"))


def pattern_of(application: Application) -> str:
    """The address of a pattern that finds something."""
    if application.name == "organisations":
        return "/patterns/organisations/Organisation/by_id?organisation_id=harbour"
    if application.name == "goals":
        return "/patterns/records/Goal/by_id?id=G1"
    if application.name == "projects":
        return "/patterns/projects/Project.Listing/by_parent?parent=example.org"
    method = next(iter(application.db.scan(ContactMethod)))
    return f"/patterns/manhunt/ContactMethod/of_contact?contact_id={method.contact_id}"


def arrived(page: Page, path: str, seen: list[str]) -> None:
    """The page is one, of this path, and for everybody."""
    assert re.search(path, page.url), page.url
    assert page.get_by_role("heading", level=1).count() == 1, page.url
    assert page.locator(".failure").count() == 0, page.locator("main").inner_text()
    seen += [f"{page.url}: {each}" for each in barriers(page, contrast=False)]


def click(page: Page, link: Any) -> None:
    with page.expect_navigation(wait_until="load"):
        link.click()


def test_a_walk(browser: Any, application: Application, tmp_path: Path) -> None:
    table, seen, export = application.table.name, list[str](), tmp_path / "export"
    Exports(application.db, application.table).export(export)
    studio = studio_of(application.module, application.target, "--from", str(export))
    with studio as address, opened(browser, address) as page:
        arrived(page, "/$", seen)
        nav = page.get_by_role("navigation", name="Studio").get_by_role("link")
        sections = [each.get_attribute("href") for each in nav.all()]
        page.goto(pattern_of(application))
        arrived(page, f"/patterns/{table}/", seen)
        click(page, page.get_by_role("link", name="Open item 1").first)
        arrived(page, f"/item/{table}", seen)
        click(page, page.locator("a.jump").first)
        arrived(page, f"/partition/{table}", seen)
        click(page, page.get_by_role("link", name="Open", exact=True).first)
        arrived(page, f"/item/{table}", seen)
        for section in sections:
            page.goto(section)
            arrived(page, f"{re.escape(section)}$", seen)
            inner = page.locator(f"main a[href^='{section}']").first
            if section.count("/") > 1 and inner.count():  # the first node, document, class or consumer
                page.goto(inner.get_attribute("href"))
                arrived(page, re.escape(section), seen)
        page.goto("/sql")
        click(page, page.locator(".examples a").first)
        assert page.locator("table.answer tbody tr").count() > 0, page.url
        arrived(page, "/sql", seen)
    assert LAYERS[application.name] in sections
    assert seen == []
