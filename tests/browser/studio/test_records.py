"""Home, patterns, partitions and items in a real browser: with the keyboard alone, and for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from organisations import Service, organisations
from organisations.groups import Group
from organisations.model import Organisation
from singletable import Database, attr, connect
from tests.browser.studio.opened import (
    SCHEMES,
    WIDTHS,
    Page,
    barriers,
    opened,
    overflow,
    press,
    sideways,
    studio_of,
    without_keys,
)

NASTY = "<script>alert(1)</script>\u202egnp.exe"
MODULE = "organisations.model"


@dataclass(frozen=True)
class Served:
    address: str
    db: Database
    org: str

    @property
    def partition(self) -> str:
        return f"/partition/organisations?pk=organisation%2F{self.org}"

    @property
    def item(self) -> str:
        return f"/item/organisations?pk=organisation%2F{self.org}&sk=organisation"

    @property
    def edit(self) -> str:
        return self.item.replace("/organisations?", "/organisations/edit?")

    @property
    def pages(self) -> tuple[str, ...]:
        members = "/patterns/organisations/OrganisationMember/of_organisation"
        return (
            "/",
            "/patterns",
            "/patterns/organisations/UserDetails/by_email",
            f"{members}?organisation_id={self.org}&run=1&personal=shown",
            "/patterns/organisations/OrganisationMember/of_person?accepted_at=x&run=1",
            "/partition/organisations",
            f"{self.partition}&personal=shown",
            f"{self.partition}&by=lists",
            f"{self.item}&changes=1",
            f"{self.edit}&personal=shown",
            "/nowhere",
        )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    target = f"local:{tmp_path_factory.mktemp('studio')}/orgs.db"
    with connect(target) as db:
        db.create_table(organisations)
        app = Service(db)
        for name in ("ada", "grace", "linus"):
            app.put_user(f"{name}@example.org", first_name=name.title())
        org = app.create_organisation(f"Acme {NASTY}", owner="ada@example.org").organisation_id
        app.put_service(org, "api", f"API {NASTY}")
        app.invite(org, "grace@example.org", [Group("pilots", "api")])
        with studio_of(MODULE, target, "--write") as address:
            yield Served(address, db, org)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_page_is_for_everybody(browser: Any, served: Served, scheme: str) -> None:
    found: list[str] = []
    rules = ("color-contrast",) if scheme == "dark" else ()  # in the dark nothing else differs
    with opened(browser, served.address, scheme=scheme) as page:
        for path in served.pages:
            page.goto(path)
            found += [f"{path}: {each}" for each in barriers(page, *rules)]
            for width in WIDTHS if scheme == "light" else ():
                page.set_viewport_size({"width": width, "height": 900})
                if by := overflow(page):
                    found.append(f"{path}: {by} pixels too wide at {width}")
                found += [f"{path}: {each} is scrolled on a phone" for each in sideways(page) if width == WIDTHS[0]]
    assert found == []


def test_on_a_phone_a_row_is_a_block_and_still_a_row(browser: Any, served: Served) -> None:
    """What a screen reader is told does not depend on the width."""
    told: list[list[tuple[str, str]]] = []
    for width in (WIDTHS[0], WIDTHS[2]):
        with opened(browser, served.address, width=width) as page:
            tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
            nodes = [
                (node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]
            ]
            told.append([each for each in nodes if each[0] in ("table", "row", "columnheader", "rowheader", "cell")])
            row = page.locator("tr", has_text="OrganisationMember").first
            column = row.locator("td").first.evaluate("each => getComputedStyle(each, '::before').content")
            assert ("Items" in column) == (width == WIDTHS[0])
    assert told[0] == told[1]
    assert ("columnheader", "Items") in told[0]


def test_every_action_is_reached_by_keys(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as page:
        found: list[str] = []
        for path in served.pages:
            page.goto(path)
            found += [f"{path}: {each}" for each in without_keys(page)]
    assert found == []


def tab_to(page: Page, name: str, role: str = "") -> None:
    """Press Tab until what has this name has the focus."""
    for _ in range(120):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "(e => [e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText, e.tagName])"
            "(document.activeElement)"
        )
        if focused[0].strip().startswith(name) and (not role or focused[1] == role):
            return
    raise AssertionError(f"Tab never comes to {name}")


def enter(page: Page) -> None:
    with page.expect_navigation(wait_until="load"):
        page.keyboard.press("Enter")


def test_with_the_keyboard_alone_from_a_pattern_to_a_change(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as page:
        tab_to(page, "Patterns")
        enter(page)
        tab_to(page, "by_id")
        enter(page)
        tab_to(page, "organisation_id")
        page.keyboard.type(served.org)
        enter(page)
        tab_to(page, "Open item 1")
        enter(page)
        tab_to(page, "Edit")
        enter(page)
        tab_to(page, "organisation_name")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("By keyboard")
        tab_to(page, "Show what changes")
        enter(page)
        assert "By keyboard" in page.locator("main").inner_text()
        tab_to(page, "Write")
        enter(page)
        assert "Done. It took" in page.get_by_role("status").first.inner_text()
        assert barriers(page) == []
        assert "By keyboard" in page.locator("main").inner_text()
    found = served.db.get(Organisation.by_id(served.org))
    assert found is not None
    assert found.organisation_name == "By keyboard"


def test_the_first_tab_skips_to_the_page(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_an_edit_under_a_concurrent_change_shows_both(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as page:
        page.goto(served.edit)
        page.get_by_label("organisation_name").fill("Mine")
        served.db.update(Organisation.by_id(served.org), attr(Organisation.organisation_name).set("Theirs"))
        press(page, "Show what changes")
        row = page.locator("tr", has_text="organisation_name").inner_text()
        assert "Theirs" in row
        assert "Mine" in row
        headers = [each.inner_text() for each in page.get_by_role("columnheader").all()]
        assert headers == ["Attribute", "seen at first", "now", "yours"]
        assert page.get_by_role("button", name="Write").count() == 0
        assert "not what you saw" in page.get_by_role("alert").inner_text()
        assert barriers(page) == []
        page.get_by_role("link", name="Edit it as it is now").click()
        assert page.get_by_label("organisation_name").input_value() == "Theirs"


def test_deleting_asks_first(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as page:
        page.goto(served.edit)
        press(page, "Delete this item…")
        assert "Delete Organisation?" in page.get_by_role("heading", level=1).inner_text()
        assert page.locator("[name^='value.']").count() == 0
        page.get_by_role("button", name="Delete", exact=True).wait_for()
    assert served.db.get(Organisation.by_id(served.org)) is not None


def test_a_range_has_its_second_end_where_it_needs_one(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as page:
        page.goto("/patterns/organisations/OrganisationMember/of_organisation")
        end = page.get_by_label("and the upper end of email")
        assert not end.is_visible()
        page.get_by_label("How email is compared").select_option("between")
        assert end.is_visible()


def test_a_call_is_copied(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as page:
        page.goto(f"/patterns/organisations/Organisation/by_id?organisation_id={served.org}")
        page.get_by_role("button", name="Copy the call for Python").click()
        page.get_by_text("Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()").startswith("from organisations.model import")


def test_hostile_text_is_text(browser: Any, served: Served) -> None:
    with opened(browser, served.address) as page:
        page.goto(served.partition)
        text = page.locator("main").inner_text()
        assert "<script>alert(1)</script>⟨U+202E⟩gnp.exe" in text
        assert page.locator("main script").count() == 0
